import type { PageNumber, PageValue } from '../page-store.ts';
import { int8Array } from './binary-arrays.ts';
import type { ConnectionPool, Row } from './connection-pool.ts';
import type { FileStatements } from './statements.ts';
import { bytesOf, textOf } from './values.ts';

/** Pages in one statement: a page has up to a mebibyte, and the answer is held twice while it is decoded. */
const MOST_PAGES = 64;

interface PageReaderOptions {
  readonly pool: ConnectionPool;
  readonly statements: FileStatements;
  /** The id of the file. */
  readonly file: string;
}

interface Wait {
  readonly promise: Promise<PageValue | undefined>;
  readonly resolve: (value: PageValue | undefined) => void;
  readonly reject: (reason: unknown) => void;
}

/** Reads pages. Those that are requested in one turn of the event loop share a round trip, which costs more than a page does. */
export class PageReader {
  readonly #options: PageReaderOptions;
  #wanted = new Map<PageNumber, Wait>();

  constructor(options: PageReaderOptions) {
    this.#options = options;
  }

  /** Fails with the error of the database server. */
  read(page: PageNumber): Promise<PageValue | undefined> {
    if (this.#wanted.size === 0) setImmediate(() => this.#send());
    const wanted = this.#wanted.get(page) ?? createWait();
    this.#wanted.set(page, wanted);
    return wanted.promise;
  }

  #send(): void {
    const wanted = [...this.#wanted];
    this.#wanted = new Map();
    for (let from = 0; from < wanted.length; from += MOST_PAGES) {
      void this.#sendOne(new Map(wanted.slice(from, from + MOST_PAGES)));
    }
  }

  async #sendOne(wanted: ReadonlyMap<PageNumber, Wait>): Promise<void> {
    const { pool, statements, file } = this.#options;
    try {
      const values = [file, int8Array([...wanted.keys()])];
      const rows = await pool.repeat('a read', (connection) => connection.query(statements.readPages, values));
      for (const row of rows) wanted.get(Number(row['number']))?.resolve(toPageValue(row));
      for (const { resolve } of wanted.values()) resolve(undefined);
    } catch (error) {
      for (const { reject } of wanted.values()) reject(error);
    }
  }
}

function createWait(): Wait {
  let [resolve, reject]: [Wait['resolve'], Wait['reject']] = [() => undefined, () => undefined];
  const promise = new Promise<PageValue | undefined>((onValue, onFailure) => {
    resolve = onValue;
    reject = onFailure;
  });
  return { promise, resolve, reject };
}

function toPageValue(row: Row): PageValue {
  const bytes = bytesOf(row['value']);
  return row['is_text'] === true ? textOf(bytes) : bytes;
}
