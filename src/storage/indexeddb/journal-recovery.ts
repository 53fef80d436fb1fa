import type { IDBPObjectStore } from 'idb';
import { crc32 } from '../../shared/crc32.ts';
import { decodeRecords } from '../journal-record.ts';
import type { JournalRecord } from '../page-store.ts';
import { storageCorrupt, storageFenced } from '../storage-errors.ts';
import type { JournalFiles } from './journal-files.ts';
import { type GetDirectory, openFolder, sealAndRead } from './journal-folder.ts';
import { mergeJournal } from './journal-merge.ts';
import { type Ownership, type OwnershipRequest, own } from './ownership.ts';
import type { FileDatabase, FileSchema } from './schema.ts';

/**
 * Seals and reads what former owners have written into files, and takes the file over with that. The epoch is raised first: from then on
 * they begin no more segments, so that none escapes.
 */
export async function recoverJournal(
  files: JournalFiles,
  getDirectory: GetDirectory,
  request: OwnershipRequest,
  token: string,
): Promise<Ownership> {
  const { file, database } = request;
  const [epoch, folder] = await Promise.all([
    raiseEpoch(file, database),
    openFolder(getDirectory, database.name, false),
  ]);
  const { names, found } = await readSegments(folder, token, () => mustBeEpoch(file, database, epoch));
  let unsaved: readonly JournalRecord[] = [];
  const ownership = await own(request, {
    epoch,
    read: (numbers, values, floor) => {
      const merged = mergeJournal({ floor, numbers, values, found });
      unsaved = merged.unsaved;
      return merged;
    },
  });
  return { ...ownership, former: { files, token, names, unsaved } };
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

/** Who slept since it raised the epoch must not seal what belongs to a later owner by now. */
async function mustBeEpoch(file: string, database: FileDatabase, epoch: number): Promise<void> {
  const { done, store } = database.transaction('head');
  const [current] = await Promise.all([store.get('epoch'), done]);
  if (current !== epoch) throw storageFenced(file);
}

async function readSegments(
  folder: FileSystemDirectoryHandle | undefined,
  token: string,
  mayI: () => Promise<void>,
): Promise<{ readonly names: readonly string[]; readonly found: readonly JournalRecord[] }> {
  const names: string[] = [];
  const found: JournalRecord[] = [];
  for await (const name of folder?.keys() ?? []) if (name.startsWith(token)) names.push(name);
  for (const name of names) {
    const bytes = folder && (await sealAndRead(folder, name, mayI));
    if (bytes !== undefined) found.push(...decodeRecords(bytes, crc32).records);
  }
  return { names, found };
}
