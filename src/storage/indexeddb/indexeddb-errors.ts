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
