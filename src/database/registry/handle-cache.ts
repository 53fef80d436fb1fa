import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { AtMost } from '../../base/shared/at-most.ts';
import { startBackgroundTimer } from '../../base/shared/clock.ts';
import type { Database } from '../store/contract.ts';
import type { Lease } from './contract.ts';

/** An open database, of an owner or of a follower. */
interface OpenDatabase extends Database {
  /** Ends it without storing anything more: its file is being removed. */
  discard(): Promise<void>;
}

/** Ends what depends on a database. */
export type BeforeClose = (name: string) => Promise<void>;

interface LeaseOf<D extends OpenDatabase> extends Lease {
  readonly database: D;
}

interface Handle<D extends OpenDatabase> {
  readonly database: D;
  users: number;
  /** Called when the last user has ended. */
  onUnused?: () => void;
}

/**
 * Files that are opened at the same time. Each takes memory of its own meanwhile (megabytes with LMDB), so thousands at once would take gigabytes.
 */
const OPENED_AT_ONCE = 16;

/**
 * Open databases, at most `maxOpen()` of them unless more are in use at the same time. Opening another one closes the idle
 * database that was used least recently.
 */
export class HandleCache<D extends OpenDatabase> {
  readonly #maxOpen: () => number;
  readonly #open: (name: string) => Promise<D>;
  readonly #whenFree: ((name: string) => Promise<void>) | undefined;
  /** In the order of their last use. */
  readonly #handles = new Map<string, Handle<D>>();
  readonly #opening = new Map<string, Promise<void>>();
  /** Databases that are being closed; their files can't be opened again before that ends. */
  readonly #closing = new Map<string, Promise<void>>();
  readonly #openings = new AtMost(OPENED_AT_ONCE);
  /** What ends the waits of databases that may not be opened yet. */
  readonly #waiting = new Set<() => void>();
  #isClosed = false;

  /**
   * `whenFree`: resolves when a database may be opened; rejects if it may not. Default: at once. Those that wait for it keep no others from being opened:
   * it may last until these others are given up.
   */
  constructor(maxOpen: () => number, open: (name: string) => Promise<D>, whenFree?: (name: string) => Promise<void>) {
    this.#maxOpen = maxOpen;
    this.#open = open;
    this.#whenFree = whenFree;
  }

  get size(): number {
    return this.#handles.size;
  }

  /** Returns a database that is open already: for use in this turn, since nothing keeps it open. */
  peek(name: string): D | undefined {
    return this.#use(name)?.database;
  }

  /** Returns a lease of a database that is open already. */
  leaseNow(name: string): LeaseOf<D> | undefined {
    const handle = this.#use(name);
    return handle && this.#lease(name, handle);
  }

