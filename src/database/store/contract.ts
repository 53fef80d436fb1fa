import type { DatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { DocId, RevId, RevisionNode, RevisionPath, StoredAttachment } from '../documents/contract.ts';

/**
 * What the layers above see of one open database. One writer applies changes, in the order in which they were
 * submitted; all others read snapshots. All methods fail with `storage_closed` after `close`.
 */
export interface Database extends Pick<DatabaseOrigin, 'epoch'> {
  readonly name: string;
  readonly uuid: string;
  /** Microseconds since the epoch, as text. Changes only when data may have been lost. */
  readonly instanceStartTime: string;
  /** Highest sequence number of a visible change. */
  readonly updateSeq: number;
  info(): Promise<DatabaseInfo>;
  /** The file of the database, and its history: an index compares them to know whether it still belongs to this database. */
  origin(): Promise<DatabaseOrigin>;
  /**
   * Returns the winner of a live document if all of it is available in this turn, with its revision in the form of our own: what most reads
   * request. If it is undefined use a snapshot.
   */
  current(id: DocId): CurrentDocument | undefined;
  /** Returns a consistent view of everything up to the last commit. Must be released. */
  snapshot(): Snapshot;

  /**
   * Applies documents. Resolves when every outcome is decided and what was accepted is committed; one outcome per
   * write, in order. A failure of storage rejects, and so does a replicated write without a revision (`bad_request`): then nothing of the
   * batch is applied.
   */
  write(writes: readonly DocumentWrite[], options: WriteOptions): Promise<WriteOutcome[]>;
  /**
   * Accepts documents that are written later (`batch=ok`), within about a second or by the next flush, and validated as
   * that user's. If too much waits already it returns a promise, which resolves when they are accepted.
   */
  writeDelayed(writes: readonly DocumentWrite[], user?: DatabaseUser): MaybePromise<void>;

  readLocal(id: DocId): MaybePromise<LocalDocument | undefined>;
  /** Writes a local document. `rev` must be the current `0-n` (or absent if there is none), else `conflict`. `body: undefined` deletes. */
  writeLocal(id: DocId, rev: string | undefined, body: string | undefined, options: LocalWriteOptions): Promise<string>;

  /** The security object's JSON text, `{}` if none was set. */
  readonly security: string;
  setSecurity(json: string, right?: CommitRight): Promise<void>;
  /** When changes were made, oldest first: what checkpoints have noted (docs/http/changes.md#times). */
  readonly timeMarks: readonly TimeMark[];
  /** Returns the highest sequence number that is known to have been assigned by that time (seconds since the epoch); 0 if none is. */
  seqAt(seconds: number): number;
  /** Forgets `timeMarks`. Resolves when the file holds a mark of this moment in their place. */
  resetTimes(): Promise<void>;
  readonly revsLimit: number;
  setRevsLimit(limit: number, right?: CommitRight): Promise<void>;
  readonly purgeSeq: number;
  /** Removes leaf revisions for good. Skips unknown ones. Waits for a compaction; fails with `purge_during_compaction` if that takes long. */
  purge(revisions: ReadonlyMap<DocId, readonly RevId[]>, right?: CommitRight): Promise<PurgeOutcome>;

  /** The object of `_auto_purge` as JSON text, `{}` if none was set (docs/http/databases.md#automatic-purge). */
  readonly autoPurge: string;
  setAutoPurge(json: string, right?: CommitRight): Promise<void>;
  /** Like `purge`, of all leaves of those documents that are deleted and whose latest change is not after `untilSeq`; doesn't wait. */
  purgeTombstones(ids: readonly DocId[], untilSeq: number): Promise<PurgeOutcome>;
  /** A text that automatic purges keep with the database; undefined if they kept none. */
  purgeNotes(): MaybePromise<string | undefined>;
  setPurgeNotes(text: string): Promise<void>;
  /** Begins to store the bytes of an attachment. */
  upload(): Promise<AttachmentUpload>;

  /** Makes everything committed durable (and writes what `writeDelayed` holds). Returns `instanceStartTime`. */
  flush(): Promise<string>;
  /** Starts a compaction, or joins the running one. Resolves at its end. Never blocks reads or writes. */
  compact(): Promise<void>;
  readonly compactRunning: boolean;
  /** Checks everything and reports damage; reads and writes go on. */
  verify(onProgress?: (done: number, total: number) => void): Promise<VerifyReport>;
  /** Calls back after each commit that changed documents. Returns the function that ends it. */
  onChange(listener: (updateSeq: number) => void): () => void;
  close(): Promise<void>;
}

/** Counters of all databases together; the code that counts adds to `value`. */
export interface DatabaseCounters {
  /** Documents of which a body was read. */
  readonly databaseReads: { value: number };
  /** Assigned sequence numbers: one for each document that was written. */
  readonly databaseWrites: { value: number };
}

export interface CurrentDocument {
  /** Digits, a hyphen, hexadecimal digits: between quotes it is JSON, and an entity tag. */
  readonly rev: RevId;
  /** Minified JSON object text, which begins with the member `_attachments` if there are attachments. */
  readonly body: string;
}

export type Durability = 'relaxed' | 'strict';

export interface LocalWriteOptions {
  readonly durability: Durability;
  /** Whether it frees space, so that it may use what is reserved for that. Default: true for a deletion, else false. */
  readonly makesRoom?: boolean | undefined;
  readonly right?: CommitRight | undefined;
}

export interface DatabaseInfo {
  readonly name: string;
  readonly uuid: string;
  readonly docCount: number;
  readonly docDelCount: number;
  readonly updateSeq: number;
  readonly committedUpdateSeq: number;
  readonly purgeSeq: number;
  readonly compactRunning: boolean;
  readonly diskSize: number;
  readonly dataSize: number;
  /** Bytes of bodies and attachments: of leaf revisions, and of replaced ones. */
  readonly contentSize: number;
  readonly oldSize: number;
  /** Approximate bytes of `dataSize` that tombstones take. */
  readonly deletedSize: number;
  /** Microseconds since the epoch, as text. Changes only when data may have been lost. */
  readonly instanceStartTime: string;
  readonly diskFormatVersion: number;
}

/** All changes up to `seq` were made by that time, in seconds since the epoch, by this machine's clock. */
export interface TimeMark {
  readonly seconds: number;
  readonly seq: number;
}

export interface DatabaseOrigin {
  /** The database's file. Other files that belong to it are named `<file>.<suffix>`, and are removed with it. */
  readonly file: string;
  readonly uuid: string;
  /** The number of the present opening: raised by one each time the file is opened. */
  readonly epoch: number;
  /** Oldest first; only the latest stretches are remembered. */
  readonly lineage: readonly LineageEntry[];
  /** Whether `lineage` goes back to the file's beginning. */
  readonly isLineageComplete: boolean;
}

/** One stretch of a database's history between two losses (docs/internals.md#losses). */
export interface LineageEntry {
  /** The opening that began it. */
  readonly epoch: number;
  /** The first sequence number of this stretch. */
  readonly firstSeq: number;
  /** The end of the previous stretch, as far as it was recovered. */
  readonly formerEnd: number;
}

/**
 * The bytes that an attachment refers to. The same stored bytes may be one attachment's gzip and another's content (a text, and its `.gz` file):
 * both then have one digest, and the length tells which of the two is meant. So gzip that is as long as its decoded form is never stored.
 */
export type AttachmentBytes = Pick<StoredAttachment, 'digest' | 'length'>;

/** Bytes of an attachment in the file, as that attachment has them. */
export interface StoredBytes {
  /** MD5 of the stored bytes, as 32 lower-case hexadecimal digits. */
  readonly digest: string;
  readonly storedLength: number;
  /** Bytes without their encoding; equal to `storedLength` if there is none. */
  readonly length: number;
  readonly encoding: 'gzip' | undefined;
  /** MD5 of the bytes without their encoding, if known; undefined if there is no encoding. */
  readonly plainDigest: string | undefined;
  /** Another attachment has the same stored bytes as its gzip, and therefore the same digest. */
  readonly isGzipOfOther?: true;
  /** The number of bytes in each page except the last one. */
  readonly pageBytes: number;
  readonly pages: readonly PageRun[];
}

/** Pages with consecutive numbers. */
export interface PageRun {
  readonly first: number;
  readonly count: number;
}

/** Bytes that are being written to the file, of an attachment that no document has yet. A write must adopt them, or the caller discards them. */
export interface AttachmentUpload {
  /** Resolves when there is room for more. The caller may change the bytes afterwards. */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Stores the rest. `plain` describes the bytes that were encoded; their length must differ from that of the encoded ones
   * (`AttachmentBytes`). Later calls return the same as the first.
   */
  finish(plain?: { readonly length: number; readonly digest: string | undefined }): Promise<FinishedUpload>;
  /** Reads the finished bytes, before the upload is adopted or discarded. */
  read(): Promise<AttachmentReader>;
  /** Frees the space. Does nothing once a document has adopted the upload. */
  discard(): void;
}

export interface FinishedUpload {
  readonly stored: StoredBytes;
  /** The upload's pages; the writer identifies the upload by this very list. */
  readonly pages: readonly number[];
}

/** An attachment whose bytes can be read, and stay available until it is released. */
export interface AttachmentReader {
  readonly stored: StoredBytes;
  /** Yields the stored bytes from `from` up to `to` (exclusive), at most some hundred thousand at a time. */
  read(from: number, to: number): AsyncIterable<Uint8Array>;
  release(): void;
}

/** An attachment of a document that is written. */
export interface AttachmentWrite {
  readonly name: string;
  readonly contentType: string;
  /** The generation in which it was last written; undefined for that of the revision that is written. */
  readonly revpos: number | undefined;
  /** MD5 of the stored bytes, as 32 hexadecimal digits. */
  readonly digest: string;
  /** Bytes without their encoding. With the digest it identifies the bytes. */
  readonly length: number;
  /** The bytes if they are new; without it they must exist already, else the write is refused with `missing_stub`. */
  readonly upload?: FinishedUpload | undefined;
}

export interface DocumentWrite {
  readonly id: DocId;
  /** The revision that this one replaces (normal mode), or the revision itself (`newEdits: false`), which is then required. */
  readonly rev: RevId | undefined;
  /** Ancestry, for `newEdits: false`. */
  readonly revisions?: RevisionPath | undefined;
  readonly deleted: boolean;
  /** Minified JSON object text without members that begin with `_`. */
  readonly body: string;
  /** All attachments of the revision; none by default. */
  readonly attachments?: readonly AttachmentWrite[] | undefined;
}

export interface WriteOptions {
  /** True: check against the current revision and make a new one. False: merge the given revision in. */
  readonly newEdits: boolean;
  /** No conflict check: a stale revision makes a branch. */
  readonly allOrNothing?: boolean;
  readonly durability: Durability;
  /** The user who writes, for the validation of the write; a server admin by default. */
  readonly user?: DatabaseUser | undefined;
  readonly right?: CommitRight | undefined;
  /** The IP address from which the write came, if known: a client that sets many passwords is slowed down by it. */
  readonly address?: string | undefined;
}

/** A user's right to make a change. It may end while the change is under way, so it is checked immediately before the commit. */
export interface CommitRight {
  /** Whether nothing that it depends on has changed since the right was last found to hold. */
  readonly isSurelyKept: boolean;
  /** Fails if the right is lost: then nothing of the change is written. */
  assert(): Promise<void>;
}

export interface DatabaseUser {
  readonly name: string | null;
  readonly roles: readonly string[];
}

/** Validates writes before they are applied, with the validation functions of design documents. */
export interface WriteGuard {
  /** Returns the writes with what the database itself adds to them. Called before `validate`, if both are called. */
  prepare?(writes: readonly DocumentWrite[], options: WriteOptions): MaybePromise<readonly DocumentWrite[]>;
  /** Whether `validate` must be called; read at each write. If a design document is among the writes it is called in any case. */
  readonly isNeeded: boolean;
  /** Whether no other write may come between `validate` and the writes that it accepts; by default others may. */
  readonly isExclusive?: boolean;
  /** Returns why each write is refused, or undefined; an empty list if none is. With `allOrNothing` one refusal refuses all. */
  validate(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly (DatabaseError | undefined)[]>;
  /** Design documents were written or purged; called before the writer's promise resolves. */
  designsChanged(): void;
}

/** Creates the guard of a database that is being opened. */
export type CreateWriteGuard = (database: Database) => WriteGuard;

export type WriteOutcome =
  | { readonly ok: true; readonly id: DocId; readonly rev: RevId; readonly deleted: boolean }
  | { readonly ok: false; readonly id: DocId; readonly rev: RevId | undefined; readonly error: DatabaseError };

export interface LocalDocument {
  readonly id: DocId;
  /** `0-<n>`. */
  readonly rev: string;
  readonly body: string;
}

export interface PurgeOutcome {
  readonly purgeSeq: number;
  readonly purged: ReadonlyMap<DocId, readonly RevId[]>;
}

/** The location of a revision's body: a page and a range of bytes in it; beyond a page's size, in the pages that follow. */
export interface BodyLocation {
  readonly page: number;
  readonly offset: number;
  readonly length: number;
  /** CRC-32 of the body's bytes; bodies that were stored before checksums were introduced have none. */
  readonly checksum?: number | undefined;
  /** The digests of the revision's attachments, each once; absent if there are none. */
  readonly attachments?: readonly string[] | undefined;
}

export type StoredNode = RevisionNode<BodyLocation>;

/** All that is known of one document except its bodies. */
export interface DocumentRecord {
  readonly id: DocId;
  /** The sequence number of its latest change. */
  readonly seq: number;
  /** Leaves in winning order: the first is the winner. */
  readonly leaves: readonly StoredNode[];
}

export interface RowRange {
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly startInclusive?: boolean | undefined;
  readonly endInclusive?: boolean | undefined;
  readonly descending?: boolean | undefined;
  readonly skip?: number | undefined;
}

/** A row of the by-id order. */
export interface DocumentRow {
  readonly id: DocId;
  readonly rev: RevId;
  /** Reads the whole record; cheap if the row was just walked over. */
  record(): MaybePromise<DocumentRecord>;
}

/** A row of the by-sequence order. */
export interface ChangeRow {
  readonly seq: number;
  readonly id: DocId;
  readonly deleted: boolean;
  /** The leaves' revisions, the winner first. */
  readonly revs: readonly RevId[];
}

/**
 * A consistent view of a database at one moment. It stays readable while writes and compaction go on, until it is
 * released (or until its owner takes it back after its maximum age: then reads fail with `cancelled`).
 */
export interface Snapshot {
  readonly updateSeq: number;
  readonly purgeSeq: number;
  /** Live documents. */
  readonly docCount: number;
  readonly docDelCount: number;
  /** Returns the document, live or deleted; undefined if it never existed. */
  document(id: DocId): MaybePromise<DocumentRecord | undefined>;
  /** Like `document` for many ids at once, in the given order. */
  documents(ids: readonly DocId[]): Promise<(DocumentRecord | undefined)[]>;
  /**
   * Like `documents`, in batches that hold no more than some megabytes of stored records, or a single larger one: the ids of a request may
   * lead to any amount. A document that a batch names several times is read once for it. An `undefined` id yields no document.
   */
  documentBatches(ids: Iterable<DocId | undefined>): AsyncIterable<readonly (DocumentRecord | undefined)[]>;
  /** Returns the body's text, which begins with the member `_attachments` if there are attachments; undefined if it is not kept. */
  body(node: StoredNode): MaybePromise<string | undefined>;
  /** Returns what is known of an attachment's bytes; undefined if they do not exist. */
  attachment(attachment: AttachmentBytes): MaybePromise<StoredBytes | undefined>;
  /** Opens an attachment's bytes for reading. The reader outlives the snapshot. */
  openAttachment(attachment: AttachmentBytes): Promise<AttachmentReader | undefined>;
  /** Like `body`, in pieces of at most some 100,000 characters, which are read one by one. */
  bodyPieces(node: StoredNode): AsyncIterable<string>;
  /** Returns the bodies of many revisions in one pass, in the given order. */
  bodies(nodes: readonly StoredNode[]): Promise<(string | undefined)[]>;
  /** Yields live documents in id order, in batches; a batch is the result of one step of the tree. */
  rows(range: RowRange): AsyncIterable<readonly DocumentRow[]>;
  /** Returns how many live documents sort before the first row of the range (in its direction, `skip` included). */
  offset(range: RowRange): Promise<number>;
  /**
   * Yields changes after `since` (ascending) or from the newest down. In a snapshot that was taken back for its age, ascending
   * ones continue with the current state and miss nothing; descending ones show the snapshot's moment, or fail with
   * `cancelled` if some that were not listed yet have moved.
   */
  changes(options: { readonly since: number; readonly descending?: boolean }): AsyncIterable<readonly ChangeRow[]>;
  /** Returns the number of changes after `since`. */
  changeCount(since: number): MaybePromise<number>;
  /** Yields `_local` documents in id order. */
  locals(range: RowRange): AsyncIterable<readonly LocalDocument[]>;
  localCount(): Promise<number>;
  release(): void;
}

export interface VerifyReport {
  readonly documents: number;
  readonly pages: number;
  /** One sentence per finding; empty when all is well. */
  readonly damage: readonly string[];
  /** The leaf revisions whose bodies can't be read; `damage` also names them. */
  readonly lost: readonly { readonly id: DocId; readonly rev: RevId }[];
}
