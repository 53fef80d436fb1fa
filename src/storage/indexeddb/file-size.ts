/** How many pages a file holds, and of what size. */
import { type Commit, PAGES_PER_EPOCH, type PageNumber } from '../page-store.ts';
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
 * earlier owner dropped it but stopped before it stored the head that records it. Pages of this epoch are dropped only once, so
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
