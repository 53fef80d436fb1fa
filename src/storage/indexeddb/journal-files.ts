import type { Commit, JournalRecord } from '../page-store.ts';

/**
 * Journal files: segments beside IndexedDB, in browsers whose files can be written synchronously. A transaction of one record takes Chromium
 * four times as long as a write to a file. Journal records that come alone and need not survive a power cut go there. They are as safe there
 * as IndexedDB makes a record of a relaxed transaction.
 */
export interface JournalFiles {
  /**
   * Seals all segments of that token, so that former owners can't add to them any more, and reads them. The caller has raised the file's
   * epoch before, so that no further segment can begin. `mustBeOwner` is called before each seal is written, and fails where a later
   * owner has taken the file over meanwhile.
   */
  seal(folder: string, token: string, mustBeOwner: () => Promise<void>): Promise<SealedSegments>;
  /** Reads the same without sealing anything. */
  read(folder: string, token: string): Promise<readonly JournalRecord[]>;
  /** One owner's journal files. */
  open(parts: JournalFileParts): JournalFile;
  /** Removes all segments of a file. Does nothing where there are none. */
  destroy(folder: string): Promise<void>;
}

export interface SealedSegments {
  readonly names: readonly string[];
  /** What they hold, in no order. */
  readonly records: readonly JournalRecord[];
  /** Whether the folder in which they were is gone, which no owner removes while the file is there. */
  readonly isFolderGone: boolean;
}

/** Loads them. Where that fails an open file writes its records to IndexedDB, and the next file that is opened tries again. */
export type LoadJournalFiles = () => Promise<JournalFiles>;

/** What former owners wrote. A token in the segments' names keeps them apart from those of an earlier file of the same name. */
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
  /** Whether there is a file to which the next record can be appended. */
  readonly isOpen: boolean;
  /**
   * Whether the record is in a file now; else it has to go to IndexedDB. Fails with `storage_fenced` where a later owner has read the file,
   * and with `write_outcome_unknown` where nobody knows whether that owner has read the record. From then on every call fails with
   * `storage_fenced`, since IndexedDB would not refuse the next record where its number is still free there.
   */
  append(record: JournalRecord): boolean;
  /** The records in files alone that the commit has to take into IndexedDB, as one that is strict, has a head or truncates does. Fails where `append` is fenced. */
  unsaved(commit: Commit): readonly JournalRecord[];
  /** To be called after every commit in IndexedDB, with the unsaved records that it took. */
  committed(commit: Commit, saved: readonly JournalRecord[]): void;
  /** Lets go of the files. */
  close(): void;
  /** Removes them, once all that is in them is in IndexedDB, or to be dropped. */
  remove(): Promise<void>;
}
