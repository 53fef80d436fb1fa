import { type DBSchema, type IDBPDatabase, wrap } from 'idb';
import type { PageValue } from '../page-store.ts';

/**
 * The layout of a file's database, which is also its IndexedDB version: a browser refuses to open a database under a
 * lower version than it has, so an older Settee can't touch what a newer one wrote.
 * 1: the stores below.
 */
export const INDEXEDDB_FORMAT = 1;

/** A string is a record's text, a number the claim of the owner with that epoch. */
export type JournalValue = string | number;

/**
 * Pages, journal and head are apart so that an append opens only the journal, and a page is read while one runs.
 * What `head` has under its keys:
 * - `head`: the owner's text;
 * - `epoch`: that of the current owner;
 * - `journalFloor`: no record below this number is left in the journal (claims are);
 * - `claimMark`: a claim that is old enough for those below it to be removed;
 * - `written`: how many pages were ever written and the sum of their lengths, and how many are there;
 * - `flushed`: nothing but a write for a strict commit that has none.
 */
export interface FileSchema extends DBSchema {
  pages: { key: number; value: PageValue };
  journal: { key: number; value: JournalValue };
  head: { key: HeadKey; value: string | number | Written };
}

export type HeadKey = 'head' | 'epoch' | 'journalFloor' | 'claimMark' | 'written' | 'flushed';

export interface Written {
  readonly pages: number;
  readonly bytes: number;
  /** Pages that are there. Changed in each transaction that writes or drops pages, since counting them takes long. */
  readonly kept: number;
}

export type FileDatabase = IDBPDatabase<FileSchema>;

export function createStores(database: IDBDatabase): void {
  database.createObjectStore('pages');
  database.createObjectStore('journal');
  database.createObjectStore('head').put(0, 'epoch');
}

/** The only place that says what a database holds: one that was opened under `INDEXEDDB_FORMAT`. */
export function asFileDatabase(database: IDBDatabase): FileDatabase {
  return wrap(database) as unknown as FileDatabase;
}
