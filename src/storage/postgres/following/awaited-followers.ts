import { setTimeout as wait } from 'node:timers/promises';
import { storageClosed } from '../../storage-errors.ts';
import type { Connection, ConnectionPool } from '../connection-pool.ts';
import { FollowerRows, type SeenFollower } from './follower-rows.ts';

const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 200;

interface Waiter {
  readonly of: object;
  /** The generation that followers must have passed; undefined until it was raised for this one. */
  generation: number | undefined;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** For the owner of files: waits until no follower of the storage reads older states. */
export class AwaitedFollowers {
  readonly #pool: ConnectionPool;
  readonly #rows: FollowerRows;
  readonly #waiters = new Set<Waiter>();
  /** When each follower was first seen with its present number of beats. */
  readonly #seen = new Map<string, { readonly beats: number; readonly since: number }>();
  #isRunning = false;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
    this.#rows = new FollowerRows(pool.address.schema);
  }

  /**
   * Resolves when all followers have given up the states that were there before this call. Fails with `storage_closed` when `forget` is called.
   * `of`: the file that waits.
   */
  whenPassed(of: object): Promise<void> {
    const passed = new Promise<void>((resolve, reject) => {
      this.#waiters.add({ of, generation: undefined, resolve, reject });
    });
    // A file may be closed while no one looks at the promise.
    passed.catch(() => undefined);
    if (!this.#isRunning) void this.#run();
    return passed;
  }

  /** For a file that is closed. */
  forget(of: object): void {
    for (const waiter of this.#waiters) {
      if (waiter.of !== of) continue;
      this.#waiters.delete(waiter);
      waiter.reject(storageClosed('The file'));
    }
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Others that begin to wait in this turn share the statements.
    await Promise.resolve();
    for (let pauseMs = FIRST_PAUSE_MS; this.#waiters.size > 0; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      // If the database server can't be reached, pages stay until it can.
      const hasRaised = await this.#pool.use((connection) => this.#look(connection)).catch(() => false);
      if (hasRaised) pauseMs = FIRST_PAUSE_MS;
      if (this.#waiters.size > 0) await wait(pauseMs, undefined, { ref: false });
    }
    this.#isRunning = false;
  }

  /** Returns whether there is a new generation. */
  async #look(connection: Connection): Promise<boolean> {
    const asked = [...this.#waiters];
    const followers = await this.#livingOf(connection);
    const passed = followers.reduce((lowest, follower) => Math.min(lowest, follower.passed), Number.POSITIVE_INFINITY);
    const fresh: Waiter[] = [];
    for (const waiter of asked) {
      if (passed === Number.POSITIVE_INFINITY || (waiter.generation ?? Number.POSITIVE_INFINITY) <= passed) {
        this.#waiters.delete(waiter);
        waiter.resolve();
      } else if (waiter.generation === undefined) fresh.push(waiter);
    }
    if (fresh.length === 0) return false;
    const generation = await this.#rows.raise(connection);
    for (const waiter of fresh) waiter.generation = generation;
    return true;
  }

  /** Returns the followers without those that have been silent for their lease, whose rows are removed. */
  async #livingOf(connection: Connection): Promise<readonly SeenFollower[]> {
    const followers = await this.#rows.look(connection);
    const [now, present] = [performance.now(), new Set(followers.map(({ id }) => id))];
    for (const id of this.#seen.keys()) if (!present.has(id)) this.#seen.delete(id);
    const living: SeenFollower[] = [];
    for (const follower of followers) {
      const { id, beats, leaseMs } = follower;
      const seen = this.#seen.get(id);
      if (seen?.beats !== beats) this.#seen.set(id, { beats, since: now });
      const isSilent = seen?.beats === beats && now - seen.since > leaseMs;
      if (!isSilent || !(await this.#rows.remove(connection, follower))) living.push(follower);
    }
    return living;
  }
}
