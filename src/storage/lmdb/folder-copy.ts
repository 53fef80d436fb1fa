import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { storageCorrupt, storageMissing } from '../storage-errors.ts';
import { copyToFolder } from './compaction.ts';
import { type Environment, movedTo, openEnvironment } from './environment.ts';
import { createFolder, dataPath, findGenerations, listFiles } from './folder.ts';

export interface CopiedFile {
  readonly file: string;
  /** Bytes of the copy, which has no free space in it. */
  readonly bytes: number;
}

/**
 * Copies the files of a store's folder into another one, each in the state of its last commit. Takes no ownership: the
 * store may be in use by another process. Files in `last` are copied after all others, so that a list of files names
 * no file that the copy lacks; files that appeared meanwhile are copied, too. A file removed meanwhile is passed over.
 */
export async function* copyFiles(source: string, target: string, last: string): AsyncGenerator<CopiedFile> {
  await mkdir(target, { recursive: true });
  const copied = new Set<string>();
  for (;;) {
    const files = (await listFiles(source)).filter((file) => file !== last && !copied.has(file));
    if (files.length === 0) break;
    for (const file of files) {
      copied.add(file);
      const bytes = await copyFile(source, target, file);
      if (bytes !== undefined) yield { file, bytes };
    }
  }
  const bytes = await copyFile(source, target, last);
  if (bytes === undefined) throw storageMissing(last);
  yield { file: last, bytes };
}

/** The file moved on while it was copied: the copy may end with where it went, and not hold it. */
class MovedOn extends Error {}

async function copyFile(source: string, target: string, file: string): Promise<number | undefined> {
  const folder = join(source, file);
  for (;;) {
    const generations = await findGenerations(folder);
    if (generations === undefined) return undefined;
    try {
      return await copyCurrent(file, folder, target, generations);
    } catch (error) {
      // A compaction ends with the removal of the generation that it leaves, which may be the one that was to be opened.
      const isSame = String(await findGenerations(folder)) === String(generations);
      if (isSame && !(error instanceof MovedOn)) throw error;
    }
  }
}

async function copyCurrent(
  file: string,
  folder: string,
  target: string,
  generations: readonly number[],
): Promise<number> {
  const environment = await openCurrent(file, folder, generations);
  try {
    let bytes = 0;
    await createFolder(target, file, async (draft) => {
      bytes = await copyToFolder(environment, folder, draft);
      if (movedTo(file, environment) !== undefined) throw new MovedOn();
    });
    return bytes;
  } finally {
    await environment.root.close();
  }
}

/** Opens the generation that holds the file, without becoming its owner. */
async function openCurrent(file: string, folder: string, generations: readonly number[]): Promise<Environment> {
  let [number] = generations;
  for (;;) {
    if (number === undefined) throw storageCorrupt(file, `there is no data file in ${folder}`);
    const environment = await openEnvironment(file, dataPath(folder, number), true);
    const next = movedTo(file, environment);
    if (next === undefined) return environment;
    await environment.root.close();
    number = next;
  }
}
