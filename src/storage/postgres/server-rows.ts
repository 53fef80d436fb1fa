import { type Connection, inTransaction, type Row } from './connection-pool.ts';
import { isUniqueViolation } from './postgres-errors.ts';
import { numberOf } from './values.ts';

/** A server, as the others see it. */
export interface ServerDescription {
  /** The process and its machine, for messages. */
  readonly described: string;
  /** The name of its machine. */
  readonly machine: string;
}

/** This server, as it writes itself into its row. */
export interface OwnServer extends ServerDescription {
  /** Of its row. Another one after the row is gone: nothing that the former row owned is taken for this one's. */
  id: string;
  /** Whether it owns databases beside the owner of the storage. */
  readonly takesPart: boolean;
  readonly leaseMs: number;
}

/** The server that owns the storage. */
export interface Owner extends ServerDescription {
  readonly id: string;
  /** Where it answers, if it has announced that. */
  readonly address: string | undefined;
  readonly beats: number;
  /** Whether its lease has ended by the clock of the database server that took its last beat. */
  readonly isOver: boolean;
}

export interface Standing {
  /** How often the storage has changed its owner. */
  readonly term: number;
  readonly owner: Owner | undefined;
}

export interface Beat {
  /** How many other servers stand by. */
  readonly waiting: number;
  /** Whether commits wait for another machine; undefined if the database server does not say. */
  readonly hasSynchronousReplica: boolean | undefined;
}

/** Statements on the rows of the servers of a storage. Times are those of the database server alone. */
export class ServerRows {
  readonly #schema: string;
  readonly #self: OwnServer;

  constructor(schema: string, self: OwnServer) {
    this.#schema = schema;
    this.#self = self;
  }

  async look(connection: Connection): Promise<Standing> {
    const [row = {}] = await connection.query(
      `SELECT format.term, owner.id, owner.described, owner.machine, owner.address, owner.beats,
         owner.until < clock_timestamp() AND owner.beaten_on = pg_postmaster_start_time()::text AS is_over
       FROM ${this.#schema}.format LEFT JOIN ${this.#schema}.servers AS owner ON owner.is_owner WHERE format.id = 1`,
    );
    return { term: numberOf(row['term']), owner: row['id'] === null ? undefined : ownerOf(row) };
  }

  /**
   * Makes this server the owner, if there is none whose lease lasts. `watched`: an owner that has not renewed its lease while this server watched it
   * for a whole period. Returns the new term; undefined if there is another owner, or if this server takes part and its row is gone.
   */
  async take(connection: Connection, watched: Pick<Owner, 'id' | 'beats'> | undefined): Promise<number | undefined> {
    const schema = this.#schema;
    const { id, takesPart } = this.#self;
    try {
      return await inTransaction(connection, async () => {
        // Of several that take it at the same time, the others wait here.
        await connection.query(`SELECT term FROM ${schema}.format WHERE id = 1 FOR UPDATE`);
        const gone = await connection.query(
          `DELETE FROM ${schema}.servers WHERE id <> $1 AND (
             (until < clock_timestamp() AND (NOT (is_owner OR takes_part) OR beaten_on = pg_postmaster_start_time()::text))
             OR (id = $2::text AND beats = $3::bigint))
           RETURNING takes_part`,
          [id, watched?.id ?? null, watched?.beats ?? null],
        );
        const isTaken = takesPart ? await this.#takeWithRow(connection, id) : await this.#takeWithAnyRow(connection);
        const isChanged = (isTaken && takesPart) || gone.some((row) => row['takes_part'] === true);
        const [row = {}] = await connection.query(
          `UPDATE ${schema}.format SET term = term + $1::bigint, membership = membership + $2::bigint WHERE id = 1 RETURNING term`,
          [isTaken ? 1 : 0, isChanged ? 1 : 0],
        );
        return isTaken ? numberOf(row['term']) : undefined;
      });
    } catch (error) {
      // A server of an earlier release took it at the same time: the index on the owner admits one.
      if (isUniqueViolation(error)) return undefined;
      throw error;
    }
  }

