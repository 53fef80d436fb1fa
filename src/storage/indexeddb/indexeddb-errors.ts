/** How operations of IndexedDB fail: with an error of the browser, or at a deadline. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { connectionLost, storageCorrupt, storageFailed, storageFenced, storageFull } from '../storage-errors.ts';

/** Maps a failure to an error by the DOMException's name (Indexed Database API 3.0, section 3). `what` is what was tried. */
export function toDatabaseError(error: unknown, file: string, what: string): DatabaseError {
  if (error instanceof DatabaseError) return error;
  switch (nameOf(error)) {
    case 'QuotaExceededError':
      return storageFull(file, error);
    case 'ConstraintError':
      // Constraints exist only for fencing: on a journal number that is a later owner's claim, and on who holds the file.
      return storageFenced(file);
    case 'InvalidStateError':
    // A transaction that we abort ourselves has no error; with this error it was lost with its connection.
    case 'AbortError':
      return connectionLost(file);
    case 'NotFoundError':
      return storageCorrupt(file, 'one of its object stores is missing', error);
    default:
      return storageFailed(file, what, error);
  }
}

export function nameOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'name' in error ? error.name : undefined;
}

/**
 * A browser makes an operation wait as long as another tab, perhaps a frozen one, holds what it needs. Every
 * operation therefore has a deadline, after which it fails with `storage_blocked`. A commit that failed this way has changed
 * nothing (`write-transaction.ts`); the removal of a file still happens once it can (`connection.ts`).
 */
export function storageBlocked(file: string, what: string, deadlineMs: number): DatabaseError {
  return new DatabaseError(
    'storage_blocked',
    `File "${file}": ${what} took more than ${deadlineMs} ms; another tab may hold the file. Try again`,
  );
}

export interface Deadline {
  readonly file: string;
  readonly what: string;
  readonly deadlineMs: number;
}

/** Rejects when the deadline passes before `work` settles. `late` then gets the value if `work` resolves later. */
export function withDeadline<T>(work: Promise<T>, deadline: Deadline, late?: (value: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      reject(storageBlocked(deadline.file, deadline.what, deadline.deadlineMs));
    }, deadline.deadlineMs);
    work.then(
      (value) => {
        clearTimeout(timer);
        if (isLate) late?.(value);
        else resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
