/** What the host must still have when LMDB is called, since its library ends the process without: free space, and descriptors. */

import { closeSync, openSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { devNull } from 'node:os';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { tooManyFiles } from '../storage-errors.ts';
import { hasCode } from './folder.ts';

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

/** Returns the bytes that are free on the folder's disk; undefined if the system doesn't say. */
export async function freeBytes(folder: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

/** LMDB opens three files for each environment: its data twice, and its lock. The rest is for files that other threads open meanwhile. */
const NEEDED_DESCRIPTORS = 8;

/**
 * Fails with `too_busy` if the process can't open as many more files as an environment needs. lmdb-js as of 3.5.6 frees its memory
 * twice if LMDB fails while it opens one (`EnvWrap::openEnv`), which ends the process sooner or later. To be removed once the test
 * "a server without descriptors to spare goes on" passes without it.
 */
export function mustHaveDescriptors(): void {
  const probes: number[] = [];
  try {
    while (probes.length < NEEDED_DESCRIPTORS) probes.push(openSync(devNull, 'r'));
  } catch (error) {
    if (isLackOfDescriptors(error)) throw tooManyFiles(error);
    throw error;
  } finally {
    for (const descriptor of probes) closeSync(descriptor);
  }
}

/** Returns whether this process, or the whole system, has too few. */
export function isLackOfDescriptors(error: unknown): boolean {
  return hasCode(error, 'EMFILE') || hasCode(error, 'ENFILE');
}
