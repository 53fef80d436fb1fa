import type { Crc32 } from '../base/shared/crc32.ts';
import type { MaybePromise } from '../base/shared/maybe-promise.ts';
import type { Metric } from '../base/system/contract.ts';

/**
 * The contract between Settee and what stores its bytes. All structure (trees, documents) lives above it.
 *
 * A **file** holds one database or one view index. It consists of
 * - **pages**: immutable values under numbers that are never used twice,
 * - a **journal**: redo records under consecutive numbers,
 * - one **head**: a small text (at most about 1 KB).
 *
 * Guarantees that every backend makes, and that `test/conformance/storage` checks:
 * 1. A commit happens as a whole or not at all, even if the process dies in the middle.
 * 2. Prefix durability within a file: no journal record, no truncation and no head survives without every commit before
 *    it, except records that it removes or that were removed before. Pages that were committed alone may survive a
 *    power cut without the records before them; nothing that survives refers to them. Nothing is promised across files.
 * 3. A commit is visible to `read` and to a later `open` when its promise resolves. With `strict` it also survives a
 *    power cut; with `relaxed` it survives the end of the process.
 * 4. Fencing: `open` takes ownership. It raises the epoch and claims the next journal number. When it resolves, and from then
 *    on, every commit through an earlier `PageFile` of the same file fails with `storage_fenced` and changes nothing. If a browser has no
 *    room for that, `open` still resolves: the file can be read, earlier ones are not fenced, and the first commit for which there is
 *    room takes ownership, or fails with `storage_fenced` if an earlier one has committed since.
 * 5. Errors are `DatabaseError`s with the codes `storage_closed`, `storage_deleted` (the file vanished underneath),
 *    `storage_full`, `storage_fenced`, `storage_blocked`, `storage_newer_format`, `storage_missing`, `storage_exists`,
 *    `storage_corrupt`, `storage_failed`, `write_outcome_unknown` (a later owner took over the file in the middle of the commit).
 */
export interface PageStore {
  readonly supports: PageStoreSupport;
  /** Names of the files that exist, sorted. */
  list(): Promise<string[]>;
  /**
   * Opens a file for writing and takes ownership of it. `mode: 'create'` fails with `storage_exists` if it exists,
   * `'open'` with `storage_missing` if it does not.
   */
  open(file: string, mode: 'create' | 'open'): Promise<PageFile>;
  /**
   * Opens a file for reading only, beside its owner, which may be in another process. Takes no ownership and changes nothing; fails with
   * `storage_missing` if the file does not exist. Only if several processes can have the storage open.
   */
  follow?(file: string): Promise<FollowedFile>;
  /** Removes a file and all that is in it. Does nothing if it does not exist. An open PageFile of it then fails with `storage_deleted`. */
  destroy(file: string): Promise<void>;
  /** How many files are open at the moment, if the store knows. */
  readonly openFiles?: number;
  /** What an operator should watch. Their names begin with `storage_`. Never fails. Only if the backend has something to say. */
  metrics?(): Promise<readonly Metric[]>;
  /** Closes every file that is still open, after the running commits. */
  close(): Promise<void>;
}

export interface PageStoreSupport {
  readonly backend: 'memory' | 'lmdb' | 'indexeddb' | 'postgres';
  /** Text bytes that a tree leaf aims for, so that a page costs the backend no more than its payload. */
  readonly leafBytes: number;
  /** Bytes that a page of document bodies aims for. */
  readonly bodyPageBytes: number;
  /** Bytes a single page may have at most. */
  readonly maxPageBytes: number;
  /** The function that computes checksums of the content: the host's own, if it has one. */
  readonly crc32: Crc32;
  /** Whether the file gives space back by itself when pages are dropped; otherwise `PageFile.compact` does. */
  readonly shrinks: boolean;
  /** Whether what was committed survives the end of the process. */
  readonly persistent: boolean;
}

/** The maximum size of pages in all backends: a mebibyte, and room for a checksum (`storage/paging/checksums.ts`). */
export const MAX_PAGE_BYTES = 2 ** 20 + 8;

/** A page number: epoch · `PAGES_PER_EPOCH` + n, so two owners never allocate the same. */
export type PageNumber = number;
export const PAGES_PER_EPOCH = 2 ** 29;

export type PageValue = string | Uint8Array;

export interface JournalRecord {
  readonly number: number;
  readonly text: string;
  /**
   * In a commit, if the text is long: the same text in pieces of whole characters. Code that processes it uses these, since an engine flattens
   * a whole text in one step when something looks at it.
   */
  readonly pieces?: readonly string[] | undefined;
}

/** What was found when the file was opened. The journal is in ascending order, without claims. */
export interface Opening {
  /** This owner's epoch: 1 for a file just created, raised by one at every open. */
  readonly epoch: number;
  readonly head: string | undefined;
  readonly journal: readonly JournalRecord[];
  /** The number that the owner's first journal record takes: one above its claim. */
  readonly nextJournal: number;
  /** Why acknowledged records may be missing at the end of the journal, in a sentence, if the backend knows a reason. */
  readonly loss?: string;
}

