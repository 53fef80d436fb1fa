/** Journal files in the origin's private file system (File System standard). A page's worker loads this module if the browser supports it. */
import { crc32 } from '../../base/shared/crc32.ts';
import { decodeRecords } from '../journal-record.ts';
import type { JournalRecord } from '../page-store.ts';
import { OpfsJournalFile } from './journal-file.ts';
import type { JournalFiles, SealedSegments } from './journal-files.ts';
import { type GetDirectory, openFolder, readSegment, removeFolder, sealAndRead } from './journal-folder.ts';

/**
 * @param getDirectory returns the origin's private file system; default: the browser's own.
 * @param recordsBefore number of records since the journal was truncated before a segment is made: making one takes as long as
 *   writing five of them.
 */
export function createOpfsJournalFiles(
  getDirectory: GetDirectory = () => navigator.storage.getDirectory(),
  recordsBefore = 8,
): JournalFiles {
  return {
    seal: (...request) => sealSegments(getDirectory, ...request),
    read: (...request) => readSegments(getDirectory, ...request),
    open: (parts) => new OpfsJournalFile(parts, getDirectory, recordsBefore),
    destroy: (folder) => removeFolder(getDirectory, folder),
  };
}

async function readSegments(getDirectory: GetDirectory, name: string, token: string): Promise<JournalRecord[]> {
  const folder = await openFolder(getDirectory, name, false);
  const records: JournalRecord[] = [];
  for await (const segment of folder?.keys() ?? []) {
    const bytes = segment.startsWith(token) && folder && (await readSegment(folder, segment));
    if (bytes) records.push(...decodeRecords(bytes, crc32).records);
  }
  return records;
}

async function sealSegments(
  getDirectory: GetDirectory,
  name: string,
  token: string,
  mustBeOwner: () => Promise<void>,
): Promise<SealedSegments> {
  const folder = await openFolder(getDirectory, name, false);
  const names: string[] = [];
  const records: JournalRecord[] = [];
  for await (const segment of folder?.keys() ?? []) if (segment.startsWith(token)) names.push(segment);
  for (const segment of names) {
    const bytes = folder && (await sealAndRead(folder, segment, mustBeOwner));
    if (bytes !== undefined) records.push(...decodeRecords(bytes, crc32).records);
  }
  return { names, records, isFolderGone: folder === undefined };
}
