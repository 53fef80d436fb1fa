import type { Commit, PageNumber } from '../page-store.ts';
import type { Written } from './schema.ts';

/** Page numbers are epoch · 2^29 + n (page-store.ts). */
const PAGES_PER_EPOCH = 2 ** 29;

/**
 * Counts a commit's pages, and stores the count in its transaction. What is dropped may be gone already, if an earlier
 * owner did not get to saying so; pages of this epoch are dropped once, so that only older ones are looked up.
 */
export class PageCensus {
  readonly #ownPages: PageNumber;
  #written: Written;

  constructor(written: Written, epoch: number) {
    this.#written = written;
    this.#ownPages = epoch * PAGES_PER_EPOCH;
  }

  /** The count once the transaction has ended. */
  get written(): Written {
    return this.#written;
  }

  /** To be called before the commit's own requests. Gives whether the count is stored only in answer to requests. */
  count(transaction: IDBTransaction, { writePages = [], dropPages = [] }: Commit): boolean {
    const { pages, bytes, kept } = this.#written;
    const added = writePages.reduce((sum, { value }) => sum + value.length, 0);
    const stayed = kept + writePages.length - dropPages.length;
    this.#written = { pages: pages + writePages.length, bytes: bytes + added, kept: stayed };
    const older = dropPages.filter((page) => page < this.#ownPages);
    if (older.length > 0) this.#lookUp(transaction, older);
    else this.#store(transaction);
    return older.length > 0;
  }

  #lookUp(transaction: IDBTransaction, dropped: readonly PageNumber[]): void {
    const store = transaction.objectStore('pages');
    let awaited = dropped.length;
    for (const page of dropped) {
      const request = store.getKey(page);
      request.onsuccess = () => {
        awaited -= 1;
        if (request.result === undefined) this.#written = { ...this.#written, kept: this.#written.kept + 1 };
        if (awaited === 0) this.#store(transaction);
      };
    }
  }

  #store(transaction: IDBTransaction): void {
    transaction.objectStore('head').put(this.#written, 'written');
  }
}