export interface Page {
  readonly number: PageNumber;
  readonly value: PageValue;
}

/** One atomic step. Everything in it happens, or nothing. */
export interface Commit {
  readonly durability: 'relaxed' | 'strict';
  /** Appended under this number, which must be the next one. */
  readonly journal?: JournalRecord;
  readonly writePages?: readonly Page[];
  /** Missing pages are ignored. */
  readonly dropPages?: readonly PageNumber[];
  readonly head?: string;
  /** Removes journal records with a number below this. If claims are records, they stay: a stale owner's next number must be taken. */
  readonly truncateJournal?: number;
  /** The part of the store's reserved space that this step may use if there is no other room (`space-reserve.ts`). Default: none. */
  readonly reserve?: 'deletions' | 'upkeep' | undefined;
}

/**
 * An open file. `commit` calls are made one after another by one writer; `read` may run at any time, also during a
 * commit.
 */
export interface PageFile {
  readonly name: string;
  readonly opening: Opening;
  /** Returns the page's value, or undefined if there is none. Its reader must not change a bytes page. */
  read(page: PageNumber, kind: 'text'): MaybePromise<string | undefined>;
  read(page: PageNumber, kind: 'bytes'): MaybePromise<Uint8Array | undefined>;
  /**
   * Returns a copy of a part of a bytes page, or undefined if there is no such page. Only if the backend can return it for
   * less cost than the whole page. In the same turn, unless there is `readAhead`.
   */
  readRange?(page: PageNumber, offset: number, length: number): MaybePromise<Uint8Array | undefined>;
  /** Says which pages will probably be read next: they may be read now, together. Only if a read costs the backend a round trip. */
  readAhead?(pages: readonly PageNumber[]): void;
  commit(commit: Commit): Promise<void>;
  /**
   * Does a relaxed commit of only a short record, in this turn. Returns false if that is not possible: then nothing has happened; use `commit`
   * instead. Only if the backend can append without waiting.
   */
  append?(record: JournalRecord): MaybePromise<boolean>;
  /** Yields the numbers of all pages at or above `from`, ascending, in batches. */
  pageNumbers(from: PageNumber): AsyncIterable<readonly PageNumber[]>;
  /**
   * Resolves when no follower holds a state that is older than the last commit before this call: then pages that no newer state refers to may
   * be dropped. A follower that was silent for longer than its lease counts as gone. Undefined if there is none to wait for. Only if the
   * backend doesn't itself keep dropped pages for those that hold them.
   */
  whenFollowersPass?(): Promise<void> | undefined;
  /** Whether the medium was full, and reserved space was given up that has not been taken back since. Default: false. */
  readonly isScarce?: boolean;
  /** Returns false once another owner has opened the file. */
  isCurrent(): Promise<boolean>;
  /** Returns the bytes that the file takes on its medium: measured if the medium allows it, otherwise the sum of its content. */
  size(): Promise<number>;
  /** Gives unused space back to the medium; reads continue meanwhile, commits wait. Only if `supports.shrinks` is false. */
  compact?(): Promise<void>;
  /** Copies a consistent state of the file into a new folder. Only if the backend has files. */
  backup?(targetFolder: string): Promise<void>;
  /** Waits for the running commit, makes what was committed durable, and releases the file. */
  close(): Promise<void>;
}

/** How far a follower has read. */
export interface FollowedPoint {
  readonly epoch: number;
  readonly head: string | undefined;
  /** The number of the last journal record that it has; 0 if it has none. */
  readonly record: number;
}

/** One state of a file that a follower holds. */
export interface FollowedState {
  readonly point: FollowedPoint;
  /**
   * Whether `records` come next after those that the follower has. Otherwise (the first time, after another head, after another owner) it starts
   * again from the head, and `records` is the whole journal.
   */
  readonly continues: boolean;
  /** Ascending, without claims. */
  readonly records: readonly JournalRecord[];
  /**
   * Ends the hold: until then, the pages to which this head and these records lead can be read, even if the owner drops them. A follower that can't
   * reach the storage for longer than its lease loses its holds: a page may then be missing.
   */
  release(): void;
}

/**
 * A file that another one owns. Pages are immutable and their numbers are never used twice, so a page that can be read is the right one. All
 * methods fail with `storage_deleted` once the follower has noticed that the file was removed.
 */
export interface FollowedFile {
  readonly name: string;
  /**
   * Returns the file's present state, with every commit whose promise had resolved before this call; undefined if it is still that of `since`,
   * unless `renews` asks for a new hold of it. In the same turn if the backend can.
   */
  poll(since?: FollowedPoint, renews?: boolean): MaybePromise<FollowedState | undefined>;
  /** Like those of `PageFile`. */
  read(page: PageNumber, kind: 'text'): MaybePromise<string | undefined>;
  read(page: PageNumber, kind: 'bytes'): MaybePromise<Uint8Array | undefined>;
  readRange?(page: PageNumber, offset: number, length: number): MaybePromise<Uint8Array | undefined>;
  readAhead?(pages: readonly PageNumber[]): void;
  size(): Promise<number>;
  /** Ends all holds. */
  close(): Promise<void>;
}
