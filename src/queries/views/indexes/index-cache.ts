import { DatabaseError, isDatabaseError } from '../../../base/errors/database-error.ts';
import type { Log } from '../../../base/system/contract.ts';

/** What the cache needs to know of an index. */
export interface CachedIndex {
  readonly databaseName: string;
  /** Whether it has to be opened again. */
  readonly hasFailed: boolean;
  /** The error that showed that its file is damaged. */
  readonly damage: DatabaseError | undefined;
  /** Whether work runs that must continue even if no one reads. */
  readonly isBusy: boolean;
  close(): Promise<void>;
  /** Closes it without storing anything more. Callers that still use it receive `error`, by default that it was deleted. */
  discard(error?: DatabaseError): Promise<void>;
}

interface OpenIndex<I> {
  readonly index: I;
  users: number;
}

type OpenIndexFile<I> = (damage: DatabaseError | undefined) => Promise<I>;

/**
 * The open indexes, by file. At most `maxIdle` are open, unless more are in use; among those that are not in use, the least
 * recently used one is closed first. An index that is being updated or compacted counts as in use.
 */
export class IndexCache<I extends CachedIndex> {
  readonly #maxIdle: number;
  readonly #log: Log;
  /** In the order of their last use. */
  readonly #open = new Map<string, OpenIndex<I>>();
  readonly #opening = new Map<string, Promise<void>>();
  /** Indexes that are being closed. Their files can't be opened before that has ended. */
  readonly #closing = new Map<string, Promise<void>>();

  constructor(maxIdle: number, log: Log) {
    this.#maxIdle = maxIdle;
    this.#log = log;
  }

  /** Returns undefined if the index is not open, or has to be opened again. */
  leaseOpen(file: string): I | undefined {
    const entry = this.#open.get(file);
    if (entry === undefined || entry.index.hasFailed) return undefined;
    entry.users++;
    if (this.#open.size > 1) {
      this.#open.delete(file);
      this.#open.set(file, entry);
    }
    return entry.index;
  }

  /** Leases an index. `damage` tells `open` why the file is known to be damaged. */
  async lease(file: string, open: OpenIndexFile<I>): Promise<I> {
    for (;;) {
      const index = this.leaseOpen(file);
      if (index !== undefined) return index;
      await this.#opened(file, open);
    }
  }

  #opened(file: string, open: OpenIndexFile<I>): Promise<void> {
    const existing = this.#opening.get(file);
    if (existing !== undefined) return existing;
    const opening = this.#openIndex(file, open).finally(() => this.#opening.delete(file));
    this.#opening.set(file, opening);
    return opening;
  }

  async #openIndex(file: string, open: OpenIndexFile<I>): Promise<void> {
    const failed = this.#open.get(file)?.index;
    if (failed !== undefined) this.#close(file, failed.discard(reopenedError(failed)));
    await this.#closing.get(file);
    this.#open.set(file, { index: await open(failed?.damage), users: 0 });
    this.#closeIdle(file);
  }

  release(file: string, index: I): void {
    const entry = this.#open.get(file);
    if (entry?.index !== index) return;
    entry.users--;
    if (entry.users === 0) this.#closeIdle(undefined);
  }

  #closeIdle(added: string | undefined): void {
    let excess = this.#open.size - this.#maxIdle;
    for (const [file, { users, index }] of this.#open) {
      if (excess <= 0) return;
      if (users > 0 || file === added || index.isBusy) continue;
      this.#close(file, index.close());
      excess--;
    }
  }

  #close(file: string, closing: Promise<void>): void {
    const closed = closing.catch((error: unknown) => {
      if (!isDatabaseError(error, 'storage_deleted'))
        this.#log.error(`the index ${file} was not closed cleanly; what it did not store is computed again`, error);
    });
    this.#remove(file, closed);
  }

  /** Removes an open index. Its file can't be opened again before `work` has ended, which must not reject. */
  #remove(file: string, work: Promise<void>): void {
    this.#open.delete(file);
    const done: Promise<void> = work.finally(() => {
      if (this.#closing.get(file) === done) this.#closing.delete(file);
    });
    this.#closing.set(file, done);
  }

  /** Closes an index and has `remove` remove its file. Callers that still read it fail. */
  async drop(file: string, remove: () => Promise<void>): Promise<void> {
    await this.#opening.get(file)?.catch(() => undefined);
    const closed = this.#open.get(file)?.index.discard() ?? this.#closing.get(file) ?? Promise.resolve();
    const removed = closed.then(remove);
    this.#remove(
      file,
      removed.catch(() => undefined),
    );
    await removed;
  }

  /** Closes the indexes of a database that was deleted. */
  dropDatabase(name: string): void {
    for (const file of this.#open.keys()) this.#discardOf(name, file);
    // An index that is being opened can be one of the deleted database as well.
    for (const [file, opening] of this.#opening) {
      opening.then(
        () => this.#discardOf(name, file),
        () => undefined,
      );
    }
  }

  #discardOf(databaseName: string, file: string): void {
    const entry = this.#open.get(file);
    if (entry?.index.databaseName === databaseName) this.#close(file, entry.index.discard());
  }

  /** Closes the indexes, after storing what they have. `databaseName`: only those of that database. */
  async close(databaseName?: string): Promise<void> {
    await Promise.allSettled(this.#opening.values());
    for (const [file, { index }] of [...this.#open]) {
      if (databaseName === undefined || index.databaseName === databaseName) this.#close(file, index.close());
    }
    await Promise.all(this.#closing.values());
  }
}

function reopenedError({ databaseName }: CachedIndex): DatabaseError {
  const reason = `An index of ${databaseName} could not be stored or read, and is opened again. Send the request again.`;
  return new DatabaseError('cancelled', reason);
}
