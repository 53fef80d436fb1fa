import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { tooManyFiles } from '../storage-errors.ts';
import { hasCode } from './folder.ts';

/** LMDB opens three files for each environment: its data twice, and its lock. The rest is for files that other threads open meanwhile. */
const NEEDED = 8;

/**
 * Fails with `too_busy` if the process can't open as many more files as an environment needs. lmdb-js as of 3.5.6 frees its memory
 * twice if LMDB fails while it opens one (`EnvWrap::openEnv`), which ends the process sooner or later. To be removed once the test
 * "a server without descriptors to spare goes on" passes without it.
 */
export function mustHaveDescriptors(): void {
  const probes: number[] = [];
  try {
    while (probes.length < NEEDED) probes.push(openSync(devNull, 'r'));
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
