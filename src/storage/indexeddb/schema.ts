import { type DBSchema, type IDBPDatabase, wrap } from 'idb';
import type { PageValue } from '../page-store.ts';

/**
 * The layout of a file's database, which is also its IndexedDB version: a browser refuses to open a database under a
 * lower version than it has, so an older Settee can't change what a newer one wrote.
 * 1: the stores below, without the index `holder`.
 * 2: with it.
 * 3: part of the journal may be in files beside the database.
 */
export const INDEXEDDB_FORMAT = 3;

/** A string is a record's text, a number the claim of the owner with that epoch. */
export type JournalValue = string | number;

/**
 * Pages, journal and head are separate so that an append opens only the journal, and a page is read while one runs.
 * `head` has these keys:
 * - `head`: the owner's text;
 * - `epoch`: that of the current owner;
 * - `journalFloor`: no record below this number is left in the journal (claims are);
 * - `claimMark`: a claim that is old enough for those below it to be removed;
 * - `written`: how many pages were ever written, the sum of their lengths, and how many exist;
 * - `flushed`: only a write for a strict commit that has none;
 * - `segments`: the token of the journal's segments in files (`journal-files.ts`); if it is missing, there are none;
 * - `owner-` and the current epoch: who holds the file. The unique index `holder` permits only one, so that a stale
 *   owner is refused by what it writes rather than by what it reads.
 */
export interface FileSchema extends DBSchema {
  pages: { key: number; value: PageValue };
  journal: { key: number; value: JournalValue };
  head: { key: HeadKey; value: HeadValue; indexes: { holder: string } };
}

type HeadKey = 'head' | 'epoch' | 'journalFloor' | 'claimMark' | 'written' | 'flushed' | 'segments' | `owner-${number}`;

export type HeadValue = string | number | PageCounts | Hold;

interface Hold {
  readonly holds: 'file';
}

/** How many pages were ever written, with how many bytes, and how many exist. Stored under `written`. */
export interface PageCounts {
  readonly pages: number;
  readonly bytes: number;
  /** Pages that exist. Changed in each transaction that writes or drops pages, since counting them takes long. */
  readonly kept: number;
}

export type FileDatabase = IDBPDatabase<FileSchema>;

/** Makes the stores, or brings those of an earlier format to this one. To be called in a version change. */
export function createStores(transaction: IDBTransaction, oldFormat: number): void {
  const { db } = transaction;
  if (oldFormat === 0) {
    db.createObjectStore('pages');
    db.createObjectStore('journal');
    db.createObjectStore('head');
  }
  // If it is missing, the opening detects and reports that.
  if (oldFormat >= 2 || !db.objectStoreNames.contains('head')) return;
  transaction.objectStore('head').createIndex('holder', 'holds', { unique: true });
}

/** Types a database opened under `INDEXEDDB_FORMAT`: the only place that says what it holds. */
export function asFileDatabase(database: IDBDatabase): FileDatabase {
  return wrap(database) as unknown as FileDatabase;
}
