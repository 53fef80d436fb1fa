/** Journal files in the origin's private file system (File System standard). Pages' workers load this when they need it. */
import { OpfsJournalFile } from './journal-file.ts';
import type { JournalFiles } from './journal-files.ts';
import { type GetDirectory, removeFolder } from './journal-folder.ts';
import { recoverJournal } from './journal-recovery.ts';

/**
 * @param getDirectory gives the origin's private file system; by default the browser's own.
 * @param recordsBefore so many records have to come since the journal was truncated before there is a segment: making one takes as long as
 *   writing five of them.
 */
export function createOpfsJournalFiles(
  getDirectory: GetDirectory = () => navigator.storage.getDirectory(),
  recordsBefore = 8,
): JournalFiles {
  const files: JournalFiles = {
    recover: (...request) => recoverJournal(files, getDirectory, ...request),
    open: (parts) => new OpfsJournalFile(parts, getDirectory, recordsBefore),
    destroy: (folder) => removeFolder(getDirectory, folder),
  };
  return files;
}
