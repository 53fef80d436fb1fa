/** How much a file holds: pages, and text in the journal. */
import { type Commit, type JournalRecord, PAGES_PER_EPOCH, type PageNumber } from '../page-store.ts';
import { type Deadline, withDeadline } from './indexeddb-errors.ts';
import type { PageCounts } from './schema.ts';

interface CountRequest {
  readonly epoch: number;
  /** The counts so far. */
  readonly before: PageCounts;
  readonly commit: Commit;
  readonly deadline: Deadline;
}

/**
 * Returns the page counts after a commit, to be stored in its transaction. A dropped page may be gone already, if an
 * earlier owner dropped it and did not store a head that says so. Pages of this epoch are dropped only once, so
 * that only older ones have to be looked up. That may happen before the transaction: only this owner changes pages,
 * otherwise its transaction is refused.
 */
export async function countAfterCommit(
  database: IDBDatabase,
  { epoch, before, commit, deadline }: CountRequest,
): Promise<PageCounts> {
  const { writePages = [], dropPages = [] } = commit;
  const added = writePages.reduce((sum, { value }) => sum + value.length, 0);
  const older = dropPages.filter((page) => page < epoch * PAGES_PER_EPOCH);
  const gone = older.length === 0 ? 0 : await withDeadline(countMissing(database, older), deadline);
  return {
    pages: before.pages + writePages.length,
    bytes: before.bytes + added,
    kept: before.kept + writePages.length - dropPages.length + gone,
  };
}

function countMissing(database: IDBDatabase, pages: readonly PageNumber[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction('pages');
    const store = transaction.objectStore('pages');
    let missing = 0;
    for (const page of pages) {
      const request = store.getKey(page);
      request.onsuccess = () => {
        if (request.result === undefined) missing += 1;
      };
    }
    transaction.oncomplete = () => resolve(missing);
    transaction.onabort = () => reject(transaction.error);
  });
}

/** How much text a journal holds, including segments. */
export class JournalSize {
  /** Lengths by the records' numbers, ascending. */
  readonly #lengths = new Map<number, number>();
  #bytes = 0;

  constructor(journal: readonly JournalRecord[]) {
    for (const record of journal) this.#add(record);
  }

  /** The sum of the lengths of all records; a character counts as one byte. */
  get bytes(): number {
    return this.#bytes;
  }

  committed({ journal, truncateJournal = 0 }: Pick<Commit, 'journal' | 'truncateJournal'>): void {
    if (journal !== undefined) this.#add(journal);
    if (truncateJournal === 0) return;
    for (const [number, length] of this.#lengths) {
      if (number >= truncateJournal) return;
      this.#lengths.delete(number);
      this.#bytes -= length;
    }
  }

  #add({ number, text }: JournalRecord): void {
    this.#lengths.set(number, text.length);
    this.#bytes += text.length;
  }
}
