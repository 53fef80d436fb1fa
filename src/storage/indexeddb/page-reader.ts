import type { DatabaseError } from '../../base/errors/database-error.ts';
import type { PageNumber, PageValue } from '../page-store.ts';
import { storageBlocked, toDatabaseError } from './indexeddb-errors.ts';
import { tryToEnd } from './write-transaction.ts';

interface PageReaderOptions {
  readonly file: string;
  /** The deadline of reads that begin now: they also wait for the file's running operations. */
  readonly deadlineMs: () => number;
  /** The reason why the file takes no more operations, if it takes none. */
  readonly refusal: () => DatabaseError | undefined;
  /** Whether a transaction is committed in the turn that makes it (`EarlyCommits`). */
  readonly commitsEarly: boolean;
}

/** A transaction and the reads that wait for it. */
interface Burst {
  readonly store: IDBObjectStore;
  readonly rejects: ((reason: DatabaseError) => void)[];
  pending: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** Reads pages. Reads requested in one turn share a transaction, which costs more than a read does. */
export class PageReader {
  readonly #database: IDBDatabase;
  readonly #options: PageReaderOptions;
  #burst: Burst | undefined;

  constructor(database: IDBDatabase, options: PageReaderOptions) {
    this.#database = database;
    this.#options = options;
  }

  read(page: PageNumber): Promise<PageValue | undefined> {
    return new Promise((resolve, reject) => {
      const burst = this.#currentBurst();
      const request: IDBRequest<PageValue | undefined> = burst.store.get(page);
      burst.pending += 1;
      burst.rejects.push(reject);
      request.onsuccess = () => {
        this.#settled(burst);
        resolve(request.result);
      };
      request.onerror = (event) => {
        // Otherwise the browser aborts the transaction, and with it the reads of the others in it.
        event.preventDefault();
        this.#settled(burst);
        reject(this.#failure(request.error));
      };
    });
  }

  #currentBurst(): Burst {
    this.#burst ??= this.#begin();
    return this.#burst;
  }

  #begin(): Burst {
    const transaction = this.#transaction();
    const burst: Burst = { store: transaction.objectStore('pages'), rejects: [], pending: 0, timer: undefined };
    // The transaction takes requests only during this turn.
    queueMicrotask(() => {
      this.#burst = undefined;
      if (this.#options.commitsEarly) tryToEnd(transaction, 'commit');
      // Set while the browser works: setting it takes as long as requesting a page.
      const deadlineMs = this.#options.deadlineMs();
      burst.timer = setTimeout(() => this.#giveUp(burst, transaction, deadlineMs), deadlineMs);
    });
    return burst;
  }

  #giveUp(burst: Burst, transaction: IDBTransaction, deadlineMs: number): void {
    const { file } = this.#options;
    for (const reject of burst.rejects) reject(storageBlocked(file, 'a read', deadlineMs));
    tryToEnd(transaction, 'abort');
  }

  #transaction(): IDBTransaction {
    try {
      return this.#database.transaction('pages');
    } catch (error) {
      throw this.#options.refusal() ?? toDatabaseError(error, this.#options.file, 'a read');
    }
  }

  #settled(burst: Burst): void {
    burst.pending -= 1;
    if (burst.pending === 0) clearTimeout(burst.timer);
  }

  #failure(error: unknown): DatabaseError {
    const { file, refusal } = this.#options;
    return refusal() ?? toDatabaseError(error, file, 'a read');
  }
}
