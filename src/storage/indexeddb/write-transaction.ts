import type { DatabaseError } from '../../base/errors/database-error.ts';
import { commitInDoubt, storageFenced } from '../storage-errors.ts';
import { type Deadline, nameOf, storageBlocked, toDatabaseError } from './indexeddb-errors.ts';

interface WriteOptions extends Deadline {
  readonly stores: readonly string[];
  readonly durability: 'relaxed' | 'strict';
  /** When given, the writes happen only if this is still the current epoch. */
  readonly epoch: number | undefined;
  /** Whether the transaction is committed in the turn that makes it (`EarlyCommits`). */
  readonly commitsEarly: boolean;
}

/**
 * Runs one write transaction. `write` issues every request in the turn in which it is called: nothing else is ever
 * awaited inside, since a transaction without requests commits by itself.
 *
 * A deadline that passes aborts the transaction, so that `storage_blocked` means that nothing happened. If it is too
 * late for that, since it was committed early, it waits for the outcome. Such a transaction is not blocked for long: the
 * opening of the file waited for the former holder, and reads are committed early if writes are.
 *
 * Fails with `write_outcome_unknown` if the connection was lost in the middle: the transaction may have been committed before.
 */
export function runWrite(
  database: IDBDatabase,
  options: WriteOptions,
  write: (transaction: IDBTransaction) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction([...options.stores], 'readwrite', { durability: options.durability });
    let abortedFor: DatabaseError | undefined;
    const abort = (reason: DatabaseError): void => {
      if (tryToEnd(transaction, 'abort')) abortedFor = reason;
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    transaction.oncomplete = () => {
      clearTimeout(timer);
      resolve();
    };
    transaction.onabort = () => {
      clearTimeout(timer);
      reject(abortedFor ?? abortedByBrowser(transaction.error, options));
    };
    try {
      const { epoch, commitsEarly } = options;
      if (epoch !== undefined && !commitsEarly) {
        checkEpoch(transaction, epoch, () => abort(storageFenced(options.file)));
      }
      write(transaction);
      if (commitsEarly && epoch !== undefined) renewHold(transaction, epoch);
      if (commitsEarly) transaction.commit();
    } catch (error) {
      abort(toDatabaseError(error, options.file, options.what));
    }
    // Set while the browser works: setting it takes as long as making a request.
    timer = setTimeout(() => abort(storageBlocked(options.file, options.what, options.deadlineMs)), options.deadlineMs);
  });
}

/** Makes an owner hold the file: if another one does, the unique index `holder` refuses it, and with it the transaction. */
function renewHold(transaction: IDBTransaction, epoch: number): void {
  transaction.objectStore('head').put({ holds: 'file' }, `owner-${epoch}`);
}

/** Returns the error for a transaction lost with its connection, which has no error, or one that only says that it was aborted. */
function abortedByBrowser(error: DOMException | null, { file, what }: WriteOptions): DatabaseError {
  return error === null || nameOf(error) === 'AbortError' ? commitInDoubt(file) : toDatabaseError(error, file, what);
}

/** Requested before the writes and answered before they are done: a mismatch rolls all of them back. */
function checkEpoch(transaction: IDBTransaction, epoch: number, onMismatch: () => void): void {
  const request: IDBRequest<unknown> = transaction.objectStore('head').get('epoch');
  request.onsuccess = () => {
    if (request.result !== epoch) onMismatch();
  };
}

/** Commits or aborts. Returns false if the transaction is ending, or has ended, by itself: its own events say how. */
export function tryToEnd(transaction: IDBTransaction, way: 'commit' | 'abort'): boolean {
  try {
    transaction[way]();
    return true;
  } catch {
    return false;
  }
}

/**
 * Which transactions are committed explicitly (`IDBTransaction.commit`) in the turn that makes them. The browser then
 * finishes them even if their thread freezes right afterwards, so that a successor is not delayed:
 * - `all`: every read and every write;
 * - `appends`: reads, and writes of nothing but one journal record;
 * - `none`.
 */
export type EarlyCommits = 'all' | 'appends' | 'none';

/**
 * Returns what a browser supports. None in WebKit: the transaction of a worker that ends before the transaction began stays open as long as
 * its process lives, and committing early doubles how often that happens (in 40 closings or reloads of a tab that writes
 * without a pause: 7 times instead of 3 to 4, WebKitGTK 2.50). Firefox rolls an early committed transaction back only
 * if its last request fails (ESR 153), so a write of several requests could be stored in part. To be removed
 * once neither bug occurs.
 */
export function earlyCommitsFor(userAgent: string | undefined): EarlyCommits {
  if (userAgent === undefined || /Chrom(e|ium)\//.test(userAgent)) return 'all';
  if (/Firefox\//.test(userAgent)) return 'appends';
  return /AppleWebKit/.test(userAgent) ? 'none' : 'all';
}
