import type { StoredDatabase } from '../database/stored-database.ts';
import { DatabaseError } from '../errors/database-error.ts';
import type { Lease } from './contract.ts';

interface Handle {
  readonly database: StoredDatabase;
  users: number;
  /** Set once nobody may take the handle any more; it closes when its last user lets go. */
  leaving: boolean;
  closed: (() => void) | undefined;
}

/**
 * Open databases, at most `maxOpen` of them idle: the one that was not used for longest is closed when another is
 * opened. Databases in use are never closed, so more than that may be open for a while.
 */
export class HandleCache {
  readonly #maxOpen: number;
  readonly #open: (name: string, onFailure: () => void) => Promise<StoredDatabase>;
  /** In the order of their last use. */
  readonly #handles = new Map<string, Handle>();
  readonly #opening = new Map<string, Promise<Handle>>();
  /** Databases that are being closed; their files can't be opened again before. */
  readonly #closing = new Map<string, Promise<void>>();

  constructor(maxOpen: number, open: (name: string, onFailure: () => void) => Promise<StoredDatabase>) {
    this.#maxOpen = maxOpen;
    this.#open = open;
  }

  /** A lease of a database that is open already. */
  leaseNow(name: string): Lease | undefined {
    const handle = this.#handles.get(name);
    return handle === undefined ? undefined : this.#lease(name, handle);
  }

  async lease(name: string): Promise<Lease> {
    return this.leaseNow(name) ?? this.#lease(name, await this.#opened(name));
  }

  #lease(name: string, handle: Handle): Lease {
    handle.users++;
    if (this.#handles.get(name) === handle && this.#handles.size > 1) {
      this.#handles.delete(name);
      this.#handles.set(name, handle);
    }
    let released = false;
    return {
      database: handle.database,
      release: () => {
        if (released) return;
        released = true;
        handle.users--;
        if (handle.users === 0) this.#unused(name, handle);
      },
    };
  }

  #unused(name: string, handle: Handle): void {
    if (handle.leaving) handle.closed?.();
    else if (this.#handles.size > this.#maxOpen) void this.#retire(name, handle);
  }

  #opened(name: string): Promise<Handle> {
    const existing = this.#opening.get(name);
    if (existing !== undefined) return existing;
    const opening = this.#openHandle(name).finally(() => this.#opening.delete(name));
    this.#opening.set(name, opening);
    return opening;
  }

  async #openHandle(name: string): Promise<Handle> {
    await this.#closing.get(name);
    const database = await this.#open(name, () => this.forget(name));
    return this.add(name, database);
  }

  add(name: string, database: StoredDatabase): Handle {
    const handle: Handle = { database, users: 0, leaving: false, closed: undefined };
    this.#handles.set(name, handle);
    this.#closeIdle();
    return handle;
  }

  #closeIdle(): void {
    let excess = this.#handles.size - this.#maxOpen;
    for (const [name, handle] of this.#handles) {
      if (excess <= 0) return;
      if (handle.users > 0) continue;
      void this.#retire(name, handle);
      excess--;
    }
  }

  /** Takes a handle out of use and closes it, once its last user let go. */
  #retire(name: string, handle: Handle): Promise<void> {
    if (this.#handles.get(name) === handle) this.#handles.delete(name);
    handle.leaving = true;
    const unused = handle.users === 0 ? Promise.resolve() : new Promise<void>((resolve) => (handle.closed = resolve));
    const closing = unused.then(() => handle.database.close()).catch(() => undefined);
    const done = closing.finally(() => {
      if (this.#closing.get(name) === done) this.#closing.delete(name);
    });
    this.#closing.set(name, done);
    return done;
  }

  /** A handle whose database gave itself up: the next use opens the file again. */
  forget(name: string): void {
    const handle = this.#handles.get(name);
    if (handle !== undefined) void this.#retire(name, handle);
  }

  /** Closes a database that is being deleted, without waiting for those who still read it. */
  async drop(name: string): Promise<void> {
    const handle = this.#handles.get(name);
    if (handle === undefined) {
      await this.#closing.get(name);
      return;
    }
    this.#handles.delete(name);
    handle.leaving = true;
    await handle.database.close();
  }

  async close(): Promise<void> {
    const handles = [...this.#handles];
    this.#handles.clear();
    const closed = handles.map(([, handle]) => handle.database.close());
    const results = await Promise.allSettled([...closed, ...this.#closing.values()]);
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (failures.length > 0) {
      throw new DatabaseError('storage_failed', `${failures.length} databases could not be closed in order.`, {
        cause: failures[0],
      });
    }
  }
}
