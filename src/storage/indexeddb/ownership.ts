import type { IDBPObjectStore } from 'idb';
import type { JournalRecord } from '../page-store.ts';
import { storageCorrupt, storageFailed, storageFenced } from '../storage-errors.ts';
import { claimFile, type FileClaim } from './file-claim.ts';
import type { FormerSegments, JournalFiles, LoadJournalFiles } from './journal-files.ts';
import { mergeJournal } from './journal-merge.ts';
import type { FileDatabase, FileSchema } from './schema.ts';

export interface Ownership extends FileClaim {
  /** What former owners have written into segments, where there are any. */
  readonly former?: FormerSegments;
}

interface OwnershipRequest {
  readonly file: string;
  readonly database: FileDatabase;
  readonly journalFiles?: LoadJournalFiles | undefined;
}

/** Takes the file over from whoever owned it before: from then on the commits of former owners fail. */
export async function takeOwnership(request: OwnershipRequest): Promise<Ownership> {
  const claim = await claimFile(request.file, request.database);
  if (typeof claim !== 'string') return claim;
  const files = await request.journalFiles?.();
  if (files === undefined) throw storageFailed(request.file, 'opening it', 'it has journal files');
  return recoverSegments(request, files, claim);
}

/**
 * Takes over a file whose journal is in segments as well. The epoch is raised first: from then on former owners begin no more segments, so
 * that every segment there will ever be is found and sealed. Only then the journal is read.
 */
async function recoverSegments(
  { file, database }: OwnershipRequest,
  files: JournalFiles,
  token: string,
): Promise<Ownership> {
  const epoch = await raiseEpoch(file, database);
  const sealed = await files.seal(database.name, token, () => mustBeEpoch(file, database, epoch));
  let unsaved: readonly JournalRecord[] = [];
  const claim = await claimFile(file, database, {
    epoch,
    read: (numbers, values, floor) => {
      const merged = mergeJournal({ floor, numbers, values, found: sealed.records });
      unsaved = merged.unsaved;
      return merged;
    },
  });
  return { ...claim, former: { files, token, names: sealed.names, unsaved } };
}

async function raiseEpoch(file: string, database: FileDatabase): Promise<number> {
  const { done, store } = database.transaction('head', 'readwrite', { durability: 'relaxed' });
  const [epoch] = await Promise.all([raiseIn(file, store), done]);
  return epoch;
}

async function raiseIn(
  file: string,
  head: IDBPObjectStore<FileSchema, ['head'], 'head', 'readwrite'>,
): Promise<number> {
  const last = await head.get('epoch');
  if (typeof last !== 'number') throw storageCorrupt(file, 'its epoch is missing');
  const epoch = last + 1;
  await Promise.all([
    head.put(epoch, 'epoch'),
    head.delete(IDBKeyRange.bound('owner-', 'owner.', false, true)),
    head.put({ holds: 'file' }, `owner-${epoch}`),
  ]);
  return epoch;
}

/** A worker that was frozen since it raised the epoch must not seal segments that belong to a later owner by now. */
async function mustBeEpoch(file: string, database: FileDatabase, epoch: number): Promise<void> {
  const { done, store } = database.transaction('head');
  const [current] = await Promise.all([store.get('epoch'), done]);
  if (current !== epoch) throw storageFenced(file);
}
