/** A database of a replication, here or elsewhere, as a run sees it. Everything fails with `ReplicationError`. */
import type { RefusedDocument, Selection, Sequence } from '../contract.ts';

export interface Peer {
  /** The database's name for people: without credentials. */
  readonly name: string;
  readonly isLocal: boolean;
  /** Undefined if there is no such database. */
  info(): Promise<PeerInfo | undefined>;
  /** Creates the database; an existing one is left unchanged. */
  create(): Promise<void>;
  /**
   * Makes all that was written durable, if the peer supports that. Returns `PeerInfo.instance`. Fails with `db_not_found` if the
   * database does not exist any more.
   */
  commit(): Promise<string | undefined>;
  /** Undefined if there is none, or none that is readable. */
  readCheckpoint(id: string): Promise<StoredCheckpoint | undefined>;
  /**
   * Replaces the document, also if someone else wrote it in the meantime, and returns its revision. `known`: the revision last
   * seen. Writes nothing and returns undefined if the stored revision is older: the database has lost something, or is another one.
   * Fails with `forbidden` or `unauthorized` if the peer accepts none.
   */
  writeCheckpoint(id: string, members: string, known: string | undefined): Promise<string | undefined>;
  /** Returns the source text of a filter function. Fails with `not_found` if there is none. */
  filterSource(design: string, name: string): Promise<string>;
  changes(request: ChangesRequest): Promise<ChangesListing>;
  /**
   * Passes changes after `since` to `take`, as soon as they arrive; reads no more until `take` has resolved. Resolves when the feed has
   * ended, or was cut off: it may be another database then.
   */
  follow(request: ChangesRequest, take: (page: ChangesPage) => Promise<void>): Promise<void>;
  /**
   * Returns the given revisions that the database lacks, and no others. Passes those that it can't judge, because
   * no document may have such an id or revision there, to `refuse`.
   */
  missing(
    revisions: ReadonlyMap<string, readonly string[]>,
    refuse: (refused: RefusedDocument) => void,
  ): Promise<readonly MissingRevisions[]>;
  /**
   * Reads documents with their ancestry. Passes each to `take` as it arrives, which may be a newer revision than the requested one;
   * unreadable ones are passed as refused. Each wanted revision is settled by one of the two. `attachments`: with the content of those that
   * the target lacks, if it is not long; it is checked against `WantedDocument.stubs`.
   */
  documents(
    wanted: readonly WantedDocument[],
    options: { readonly attachments: boolean },
    take: (found: FoundDocument) => Promise<void>,
  ): Promise<void>;
  /**
   * Reads a document followed by the content of attachments. Returns the result of `use`. Fails with `not_found` if the revision is
   * gone, or an attachment of it, and with `ContentMismatch` if the content does not match the stubs.
   */
  readRelated<T>(document: AttachedDocument, use: (body: RelatedBody) => Promise<T>): Promise<T>;
  /** Writes such a document; undefined if the peer accepted it. Fails as the body fails. It is not sent twice. */
  writeRelated(document: DocumentText, body: RelatedBody): Promise<RelatedRefusal | undefined>;
  /** Writes revisions unchanged. Returns those that were refused. */
  write(documents: readonly DocumentText[]): Promise<readonly RefusedDocument[]>;
}

export interface PeerInfo {
  readonly updateSeq: Sequence;
  /**
   * Identifies this database and its history: another one under the same name, or one that has lost something, has another. Undefined if the
   * peer doesn't say, or returns the same for all its databases, as some later versions do.
   */
  readonly instance: string | undefined;
}

export interface StoredCheckpoint {
  readonly rev: string | undefined;
  readonly value: Readonly<Record<string, unknown>>;
}

export interface ChangesRequest {
  readonly since: Sequence;
  /** For one page. */
  readonly limit: number;
  readonly selection: Selection | undefined;
}

export interface Change {
  readonly id: string;
  /** All leaves, the winner first. */
  readonly revs: readonly string[];
  /** Revisions that the row also names, and that no document can have. */
  readonly refused?: readonly RefusedDocument[] | undefined;
}

export interface ChangesPage {
  readonly changes: readonly Change[];
  /** All changes up to here were read. */
  readonly lastSeq: Sequence;
  /** The number of changes after it; undefined if the peer doesn't say. */
  readonly pending: number | undefined;
}

export interface ChangesListing extends ChangesPage {
  /** No changes follow. The number of its changes does not show this, since some may have been left out here. */
  readonly isLast: boolean;
}

export interface MissingRevisions {
  readonly id: string;
  readonly missing: readonly string[];
  /** Leaves of the database that may be ancestors of the missing revisions. */
  readonly possibleAncestors: readonly string[];
}

export interface WantedDocument {
  readonly id: string;
  readonly revs: readonly string[];
  /** Revisions that the target has. */
  readonly since: readonly string[];
  /** The attachments of the one wanted revision, if they are known. */
  readonly stubs?: readonly Stub[] | undefined;
}

export type FoundDocument =
  | {
      readonly type: 'document';
      readonly document: DocumentText;
      readonly wanted: WantedDocument;
      /** The wanted revisions that it is, or descends from. */
      readonly settles: readonly string[];
      /** Undefined if it has no attachments, or has them with their content. */
      readonly stubs: readonly Stub[] | undefined;
    }
  /** The replication does not select it. */
  | { readonly type: 'not chosen'; readonly settles: readonly string[]; readonly id: string }
  | { readonly type: 'refused'; readonly refused: RefusedDocument; readonly settles: readonly string[] };

export interface Stub {
  readonly name: string;
  /** The length of the uncompressed content. */
  readonly length: number;
  /** The digest of the content as the peer stores it; undefined if the peer does not say. */
  readonly digest: string | undefined;
  /** The peer stores it compressed, and the digest is for that form. */
  readonly isEncoded: boolean;
  /** What the entry says besides its length; undefined members are missing in it. */
  readonly entry: StubEntry;
  /** No revision at the target has this attachment. */
  readonly isMissing: boolean;
}

export interface StubEntry {
  readonly content_type: string | undefined;
  readonly revpos: number | undefined;
  readonly digest: string | undefined;
}

export interface AttachedDocument {
  readonly document: DocumentText;
  readonly stubs: readonly Stub[];
  /** Revisions that the target has. */
  readonly since: readonly string[];
}

/** A body of the type `multipart/related`, to be read once. */
export interface RelatedBody {
  readonly type: string;
  readonly chunks: AsyncIterable<Uint8Array>;
}

export interface RelatedRefusal {
  /** The peer accepts no documents in this form. */
  readonly isOfForm: boolean;
  /** It may accept the document in another form. */
  readonly mayBeOfForm: boolean;
  readonly refused: RefusedDocument;
}

/** A revision as text, with the data needed to process it. */
export interface DocumentText {
  readonly id: string;
  readonly rev: string;
  /** With `_revisions`. */
  readonly text: string;
}
