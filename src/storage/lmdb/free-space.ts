import { statfs } from 'node:fs/promises';
import { DatabaseError } from '../../base/errors/database-error.ts';

/** Twice the space of a new environment, or of the first commits to a copy of one, including the lock file. */
const NEW_FILE_BYTES = 128 * 1024;

/**
 * Checks for room before LMDB begins a data file. If the disk fills up during its first commits, lmdb-js as of 3.5.6 may end the
 * process, with a segmentation fault or an abort (`corrupted size vs. prev_size`), so that must not happen.
 */
export async function mustHaveRoom(file: string, folder: string): Promise<void> {
  const free = await freeBytes(folder);
  if (free === undefined || free >= NEW_FILE_BYTES) return;
  throw new DatabaseError(
    'storage_full',
    `There is no room for file "${file}": beginning it takes up to ${NEW_FILE_BYTES / 1024} kB, and the disk has ${Math.floor(free / 1024)} kB left. Free some space and try again.`,
  );
}

/** Returns undefined if the system doesn't say. */
export async function freeBytes(folder: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}
