import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { breakIn, commitAs, currentEpoch, type Environment, enqueueMove, openEnvironment } from './environment.ts';
import { dataPath, syncPath } from './folder.ts';

/**
 * Moves a file into a new, smaller environment. LMDB never shortens a data file, so the live data is copied to the
 * next generation, and one commit in the old generation then says where the file is from now on.
 *
 * A crash at any step leaves one generation that holds: until that commit it is the old one, and the copy is a
 * leftover; from then on it is the new one, and the old is a leftover. Another owner who opens the file meanwhile
 * raises the old generation's epoch, the commit fails its condition, and the copy is thrown away.
 */
export interface Generation {
  readonly folder: string;
  readonly number: number;
  readonly environment: Environment;
}

/** Gives the next generation, opened; undefined where the epoch is no longer the current one. No commit may run. */
export async function moveToNextGeneration(
  file: string,
  { folder, number, environment }: Generation,
  epoch: number,
): Promise<Generation | undefined> {
  const path = dataPath(folder, number + 1);
  const part = await copyBeside(environment, path);
  // A later owner may have compacted, too, and `path` be its data.
  if (currentEpoch(file, environment) !== epoch) {
    await removeData(part);
    return undefined;
  }
  await rename(part, path);
  try {
    await syncPath(folder);
    const copy = await openEnvironment(file, path);
    if (await moveTo(environment, epoch, number + 1)) return { folder, number: number + 1, environment: copy };
    await copy.root.close();
  } catch (error) {
    await removeData(path);
    throw error;
  }
  await removeData(path);
  return undefined;
}

/** Copies the last committed state, without free space, durably; `path` is there only when the copy is whole. */
export async function copyEnvironment(environment: Environment, path: string): Promise<void> {
  await rename(await copyBeside(environment, path), path);
  await syncPath(dirname(path));
}

/** Gives the copy's path, for the caller to rename. */
async function copyBeside(environment: Environment, path: string): Promise<string> {
  const part = `${path}.${crypto.randomUUID()}.part`;
  try {
    await environment.root.backup(part, true);
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
  await rm(`${path}-lock`, { force: true });
}

async function moveTo(environment: Environment, epoch: number, generation: number): Promise<boolean> {
  const isMoved = await commitAs(environment, epoch, () => enqueueMove(environment, epoch, generation));
  if (isMoved) await environment.root.flushed;
  return isMoved;
}
