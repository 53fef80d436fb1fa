import type { PageNumber, PageValue } from '../page-store.ts';
import { int8Array } from './binary-arrays.ts';
import type { ConnectionPool, Row } from './connection-pool.ts';
import type { FileStatements } from './statements.ts';
import { bytesOf, textOf } from './values.ts';

/** Pages in one statement: a page has up to a mebibyte, and the answer is held twice while it is decoded. */
const MAX_PAGES = 64;

interface PageReaderOptions {
  readonly pool: ConnectionPool;
  readonly statements: FileStatements;
  /** The id of the file. */
  readonly file: string;
}

/** Ranges in one statement, and their bytes. */
const MAX_RANGES = 256;
const MAX_RANGE_BYTES = 4 * 2 ** 20;

interface Wait<T> {
  readonly promise: Promise<T | undefined>;
  readonly resolve: (value: T | undefined) => void;
  readonly reject: (reason: unknown) => void;
}

interface WantedRange extends Wait<Uint8Array> {
  readonly page: PageNumber;
  readonly offset: number;
  readonly length: number;
}

/** Reads pages, and parts of them. Those that are requested in one turn of the event loop share a round trip, which costs more than a page does. */
export class PageReader {
  readonly #options: PageReaderOptions;
  #wanted = new Map<PageNumber, Wait<PageValue>>();
  #ranges: WantedRange[] = [];
  #isDue = false;

  constructor(options: PageReaderOptions) {
    this.#options = options;
  }

  /** Fails with the error of the database server. */
  read(page: PageNumber): Promise<PageValue | undefined> {
    const wanted = this.#wanted.get(page) ?? createWait<PageValue>();
    this.#wanted.set(page, wanted);
    this.#sendSoon();
    return wanted.promise;
  }

  /** Returns a part of a page of bytes. Fails with the error of the database server. */
  readRange(page: PageNumber, offset: number, length: number): Promise<Uint8Array | undefined> {
    const range = { page, offset, length, ...createWait<Uint8Array>() };
    this.#ranges.push(range);
    this.#sendSoon();
    return range.promise;
  }

  #sendSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#send();
    });
  }

  #send(): void {
    const wanted = [...this.#wanted];
    this.#wanted = new Map();
    for (const ranges of inParts(this.#ranges)) void this.#sendRanges(ranges);
    this.#ranges = [];
    for (let from = 0; from < wanted.length; from += MAX_PAGES) {
      void this.#sendOne(new Map(wanted.slice(from, from + MAX_PAGES)));
    }
  }

  async #sendRanges(ranges: readonly WantedRange[]): Promise<void> {
    const { pool, statements, file } = this.#options;
    try {
      const columns = [
        ranges.map(({ page }) => page),
        ranges.map(({ offset }) => offset),
        ranges.map(({ length }) => length),
      ];
      const values = [file, ...columns.map(int8Array)];
      const rows = await pool.repeat('a read', (connection) => connection.query(statements.readRanges, values));
      for (const row of rows) ranges[Number(row['at']) - 1]?.resolve(bytesOf(row['value']));
      for (const { resolve } of ranges) resolve(undefined);
    } catch (error) {
      for (const { reject } of ranges) reject(error);
    }
  }

  async #sendOne(wanted: ReadonlyMap<PageNumber, Wait<PageValue>>): Promise<void> {
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

/** Returns the ranges in groups that one statement may have. */
function inParts(ranges: readonly WantedRange[]): WantedRange[][] {
  const parts: WantedRange[][] = [];
  let bytes = 0;
  for (const range of ranges) {
    const part = parts.at(-1);
    bytes += range.length;
    if (part !== undefined && part.length < MAX_RANGES && bytes <= MAX_RANGE_BYTES) part.push(range);
    else {
      parts.push([range]);
      bytes = range.length;
    }
  }
  return parts;
}

function createWait<T>(): Wait<T> {
  let [resolve, reject]: [Wait<T>['resolve'], Wait<T>['reject']] = [() => undefined, () => undefined];
  const promise = new Promise<T | undefined>((onValue, onFailure) => {
    resolve = onValue;
    reject = onFailure;
  });
  return { promise, resolve, reject };
}

function toPageValue(row: Row): PageValue {
  const bytes = bytesOf(row['value']);
  return row['is_text'] === true ? textOf(bytes) : bytes;
}
