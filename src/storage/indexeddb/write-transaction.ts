import type { DatabaseError } from '../../errors/database-error.ts';
import { storageFenced } from '../storage-errors.ts';
import { type Deadline, storageBlocked } from './deadline.ts';
import { toDatabaseError } from './indexeddb-errors.ts';

export interface WriteOptions extends Deadline {
  readonly stores: readonly string[];
  readonly durability: 'relaxed' | 'strict';
  /** When given, the commit happens only if this is still the current epoch. Else it needs no answer to any of its requests … */
  readonly epoch: number | undefined;
  /** … and is told to commit at once, if this is true. */
  readonly commitsAtOnce: boolean;
}

/**
 * Runs one write transaction. `write` issues every request in the turn in which it is called, or in answer to one of those
 * (then it gives true): nothing foreign is ever awaited inside, since a transaction without requests commits by itself.
 *
 * A deadline that passes aborts the transaction, so that `storage_blocked` means that nothing happened. Where it is
 * too late for that (it is committing), its outcome is waited for.
 *
 * A transaction that commits at once is told so in the turn that made it: the browser then finishes it also when this
 * thread is frozen in the next moment, and a successor is not held up by it. It can't be held up itself, since its
 * owner's opening waited for whoever held the file before.
 */
export function runWrite(
  database: IDBDatabase,
  options: WriteOptions,
  write: (transaction: IDBTransaction) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction([...options.stores], 'readwrite', { durability: options.durability });
    let abortedFor: DatabaseError | undefined;
    const abort = (reason: DatabaseError): void => {
      if (tryAbort(transaction)) abortedFor = reason;
    };
    const timer = setTimeout(
      () => abort(storageBlocked(options.file, options.what, options.deadlineMs)),
      options.deadlineMs,
    );
    transaction.oncomplete = () => {
      clearTimeout(timer);
      resolve();
    };
    transaction.onabort = () => {
      clearTimeout(timer);
      reject(abortedFor ?? toDatabaseError(transaction.error, options.file, options.what));
    };
    try {
      let isAnswered = false;
      if (options.epoch !== undefined) {
        checkEpoch(transaction, options.epoch, {
          onMatch: () => {
            if (options.commitsAtOnce && !isAnswered) transaction.commit();
          },
          onMismatch: () => abort(storageFenced(options.file)),
        });
      }
      isAnswered = write(transaction);
      if (options.commitsAtOnce && options.epoch === undefined && !isAnswered) transaction.commit();
    } catch (error) {
      abort(toDatabaseError(error, options.file, options.what));
    }
  });
}

/**
 * Asked for before the writes and answered before they are done: a mismatch takes all of them back. On a match the
 * transaction may commit without asking for more. It must not before: until it has begun to run, others may hold it
 * up, and a transaction that was told to commit can't be aborted at the deadline.
 */
function checkEpoch(
  transaction: IDBTransaction,
  epoch: number,
  { onMatch, onMismatch }: { readonly onMatch: () => void; readonly onMismatch: () => void },
): void {
  const request: IDBRequest<unknown> = transaction.objectStore('head').get('epoch');
  request.onsuccess = () => {
    if (request.result === epoch) onMatch();
    else onMismatch();
  };
}

function tryAbort(transaction: IDBTransaction): boolean {
  try {
    transaction.abort();
    return true;
  } catch {
    // It is committing, or has ended: its own events tell how.
    return false;
  }
}
