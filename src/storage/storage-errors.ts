import { DatabaseError, messageOf } from '../base/errors/database-error.ts';

/** The failures that all backends report in the same way, so that their wording and advice are the same everywhere. */

export function storageClosed(what: string): DatabaseError {
  return new DatabaseError('storage_closed', `${what} was closed; open it again`);
}

/** The host took the connection away; what was committed is still there, unless it was removed. */
export function connectionLost(file: string): DatabaseError {
  return new DatabaseError('storage_closed', `The connection to file "${file}" was lost; open it again`);
}

/** The host took the connection away in the middle of a commit. */
export function commitInDoubt(file: string): DatabaseError {
  return new DatabaseError(
    'write_outcome_unknown',
    `The connection to file "${file}" was lost during this write, which may have been carried out or not; read before you write again`,
  );
}

export function storageDeleted(file: string): DatabaseError {
  return new DatabaseError('storage_deleted', `File "${file}" was removed while it was open; create it again`);
}

export function storageFenced(file: string): DatabaseError {
  return new DatabaseError(
    'storage_fenced',
    `File "${file}" has been opened by another owner; nothing was written. Send the request to that owner`,
  );
}

export function storageMissing(file: string): DatabaseError {
  return new DatabaseError('storage_missing', `There is no file "${file}"; restore it from a backup`);
}

export function storageExists(file: string): DatabaseError {
  return new DatabaseError('storage_exists', `There is a file "${file}" already; open it, or destroy it first`);
}

export function storageNewerFormat(file: string, found: number, known: number): DatabaseError {
  return new DatabaseError(
    'storage_newer_format',
    `File "${file}" has storage format ${found}, this version reads up to ${known}; update Settee to open it`,
  );
}

export function storageFull(file: string, cause: unknown): DatabaseError {
  return new DatabaseError(
    'storage_full',
    `No space is left for file "${file}"; this step wrote nothing. Delete documents or databases, or free space elsewhere, and try again`,
    { cause },
  );
}

export function storageCorrupt(file: string, finding: string, cause?: unknown): DatabaseError {
  return new DatabaseError('storage_corrupt', `File "${file}" is damaged: ${finding}; restore it from a backup`, {
    cause,
  });
}

/** A damaged journal stops the opening: continuing without its records would silently lose acknowledged writes. */
export function journalDamaged(file: string, record: number, place: string): DatabaseError {
  return new DatabaseError(
    'storage_corrupt',
    `File "${file}" is damaged: record ${record} of its journal (${place}) can't be read, and the writes from there on may be lost. Nothing was changed. Stop the server and run "settee verify --repair", which says what it drops; or restore a backup.`,
  );
}

/** A temporary error: it ends when others close their files. */
export function tooManyFiles(cause: unknown): DatabaseError {
  const reason =
    'The process has as many files and connections open as the system permits; nothing was changed. Try again in a moment; if it happens often, raise the limit of open files (ulimit -n), or lower httpd/max_connections or svc/max_dbs_open.';
  return new DatabaseError('too_busy', reason, { cause });
}

/** A temporary error: it ends when other requests end. */
export function tooManyReaders(cause: unknown): DatabaseError {
  const reason =
    'As many states of the database are being read as LMDB permits; nothing was changed. Try again in a moment; if it happens often, start fewer processes.';
  return new DatabaseError('too_busy', reason, { cause });
}

export function storageFailed(file: string, what: string, cause: unknown): DatabaseError {
  return new DatabaseError('storage_failed', `File "${file}": ${what} failed (${messageOf(cause)}); try again`, {
    cause,
  });
}
