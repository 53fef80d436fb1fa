/** What a page's worker loads if the browser has files for the journal: the entry of `settee-journal.js`. */
import type { JournalFiles } from '../../storage/indexeddb/journal-files.ts';
import { createOpfsJournalFiles } from '../../storage/indexeddb/opfs-journal-files.ts';

export const loaded: JournalFiles = createOpfsJournalFiles();
