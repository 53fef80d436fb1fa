import { DatabaseError } from '../../base/errors/database-error.ts';

/**
 * A browser makes an operation wait as long as another tab, perhaps a frozen one, holds what it needs. Every
 * operation therefore has a deadline, after which it fails with `storage_blocked`. A commit that failed this way has changed
 * nothing (`write-transaction.ts`); the removal of a file still happens once it can (`connection.ts`).
 */
export function storageBlocked(file: string, what: string, deadlineMs: number): DatabaseError {
  return new DatabaseError(
    'storage_blocked',
    `File "${file}": ${what} took over ${deadlineMs} ms, perhaps another tab holds the file; try again`,
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
