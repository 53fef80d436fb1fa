import { rename, rm, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { breakIn, commitAs, currentEpoch, type Environment, enqueueMove, openEnvironment } from './environment.ts';
import { dataPath, syncPath } from './folder.ts';
import { mustHaveRoom } from './host-limits.ts';
import { copySegments } from './journal-segment.ts';

/**
 * Moves a file into a new, smaller environment. LMDB never shortens a data file, so the live data is copied to the
 * next generation, and one commit in the old generation then says where the file now is.
 *
 * A crash at any step leaves one valid generation: until that commit it is the old one, and the copy is a
 * leftover; from then on it is the new one, and the old is a leftover. Another owner that opens the file meanwhile
 * raises the old generation's epoch, the commit fails its condition, and the copy is discarded.
 */
export interface Generation {
  readonly folder: string;
  readonly number: number;
  readonly environment: Environment;
}

/** Returns the next generation, opened; undefined if the epoch is no longer current. No commit may run. */
export async function moveToNextGeneration(
  file: string,
  { folder, number, environment }: Generation,
  epoch: number,
): Promise<Generation | undefined> {
  const path = dataPath(folder, number + 1);
  const part = await copyBeside(environment, path);
  // A later owner may have compacted, too, and `path` may be its data.
  if (currentEpoch(file, environment) !== epoch) {
    await removeData(part);
    return undefined;
  }
  await rename(part, path);
  try {
    await syncPath(folder);
    const copy = await openEnvironment(file, path);
    const isMoved = await commitAs(environment, epoch, () => enqueueMove(environment, epoch, number + 1));
    if (isMoved) return { folder, number: number + 1, environment: copy };
    await copy.root.close();
  } catch (error) {
    await removeData(path);
    throw error;
  }
  await removeData(path);
  return undefined;
}

/**
 * Copies a file in the state of its last commits into an empty folder, without free space, durably; returns its bytes.
 * The journal comes first, and the copy ends with it: what a later head covers is skipped, and no record refers to
 * a page that was dropped since, because such pages are dropped after a head that covers the record.
 */
export async function copyToFolder(environment: Environment, folder: string, target: string): Promise<number> {
  const path = dataPath(target, 1);
  const segments = await copySegments(folder, target);
  await rename(await copyBeside(environment, path), path);
  for (const segment of segments) await syncPath(segment);
  await syncPath(target);
  const sizes = await Promise.all([path, ...segments].map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Copies the data beside `path`; returns the copy's path, for the caller to rename. */
async function copyBeside(environment: Environment, path: string): Promise<string> {
  const part = `${path}.${crypto.randomUUID()}.part`;
  try {
    await environment.root.backup(part, true);
    await mustHaveRoom(basename(path), dirname(path));
    await breakIn(part);
    await syncPath(part);
    return part;
  } catch (error) {
    await removeData(part);
    throw error;
  }
}

export async function removeData(path: string): Promise<void> {
  await rm(path, { force: true });
  await removeLock(path);
}

export async function removeLock(path: string): Promise<void> {
  await rm(`${path}-lock`, { force: true });
}
