import type { DatabaseError } from '../../errors/database-error.ts';
import type { PageNumber, PageValue } from '../page-store.ts';
import { storageBlocked } from './deadline.ts';
import { toDatabaseError } from './indexeddb-errors.ts';

export interface PageReaderOptions {
  readonly file: string;
  readonly deadlineMs: number;
  /** The reason why the file takes no more operations, if it doesn't. */
  readonly refusal: () => DatabaseError | undefined;
}

/** A transaction and what waits for it. */
interface Burst {
  readonly store: IDBObjectStore;
  pending: number;
  isLate: boolean;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** Reads pages. Reads that are asked for in one go share a transaction, which costs more than a read does. */
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
      request.onsuccess = () => {
        this.#settled(burst);
        resolve(request.result);
      };
      request.onerror = () => {
        this.#settled(burst);
        reject(this.#failure(burst, request.error));
      };
    });
  }

  #currentBurst(): Burst {
    this.#burst ??= this.#begin();
    return this.#burst;
  }

  #begin(): Burst {
    const transaction = this.#transaction();
    const timer = setTimeout(() => {
      if (burst.pending === 0) return;
      burst.isLate = true;
      transaction.abort();
    }, this.#options.deadlineMs);
    const burst: Burst = { store: transaction.objectStore('pages'), pending: 0, isLate: false, timer };
    // The transaction takes requests only for as long as this turn lasts.
    queueMicrotask(() => {
      this.#burst = undefined;
    });
    return burst;
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

  #failure(burst: Burst, error: unknown): DatabaseError {
    const { file, deadlineMs, refusal } = this.#options;
    if (burst.isLate) return storageBlocked(file, 'a read', deadlineMs);
    return refusal() ?? toDatabaseError(error, file, 'a read');
  }
}
