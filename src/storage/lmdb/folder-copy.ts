import { join } from 'node:path';
import type { DatabaseError } from '../../base/errors/database-error.ts';
import { storageCorrupt, storageMissing } from '../storage-errors.ts';
import { copyToFolder, removeLock } from './compaction.ts';
import { type Environment, hasLostRecords, movedTo, openEnvironment } from './environment.ts';
import { createFolder, dataPath, findGenerations, listFiles, makeFolder } from './folder.ts';
import { toDatabaseError } from './lmdb-errors.ts';

export interface CopiedFile {
  readonly file: string;
  /** Bytes of the copy, which has no free space in it. */
  readonly bytes: number;
  /** Whether the journal is damaged, in the copy as in the file: the last writes are lost. */
  readonly hasLostWrites: boolean;
}

/** A file that is missing from the copy. */
export interface FailedFile {
  readonly file: string;
  readonly failure: DatabaseError;
}

/**
 * Copies the files of a store's folder into another folder, each in the state of its last commit. Takes no ownership: the
 * store may be in use by another process. The file `list` is copied after all others; files that appear until then are
 * copied before it, and those that appear meanwhile after it, so that a list of files names none that the copy lacks.
 * A file removed meanwhile is skipped, and one that can't be read is reported; the list itself has to be readable.
 */
export async function* copyFiles(
  source: string,
  target: string,
  list: string,
): AsyncGenerator<CopiedFile | FailedFile> {
  await makeFolder(target);
  const seen = new Set([list]);
  yield* copyUnseen(source, target, seen);
  const copied = await copyFile(source, target, list);
  if (copied === undefined) throw storageMissing(list);
  yield copied;
  yield* copyUnseen(source, target, seen);
}

async function* copyUnseen(source: string, target: string, seen: Set<string>): AsyncGenerator<CopiedFile | FailedFile> {
  for (;;) {
    const files = (await listFiles(source)).filter((file) => !seen.has(file));
    if (files.length === 0) return;
    for (const file of files) {
      seen.add(file);
      const copied = await copyFile(source, target, file).catch((error: unknown) => toFailedFile(error, file, target));
      if (copied !== undefined) yield copied;
    }
  }
}

/** Rethrows an error that does not concern this file alone. */
async function toFailedFile(error: unknown, file: string, target: string): Promise<FailedFile> {
  const failure = await toDatabaseError(error, file, 'copying it', target);
  if (failure.code === 'storage_full') throw failure;
  return { file, failure };
}

/** The file moved on while it was copied: the copy may end with a reference to its new place, and not contain it. */
class MovedOn extends Error {}

async function copyFile(source: string, target: string, file: string): Promise<CopiedFile | undefined> {
  const folder = join(source, file);
  for (;;) {
    const generations = await findGenerations(folder);
    if (generations === undefined) return undefined;
    try {
      return await copyCurrent(file, folder, target, generations);
    } catch (error) {
      // A compaction ends with the removal of the generation that it leaves, which may be the one to be opened.
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
): Promise<CopiedFile> {
  const environment = await openCurrent(file, folder, generations);
  try {
    let bytes = 0;
    let hasLostWrites = false;
    await createFolder(target, file, async (draft) => {
      bytes = await copyToFolder(environment, folder, draft);
      if (movedTo(file, environment) !== undefined) throw new MovedOn();
      hasLostWrites = await looksDamaged(file, draft);
    });
    return { file, bytes, hasLostWrites };
  } finally {
    await environment.root.close();
  }
}

/** Checks the copy, because no one writes to it. */
async function looksDamaged(file: string, draft: string): Promise<boolean> {
  const path = dataPath(draft, 1);
  const copy = await openEnvironment(file, path, { readOnly: true });
  try {
    return hasLostRecords(file, copy, draft);
  } finally {
    await copy.root.close();
    await removeLock(path);
  }
}

/** Opens the generation that holds the file, without becoming its owner. */
export async function openCurrent(file: string, folder: string, generations: readonly number[]): Promise<Environment> {
  let [number] = generations;
  for (;;) {
    if (number === undefined) throw storageCorrupt(file, `there is no data file in ${folder}`);
    const environment = await openEnvironment(file, dataPath(folder, number), { readOnly: true });
    const next = movedTo(file, environment);
    if (next === undefined) return environment;
    await environment.root.close();
    number = next;
  }
}
