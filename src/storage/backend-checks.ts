/** What every backend checks of the layer above. */
import { assert } from '../base/shared/assert.ts';
import type { Commit } from './page-store.ts';

/** Checks what the writer guarantees for every commit; a violation is a bug in the layer above, whatever the backend. */
export function assertCommit(commit: Commit, nextJournal: number, maxPageBytes: number): void {
  const { journal, writePages, truncateJournal } = commit;
  if (journal !== undefined) {
    assert(journal.number === nextJournal, () => `journal record ${journal.number} where ${nextJournal} is next`);
  }
  if (truncateJournal !== undefined) {
    const end = journal === undefined ? nextJournal : nextJournal + 1;
    assert(truncateJournal <= end, () => `truncation below ${truncateJournal} where ${end} is next`);
  }
  if (writePages !== undefined) {
    for (const { number, value } of writePages) {
      assert(Number.isSafeInteger(number) && number >= 0, () => `${number} is not a page number`);
      assert(value.length <= maxPageBytes, () => `page ${number} has ${value.length} bytes, at most ${maxPageBytes}`);
    }
  }
}

/** Names that every backend can use as a folder, a key or a part of a database name, whatever the host's rules. */
const FILE_NAME = /^[a-z0-9][a-z0-9._~-]{0,99}$/;

export function isFileName(text: string): boolean {
  return FILE_NAME.test(text);
}

/** Checks a name. The layer above makes file names, never a client: a bad name is a bug. */
export function assertFileName(file: string): void {
  assert(isFileName(file), () => `"${file}" is not a file name (${FILE_NAME.source})`);
}
