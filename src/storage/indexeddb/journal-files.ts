import type { Commit, JournalRecord } from '../page-store.ts';

/**
 * Journal files: segments alongside IndexedDB, in browsers whose files can be written synchronously. A transaction of one record takes Chromium
 * four times as long as a write to a file. Journal records that come alone and need not survive a power cut go to files. They are as safe there
 * as a record in a relaxed IndexedDB transaction.
 */
export interface JournalFiles {
  /**
   * Seals all segments of that token, so that former owners can't append to them any more, and reads them. The caller has raised the file's
   * epoch before, so that no further segment can begin. `mustBeOwner` is called before each seal is written, and fails if a later
   * owner has taken over the file meanwhile.
   */
  seal(folder: string, token: string, mustBeOwner: () => Promise<void>): Promise<SealedSegments>;
  /** Reads the same without sealing anything. */
  read(folder: string, token: string): Promise<readonly JournalRecord[]>;
  /** One owner's journal files. */
  open(options: JournalFileOptions): JournalFile;
  /** Removes all segments of a file. Does nothing if there are none. */
  destroy(folder: string): Promise<void>;
}

export interface SealedSegments {
  readonly names: readonly string[];
  /** Their records, in no particular order. */
  readonly records: readonly JournalRecord[];
  /** Whether their folder is gone; no owner removes it while the file exists. */
  readonly isFolderGone: boolean;
}

/** Loads them. If that fails, an open file writes its records to IndexedDB, and the next file that is opened tries again. */
export type LoadJournalFiles = () => Promise<JournalFiles>;

/** What former owners wrote. A token in the segments' names keeps them apart from those of an earlier file of the same name. */
export interface FormerSegments {
  readonly files: JournalFiles;
  readonly token: string;
  readonly names: readonly string[];
  /** Needed records that are only in the segments. */
  readonly unsaved: readonly JournalRecord[];
}

export interface JournalFileOptions {
  readonly file: string;
  /** The file's database; the segments' folder is named after it. */
  readonly database: IDBDatabase;
  readonly deadlineMs: number;
  readonly epoch: number;
  readonly former: FormerSegments | undefined;
}

export interface JournalFile {
  /** Whether there is a file to which the next record can be appended. */
  readonly isOpen: boolean;
  /**
   * Returns whether the record is in a file now; if not, it has to go to IndexedDB. Fails with `storage_fenced` if a later owner has read the file,
   * and with `write_outcome_unknown` if it is unknown whether that owner has read the record. From then on every call fails with
   * `storage_fenced`, since IndexedDB would not refuse the next record if its number is still free there.
   */
  append(record: JournalRecord): boolean;
  /** Returns the unsaved records that the commit must add to IndexedDB if it is strict, has a head or truncates. Fails if `append` is fenced. */
  unsaved(commit: Commit): readonly JournalRecord[];
  /** Must be called after every commit in IndexedDB, with the unsaved records that it included. */
  committed(commit: Commit, saved: readonly JournalRecord[]): void;
  /** Closes the files. */
  close(): void;
  /** Removes the files, once all their records are in IndexedDB, or to be dropped. */
  remove(): Promise<void>;
}
