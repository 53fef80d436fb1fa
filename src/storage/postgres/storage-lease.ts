import { setTimeout as wait } from 'node:timers/promises';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { type Connection, type ConnectionPool, inTransaction } from './connection-pool.ts';
import { isUniqueViolation } from './postgres-errors.ts';

/** How long a server owns the storage after its last beat, in milliseconds of the database server's time. */
const LEASE_MS = 15_000;

interface LeaseOptions {
  /** Who holds it, for those that are refused: the process and its machine. */
  readonly described: string;
  /** Default: 15 seconds. */
  readonly leaseMs?: number | undefined;
  /** Called once if another server owns the storage now, although this one did not release it. */
  readonly onLost?: (() => void) | undefined;
}

interface Holder {
  readonly id: string;
  readonly described: string;
  readonly address: string | undefined;
  /** When the lease ends, by the clock of the database server, and how long that is from now. */
  readonly until: string;
  readonly leftMs: number;
}

/**
 * The ownership of a storage: one server at a time. Its holder renews it three times per period, and stops answering after two thirds without a
 * renewal; after the whole period another server may take it. The holder counts from before it sent the renewal that succeeded last, and the
 * database server from after, so the holder always stops first. Clocks of different machines are never compared.
 */
export class StorageLease {
  readonly #pool: ConnectionPool;
  readonly #id: string;
  readonly #leaseMs: number;
  readonly #onLost: () => void;
  #renewedAt: number;
  #isLost = false;
  #timer: NodeJS.Timeout | undefined;
  #beat: Promise<void> = Promise.resolve();

  private constructor(pool: ConnectionPool, id: string, renewedAt: number, options: LeaseOptions) {
    this.#pool = pool;
    this.#id = id;
    this.#renewedAt = renewedAt;
    this.#leaseMs = options.leaseMs ?? LEASE_MS;
    this.#onLost = options.onLost ?? (() => undefined);
    this.#beatLater();
  }

  /**
   * Takes the storage. If another server holds it, waits whether that one renews its lease; then rejects with `storage_locked`. A server that has died
   * does not, and its lease ends after at most its period.
   */
  static async take(pool: ConnectionPool, options: LeaseOptions): Promise<StorageLease> {
    const id = crypto.randomUUID();
    let seen: Holder | undefined;
    for (;;) {
      const before = performance.now();
      const holder = await pool.repeat('taking the storage', (connection) => take(connection, pool, id, options));
      if (holder.id === id) return new StorageLease(pool, id, before, options);
      if (seen?.id === holder.id && seen.until !== holder.until) throw locked(pool.address.place, holder);
      seen = holder;
      await wait(Math.max(50, Math.min(holder.leftMs, (options.leaseMs ?? LEASE_MS) / 10)));
    }
  }

  /** Whether this server may answer: no other one can own the storage yet. */
  get isHeld(): boolean {
    return !this.#isLost && performance.now() - this.#renewedAt < (this.#leaseMs * 2) / 3;
  }

  /** Sets the address that is reported to servers that are refused. */
  async announce(address: string): Promise<void> {
    const { schema } = this.#pool.address;
    const text = `UPDATE ${schema}.servers SET address = $2 WHERE id = $1`;
    await this.#pool.repeat('announcing an address', (connection) => connection.query(text, [this.#id, address]));
  }

  /** Lets the next server take the storage at once. */
  async release(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#beat;
    clearTimeout(this.#timer);
    this.#isLost = true;
    const text = `DELETE FROM ${this.#pool.address.schema}.servers WHERE id = $1`;
    // If the database server can't be reached, the lease ends by itself.
    await this.#pool.use((connection) => connection.query(text, [this.#id])).catch(() => undefined);
  }

  #beatLater(): void {
    this.#timer = setTimeout(() => {
      this.#beat = this.#renew().then(() => {
        if (!this.#isLost && this.#timer !== undefined) this.#beatLater();
      });
    }, this.#leaseMs / 3);
    this.#timer.unref();
  }

  /** A failure is left to the next beat. */
  async #renew(): Promise<void> {
    const { schema } = this.#pool.address;
    const text = `UPDATE ${schema}.servers SET until = clock_timestamp() + $2::float8 * interval '1 millisecond' WHERE id = $1 RETURNING 1`;
    const before = performance.now();
    try {
      const rows = await this.#pool.use((connection) => connection.query(text, [this.#id, this.#leaseMs]));
      if (rows.length > 0) this.#renewedAt = before;
      else this.#lose();
    } catch {
      // Reported by requests, which find the database server unreachable, too.
    }
  }

  #lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#onLost();
  }
}

/** Returns who holds the lease now: the server itself, if it took it. */
async function take(
  connection: Connection,
  pool: ConnectionPool,
  id: string,
  { described, leaseMs = LEASE_MS }: LeaseOptions,
): Promise<Holder> {
  const { schema } = pool.address;
  await inTransaction(connection, async () => {
    await connection.query(`DELETE FROM ${schema}.servers WHERE until < clock_timestamp() AND id <> $1`, [id]);
    await connection.query(
      `INSERT INTO ${schema}.servers (id, is_owner, described, until)
       SELECT $1::text, true, $2::text, clock_timestamp() + $3::float8 * interval '1 millisecond'
       WHERE NOT EXISTS (SELECT FROM ${schema}.servers WHERE is_owner)`,
      [id, described, leaseMs],
    );
  }).catch((error: unknown) => {
    // Of several that take it at the same time, the index on the owner admits one.
    if (!isUniqueViolation(error)) throw error;
  });
  const [row] = await connection.query(
    `SELECT id, described, address, until::text AS until,
       greatest(0, extract(epoch FROM until - clock_timestamp()) * 1000)::text AS left_ms
     FROM ${schema}.servers WHERE is_owner`,
  );
  if (row === undefined) return { id: '', described: '', address: undefined, until: '', leftMs: 0 };
  return {
    id: String(row['id']),
    described: String(row['described']),
    address: typeof row['address'] === 'string' ? row['address'] : undefined,
    until: String(row['until']),
    leftMs: Number(row['left_ms']),
  };
}

function locked(place: string, { described, address }: Holder): DatabaseError {
  const where = address === undefined ? '' : `, which answers at ${address}`;
  return new DatabaseError(
    'storage_locked',
    `The storage at ${place} is in use by ${described}${where}. Stop that server first, or name another schema (…?schema=NAME) or database.`,
  );
}
