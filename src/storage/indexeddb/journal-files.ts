import type { Commit, JournalRecord } from '../page-store.ts';
import type { Ownership, OwnershipRequest } from './ownership.ts';

/**
 * Files beside IndexedDB, where the browser has such as take a write at once: a transaction of one record takes Chromium four times as
 * long. Journal records that come alone and need not survive a power cut go there. What is said of them here is what IndexedDB
 * promises of its own.
 */
export interface JournalFiles {
  /** Takes a file over from owners who wrote into segments of that token. */
  recover(request: OwnershipRequest, token: string): Promise<Ownership>;
  /** One owner's journal files. */
  open(parts: JournalFileParts): JournalFile;
  /** Removes all segments of a file. Does nothing where there are none. */
  destroy(folder: string): Promise<void>;
}

/** Gets hold of them. Who was refused writes without them; an opening asks again. */
export type LoadJournalFiles = () => Promise<JournalFiles>;

/** What former owners wrote. A file's segments are told from those of an earlier file of its name by a token in their names. */
export interface FormerSegments {
  readonly files: JournalFiles;
  readonly token: string;
  readonly names: readonly string[];
  /** Those of the segments' records that are needed, and nowhere else. */
  readonly unsaved: readonly JournalRecord[];
}

export interface JournalFileParts {
  readonly file: string;
  /** The file's, after whose name the segments' folder is called. */
  readonly database: IDBDatabase;
  readonly deadlineMs: number;
  readonly epoch: number;
  readonly former: FormerSegments | undefined;
}

export interface JournalFile {
  /**
   * Whether the record is in a file now; else it has to go to IndexedDB. Fails with `storage_fenced` where a later owner has read the file;
   * where nobody knows whether that has read the record, the error is worded `service_unavailable`, since it is not to be sent again. Then
   * the next number may be free in IndexedDB, so all that comes later is fenced here.
   */
  append(record: JournalRecord): boolean;
  /** The records in files alone that the commit has to take into IndexedDB, as one that is strict, has a head or truncates does. Fails where `append` is fenced. */
  unsaved(commit: Commit): readonly JournalRecord[];
  /** To be told of every commit in IndexedDB, and of the unsaved records that it took. */
  committed(commit: Commit, saved: readonly JournalRecord[]): void;
  /** Lets go of the files. */
  close(): void;
  /** Removes them, once all that is in them is in IndexedDB, or to be dropped. */
  remove(): Promise<void>;
}
