import { DatabaseError, messageOf } from '../../base/errors/database-error.ts';
import { storageCorrupt, storageFailed, storageFull, tooManyFiles, tooManyReaders } from '../storage-errors.ts';
import { freeBytes, isLackOfDescriptors } from './host-limits.ts';

/** LMDB's own codes (lmdb.h) and those of the system, as lmdb-js reports them in `error.code`. */
const FULL = new Set<unknown>([-30792, 'ENOSPC', 'EDQUOT', 'EFBIG', 28, 122, 27]);
const CORRUPT = new Set<unknown>([-30797, -30796, -30793]);
/** What a background copy (`backup`) says about damage: it has no code. */
const CORRUPT_MESSAGE = /\bMDB_(CORRUPTED|PAGE_NOTFOUND|INVALID|INCOMPATIBLE)\b/;
const READERS_FULL = -30790;
const INPUT_OUTPUT_ERROR = 5;
/** Below this much free space an input/output error counts as a full disk. */
const SCARCE_BYTES = 2 ** 20;

/** Maps a failure of lmdb-js or of the file system to an error. `what` is what was tried, `folder` where. */
export async function toDatabaseError(
  error: unknown,
  file: string,
  what: string,
  folder: string,
): Promise<DatabaseError> {
  if (error instanceof DatabaseError) return error;
  const cause = await commitErrorOf(error);
  const code = memberOf(cause, 'code');
  if (FULL.has(code) || messageOf(cause).includes('No space left')) return storageFull(file, cause);
  // LMDB reports a write that the disk took only partly as an input/output error.
  if (code === INPUT_OUTPUT_ERROR && (await isScarce(folder))) return storageFull(file, cause);
  if (isLackOfDescriptors(cause)) return tooManyFiles(cause);
  if (isDamage(cause)) return storageCorrupt(file, messageOf(cause), cause);
  return storageFailed(file, what, cause);
}

/** Maps a failure of a read to an error, in the same turn. */
export function toReadError(error: unknown, file: string): DatabaseError {
  if (error instanceof DatabaseError) return error;
  if (isLackOfReaders(error)) return tooManyReaders(error);
  return isDamage(error) ? storageCorrupt(file, messageOf(error), error) : storageFailed(file, 'reading it', error);
}

/** Returns whether LMDB has no place for another read transaction in its lock file. */
export function isLackOfReaders(error: unknown): boolean {
  return memberOf(error, 'code') === READERS_FULL;
}

function isDamage(error: unknown): boolean {
  return CORRUPT.has(memberOf(error, 'code')) || CORRUPT_MESSAGE.test(messageOf(error));
}

/** Returns the reason: a failed commit rejects with an error whose `commitError` is a promise that rejects with the reason. */
async function commitErrorOf(error: unknown): Promise<unknown> {
  const commitError = memberOf(error, 'commitError');
  if (!(commitError instanceof Promise)) return error;
  try {
    return await commitError;
  } catch (reason) {
    return reason;
  }
}

async function isScarce(folder: string): Promise<boolean> {
  const free = await freeBytes(folder);
  return free !== undefined && free < SCARCE_BYTES;
}

function memberOf(error: unknown, name: string): unknown {
  return typeof error === 'object' && error !== null && name in error ? Reflect.get(error, name) : undefined;
}
