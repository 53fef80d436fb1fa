import type { IDBPObjectStore } from 'idb';
import { crc32 } from '../../shared/crc32.ts';
import { decodeRecords } from '../journal-record.ts';
import type { JournalRecord } from '../page-store.ts';
import { storageCorrupt } from '../storage-errors.ts';
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
  const epoch = await raiseEpoch(file, database);
  const { names, found } = await readSegments(getDirectory, database.name, token);
  let unsaved: readonly JournalRecord[] = [];
  const ownership = await own(request, {
    epoch,
    read: (numbers, values, floor) => {
      const merged = mergeJournal({ floor, numbers, values, found });
      unsaved = merged.unsaved;
      return merged;
    },
  });
  return { ...ownership, former: { files, token, names, end: ownership.opening.nextJournal, unsaved } };
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

async function readSegments(
  getDirectory: GetDirectory,
  folderName: string,
  token: string,
): Promise<{ readonly names: readonly string[]; readonly found: readonly JournalRecord[] }> {
  const folder = await openFolder(getDirectory, folderName, false);
  const names: string[] = [];
  const found: JournalRecord[] = [];
  for await (const name of folder?.keys() ?? []) if (name.startsWith(token)) names.push(name);
  for (const name of names) {
    const bytes = folder && (await sealAndRead(folder, name));
    if (bytes !== undefined) found.push(...decodeRecords(bytes, crc32).records);
  }
  return { names, found };
}
