import { DatabaseError } from '../../../base/errors/database-error.ts';
import { storageClosed } from '../../storage-errors.ts';
import { ConnectionPool } from '../connection-pool.ts';
import { FollowerRows } from './follower-rows.ts';
import { type Hold, Registration } from './registration.ts';

/** How long an owner waits for a follower that is silent, in milliseconds. */
const LEASE_MS = 12_000;
/** How long a beat may take, in seconds, before it is sent again on another connection. */
const BEAT_TIMEOUT_S = 2;

/** The files that a store follows share one row, which is made for the first of them, and again whenever it was lost. */
export class Follower {
  readonly #pool: ConnectionPool;
  readonly #leaseMs: number;
  readonly #rows: FollowerRows;
  #beatPool: ConnectionPool | undefined;
  #current: Registration | undefined;
  #opening: Promise<Registration> | undefined;
  #isClosed = false;

  /** `leaseMs`: default 12 seconds. */
  constructor(pool: ConnectionPool, leaseMs = LEASE_MS) {
    this.#pool = pool;
    this.#leaseMs = leaseMs;
    this.#rows = new FollowerRows(pool.address.schema);
  }

  /**
   * Begins to hold the state that is read next. Fails with `storage_blocked` if the storage is owned by a server that does not wait for followers, and
   * like `ConnectionPool.open` if the database server can't be reached.
   */
  async hold(): Promise<Hold> {
    while (this.#current?.isLive !== true) {
      if (this.#isClosed) throw storageClosed('The storage');
      this.#opening ??= this.#register().finally(() => {
        this.#opening = undefined;
      });
      await this.#opening;
    }
    return this.#current.hold();
  }

  /** Tells owners that wait that something was closed. */
  tell(): void {
    this.#current?.tell();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#opening?.catch(() => undefined);
    await this.#current?.close();
    await this.#beatPool?.close();
  }

  async #register(): Promise<Registration> {
    void this.#current?.close();
    this.#current = undefined;
    this.#beatPool ??= await ConnectionPool.open({ ...this.#pool.address, pool: 1, timeoutS: BEAT_TIMEOUT_S });
    const options = { pool: this.#beatPool, rows: this.#rows, leaseMs: this.#leaseMs };
    const registration = await Registration.open(options, this.#pool.address.timeoutS);
    if (!registration.isAwaited) {
      await registration.close();
      throw ownerIsOlder();
    }
    this.#current = registration;
    return registration;
  }
}

function ownerIsOlder(): DatabaseError {
  const reason =
    'The server that owns this storage is of an earlier release, which does not wait for others that read the storage; nothing was read. Update that server first';
  return new DatabaseError('storage_blocked', reason);
}