  #use(name: string): Handle<D> | undefined {
    const handle = this.#handles.get(name);
    if (handle !== undefined && this.#handles.size > 1) {
      this.#handles.delete(name);
      this.#handles.set(name, handle);
    }
    return handle;
  }

  async lease(name: string): Promise<LeaseOf<D>> {
    for (;;) {
      const lease = this.leaseNow(name);
      if (lease !== undefined) return lease;
      await this.#opened(name);
    }
  }

  #lease(name: string, handle: Handle<D>): LeaseOf<D> {
    handle.users++;
    let released = false;
    return {
      database: handle.database,
      release: () => {
        if (released) return;
        released = true;
        handle.users--;
        if (handle.users === 0) handle.onUnused?.();
        if (handle.users === 0 && this.#handles.size > this.#maxOpen()) this.#retire(name, handle);
      },
    };
  }

  #opened(name: string): Promise<void> {
    const existing = this.#opening.get(name);
    if (existing !== undefined) return existing;
    const opening: Promise<void> = this.#openHandle(name, () => this.#opening.get(name) === opening).finally(() => {
      if (this.#opening.get(name) === opening) this.#opening.delete(name);
    });
    this.#opening.set(name, opening);
    return opening;
  }

  /** Opens the database. `isWanted` returns false once the database was discarded, or all were closed, while it was being opened. */
  async #openHandle(name: string, isWanted: () => boolean): Promise<void> {
    await this.#closing.get(name);
    if (this.#whenFree !== undefined) await this.#untilFree(this.#whenFree(name));
    await this.#openings.run(() => this.#openInTurn(name, isWanted));
  }

  /** Fails with `storage_closed` if all are closed before. */
  #untilFree(free: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => reject(shutDown());
      this.#waiting.add(end);
      void free.then(resolve, reject).finally(() => this.#waiting.delete(end));
      if (this.#isClosed) end();
    });
  }

  async #openInTurn(name: string, isWanted: () => boolean): Promise<void> {
    // A database that was just created is listed a moment before its handle is here; a second opening would fence it.
    if (this.#handles.has(name)) return;
    const opened = await this.withRoom(() => this.#open(name)).catch((error: unknown) => {
      // A missing file is no damage if the database was discarded meanwhile.
      if (isWanted()) throw error;
    });
    if (opened !== undefined && isWanted()) {
      this.add(name, opened);
      return;
    }
    await opened?.close().catch(() => undefined);
    if (this.#isClosed) throw shutDown();
    throw new DatabaseError('storage_deleted', `The database ${name} was deleted while it was being opened.`);
  }

  add(name: string, database: D): void {
    const handle: Handle<D> = { database, users: 0 };
    this.#handles.set(name, handle);
    this.#closeIdle(handle);
  }

  /** Closes unused databases if there are too many; not `added`, which is about to be used. */
  #closeIdle(added: Handle<D>): void {
    let excess = this.#handles.size - this.#maxOpen();
    for (const [name, handle] of this.#handles) {
      if (excess <= 0) return;
      if (handle.users > 0 || handle === added) continue;
      this.#retire(name, handle);
      excess--;
    }
  }

  /**
   * Opens a file. If the process has too many open files (`too_busy`), closes unused databases to make room, the least recently
   * used first.
   */
  async withRoom<T>(open: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await open();
      } catch (error) {
        if (!isDatabaseError(error, 'too_busy') || !(await this.#closeSome())) throw error;
      }
    }
  }

  /** Closes a quarter of the databases that are not in use. Returns false if there are none. */
  async #closeSome(): Promise<boolean> {
    const unused = [...this.#handles].filter(([, handle]) => handle.users === 0);
    const some = unused.slice(0, Math.ceil(unused.length / 4));
    for (const [name, handle] of some) this.#retire(name, handle);
    await Promise.all(some.map(([name]) => this.#closing.get(name)));
    return some.length > 0;
  }

  /** Takes a handle out of use and closes it. */
  #retire(name: string, handle: Handle<D>): void {
    if (this.#handles.get(name) !== handle) return;
    this.#handles.delete(name);
    const done: Promise<void> = handle.database
      .close()
      .catch(() => undefined)
      .finally(() => {
        if (this.#closing.get(name) === done) this.#closing.delete(name);
      });
    this.#closing.set(name, done);
  }

  /**
   * Closes a database that gave itself up, or that must not be used for now. The next use opens the file again, and does
   * not wait for current users of this one: nothing that they do with it succeeds.
   */
  forget(name: string, database: Database): void {
    const handle = this.#handles.get(name);
    if (handle?.database === database) this.#retire(name, handle);
  }

  /**
   * Takes a database out of use, and closes it when its users have ended, or after `patienceMs` milliseconds; what they do then fails. The next use
   * opens it again after that. `beforeClose` ends what depends on it. Never fails.
   */
  async giveUp(name: string, patienceMs: number, beforeClose?: BeforeClose): Promise<void> {
    await this.#opening.get(name)?.catch(() => undefined);
    const handle = this.#handles.get(name);
    this.#handles.delete(name);
    if (handle !== undefined) this.#closing.set(name, this.#closeUnused(name, handle, patienceMs, beforeClose));
    await this.#closing.get(name);
  }

  async #closeUnused(name: string, handle: Handle<D>, patienceMs: number, beforeClose?: BeforeClose): Promise<void> {
    if (handle.users > 0) {
      await new Promise<void>((resolve) => {
        const stop = startBackgroundTimer(patienceMs, resolve);
        handle.onUnused = () => {
          stop();
          resolve();
        };
      });
    }
    await beforeClose?.(name).catch(() => undefined);
    await handle.database.close().catch(() => undefined);
    this.#closing.delete(name);
  }

  /** The names of the databases that are open, or are being opened. */
  names(): readonly string[] {
    return [...new Set([...this.#handles.keys(), ...this.#opening.keys()])];
  }

  /** Ends a database that is being deleted, without waiting for its current readers. */
  async discard(name: string): Promise<void> {
    this.#opening.delete(name);
    const handle = this.#handles.get(name);
    this.#handles.delete(name);
    await handle?.database.discard();
    await this.#closing.get(name);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const end of this.#waiting) end();
    const handles = [...this.#handles.values()];
    const opening = [...this.#opening.values()];
    this.#handles.clear();
    this.#opening.clear();
    const closed = handles.map(({ database }) => database.close());
    await Promise.allSettled(opening);
    const results = await Promise.allSettled([...closed, ...this.#closing.values()]);
    const failures = results
      .flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
      // Another process may have deleted it.
      .filter((reason) => !isDatabaseError(reason, 'storage_deleted'));
    if (failures.length > 0) {
      throw new DatabaseError('storage_failed', `${failures.length} databases could not be closed cleanly.`, {
        cause: failures[0],
      });
    }
  }
}

export function shutDown(): DatabaseError {
  return new DatabaseError('storage_closed', 'The service is shutting down.');
}
