import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isFileName } from '../backend-checks.ts';

/**
 * The layout on the disk. Each file is a folder with the file's name, with one `data-<generation>.mdb` in it (and
 * LMDB's lock file beside that). A compaction adds the next generation and then moves the file to it (compaction.ts).
 *
 * File names begin with a letter or digit, so a name that begins with an underscore is not a file: `_copy.…` and `_copied.…` are
 * what copying/file-target.ts makes, `_new.…` is one being created, `_doomed.…` one being removed. Both steps end in one rename, so a crash leaves a whole file or none; what is
 * left over is removed by `sweep`.
 */
const NEW = '_new.';
const DOOMED = '_doomed.';
const DATA_FILE = /^data-([1-9][0-9]{0,8})\.mdb$/;
const DATA_FILE_LEFTOVER = /^data-[0-9]+\.mdb/;
/** An unfinished folder older than this was left by a crash. */
const NEW_ABANDONED_MS = 60_000;

export function dataPath(folder: string, generation: number): string {
  return join(folder, `data-${generation}.mdb`);
}

/** Returns the existing generations, ascending; more than one only after a crash. Undefined if the folder does not exist. */
export async function findGenerations(folder: string): Promise<number[] | undefined> {
  const names = await namesIn(folder);
  if (names === undefined) return undefined;
  const generations = names.flatMap((name) => {
    const match = DATA_FILE.exec(name);
    return match === null ? [] : [Number(match[1])];
  });
  return generations.sort((left, right) => left - right);
}

/** Removes every data file (and what belongs to it) except those of the generation to keep. */
export async function removeOtherGenerations(folder: string, keep: number): Promise<void> {
  const kept = dataPath('', keep);
  for (const name of (await namesIn(folder)) ?? []) {
    const isKept = name === kept || name === `${kept}-lock`;
    if (!isKept && DATA_FILE_LEFTOVER.test(name)) await rm(join(folder, name), { force: true });
  }
}

/** Returns the names of the files in a store's folder, sorted. */
export async function listFiles(folder: string): Promise<string[]> {
  return ((await namesIn(folder)) ?? []).filter(isFileName).sort();
}

/** Only for the owner: other users of the machine could read hashes of passwords in the files. */
const OWNER_ONLY = 0o700;

/** Creates a store's folder, unless it exists. Other users of the machine can't read what is in it. */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: OWNER_ONLY });
}

/** Makes a folder with what `fill` puts into it, and gives it its name when it is complete. Returns false if the name is taken. */
export async function createFolder(
  parent: string,
  name: string,
  fill: (folder: string) => Promise<void>,
): Promise<boolean> {
  const draft = join(parent, `${NEW}${crypto.randomUUID()}`);
  await makeFolder(parent);
  // Not together with the one above: if the disk is full, `recursive` reports a missing folder instead.
  await mkdir(draft);
  try {
    await fill(draft);
    await rename(draft, join(parent, name));
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (hasCode(error, 'ENOTEMPTY') || hasCode(error, 'EEXIST') || hasCode(error, 'EPERM')) return false;
    throw error;
  }
  await syncPath(parent);
  return true;
}

/** Removes a folder: immediately for `listFiles`, then from the disk. Does nothing if it does not exist. */
export async function removeFolder(parent: string, name: string): Promise<void> {
  const doomed = join(parent, `${DOOMED}${crypto.randomUUID()}`);
  try {
    await rename(join(parent, name), doomed);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  await syncPath(parent);
  await rm(doomed, { recursive: true, force: true });
}

/** Completes removals, and removes drafts, that a crash interrupted. */
export async function sweep(parent: string): Promise<void> {
  for (const name of (await namesIn(parent)) ?? []) {
    const path = join(parent, name);
    if (name.startsWith(DOOMED) || (name.startsWith(NEW) && (await ageMs(path)) > NEW_ABANDONED_MS)) {
      await rm(path, { recursive: true, force: true });
    }
  }
}

/** Makes a file's content, or the names in a folder, durable. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } catch (error) {
    // Windows doesn't sync folders; its file system journals their names by itself.
    if (!hasCode(error, 'EPERM') && !hasCode(error, 'EISDIR')) throw error;
  } finally {
    await handle.close();
  }
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

async function namesIn(folder: string): Promise<string[] | undefined> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function ageMs(path: string): Promise<number> {
  try {
    return Date.now() - (await stat(path)).mtimeMs;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0;
    throw error;
  }
}