  /** Renews the row of a server that stands by. */
  async standBy(connection: Connection): Promise<void> {
    await connection.query(
      `INSERT INTO ${this.#schema}.servers (id, is_owner, described, machine, until, beaten_on, beats)
       VALUES ($1::text, false, $2::text, $3::text, clock_timestamp() + $4::float8 * interval '1 millisecond', pg_postmaster_start_time()::text, 1)
       ON CONFLICT (id) DO UPDATE SET until = EXCLUDED.until, beaten_on = EXCLUDED.beaten_on, beats = servers.beats + 1`,
      this.#values(),
    );
  }

  /** Renews the row of the owner. Undefined if it is not this server any more. */
  async beat(connection: Connection): Promise<Beat | undefined> {
    const servers = `${this.#schema}.servers`;
    const [row] = await connection.query(
      `UPDATE ${servers} SET beats = beats + 1, beaten_on = pg_postmaster_start_time()::text,
         until = clock_timestamp() + $2::float8 * interval '1 millisecond'
       WHERE id = $1 AND is_owner
       RETURNING (SELECT count(*) FROM ${servers} AS others WHERE NOT others.is_owner AND others.until > clock_timestamp())::text AS waiting,
         current_setting('synchronous_standby_names', true) AS replicas, current_setting('synchronous_commit', true) AS waits`,
      [this.#self.id, this.#self.leaseMs],
    );
    return row && { waiting: numberOf(row['waiting']), hasSynchronousReplica: hasSynchronousReplica(row) };
  }

  async announce(connection: Connection, address: string): Promise<void> {
    await connection.query(`UPDATE ${this.#schema}.servers SET address = $2 WHERE id = $1`, [this.#self.id, address]);
  }

  async leave(connection: Connection): Promise<void> {
    await connection.query(`DELETE FROM ${this.#schema}.servers WHERE id = $1`, [this.#self.id]);
  }

  async #takeWithAnyRow(connection: Connection): Promise<boolean> {
    const schema = this.#schema;
    const taken = await connection.query(
      `INSERT INTO ${schema}.servers (id, is_owner, described, machine, until, beaten_on, beats, knows_followers)
       SELECT $1::text, true, $2::text, $3::text, clock_timestamp() + $4::float8 * interval '1 millisecond', pg_postmaster_start_time()::text, 1, true
       WHERE NOT EXISTS (SELECT FROM ${schema}.servers WHERE is_owner AND id <> $1)
       ON CONFLICT (id) DO UPDATE SET is_owner = true, knows_followers = true, until = EXCLUDED.until, beaten_on = EXCLUDED.beaten_on, beats = servers.beats + 1
       RETURNING 1`,
      this.#values(),
    );
    return taken.length > 0;
  }

  /** A server that takes part gets no row by this: others have removed it, and it must join again first. */
  async #takeWithRow(connection: Connection, id: string): Promise<boolean> {
    const servers = `${this.#schema}.servers`;
    const taken = await connection.query(
      `UPDATE ${servers} SET is_owner = true, knows_followers = true, beats = beats + 1, beaten_on = pg_postmaster_start_time()::text,
         until = clock_timestamp() + $2::float8 * interval '1 millisecond'
       WHERE id = $1 AND NOT EXISTS (SELECT FROM ${servers} AS others WHERE others.is_owner AND others.id <> $1)
       RETURNING 1`,
      [id, this.#self.leaseMs],
    );
    return taken.length > 0;
  }

  #values() {
    const { id, described, machine, leaseMs } = this.#self;
    return [id, described, machine, leaseMs];
  }
}

export function ownerOf(row: Row): Owner {
  return {
    id: String(row['id']),
    described: String(row['described']),
    machine: String(row['machine']),
    address: typeof row['address'] === 'string' ? row['address'] : undefined,
    beats: numberOf(row['beats']),
    isOver: row['is_over'] === true,
  };
}

/** Who may not read the list of replicas may still read which ones the server waits for. */
function hasSynchronousReplica({ replicas, waits }: Row): boolean | undefined {
  if (typeof replicas !== 'string') return undefined;
  return replicas.trim() !== '' && waits !== 'off' && waits !== 'local';
}
