/** A database of a replication, here or elsewhere, as a run sees it. Everything fails with `ReplicationError`. */
import type { RefusedDocument, Selection, Sequence } from '../contract.ts';

export interface Peer {
  /** The database as people are shown it: without credentials. */
  readonly name: string;
  readonly isLocal: boolean;
  /** Undefined where there is no such database. */
  info(): Promise<PeerInfo | undefined>;
  /** Makes the database; one that is there already is left as it is. */
  create(): Promise<void>;
  /**
   * Makes all that was written durable, where the peer lets itself be told. Gives `PeerInfo.instance`. Fails with `db_not_found` where the
   * database is not there any more.
   */
  commit(): Promise<string | undefined>;
  /** Undefined where there is none, or none that may be read. */
  readCheckpoint(id: string): Promise<StoredCheckpoint | undefined>;
  /**
   * Replaces the document, also where somebody else wrote it meanwhile, and gives its revision. `known`: the revision in which it was seen
   * last. Writes nothing and gives undefined where what is there is older than that: the database has lost something, or is another one.
   * Fails with `forbidden` or `unauthorized` where the peer takes none.
   */
  writeCheckpoint(id: string, members: string, known: string | undefined): Promise<string | undefined>;
  /** The source text of a filter function. Fails with `not_found` where there is none. */
  filterSource(design: string, name: string): Promise<string>;
  changes(request: ChangesRequest): Promise<ChangesListing>;
  /**
   * What comes after `since`, as soon as it comes, each given to `take`; no more is read before that has resolved. Resolves when the feed has
   * ended, or broken off: the database may be another one then.
   */
  follow(request: ChangesRequest, take: (page: ChangesPage) => Promise<void>): Promise<void>;
  /**
   * Which of the revisions the database lacks: of those that were asked about, whatever it answers. Gives those of which it can't say it, since
   * no document may have such an id or revision there, to `refuse`.
   */
  missing(
    revisions: ReadonlyMap<string, readonly string[]>,
    refuse: (refused: RefusedDocument) => void,
  ): Promise<readonly MissingRevisions[]>;
  /**
   * Reads documents with their ancestry. Gives each to `take` as it comes, which may be a newer revision than the one that was asked for; what
   * can't be read is given as refused. Each of the wanted revisions is settled by one of the two. `attachments`: with the content of those that
   * the target lacks, for what is not long; it is held against `WantedDocument.stubs`.
   */
  documents(
    wanted: readonly WantedDocument[],
    options: { readonly attachments: boolean },
    take: (found: FoundDocument) => Promise<void>,
  ): Promise<void>;
  /**
   * Reads a document with the content of attachments behind it. Gives what `use` makes of it. Fails with `not_found` where the revision is
   * gone, or an attachment of it, and with `ContentMismatch` where the content is not what the stubs say.
   */
  readRelated<T>(document: AttachedDocument, use: (body: RelatedBody) => Promise<T>): Promise<T>;
  /** Writes such a document; undefined where the peer took it. Fails with what the body fails with. It is not sent twice. */
  writeRelated(document: DocumentText, body: RelatedBody): Promise<RelatedRefusal | undefined>;
  /** Writes revisions as they are. Gives those that were refused. */
  write(documents: readonly DocumentText[]): Promise<readonly RefusedDocument[]>;
}

export interface PeerInfo {
  readonly updateSeq: Sequence;
  /**
   * Names this database and its history: another one under the same name, or one that has lost something, has another. Undefined where the
   * peer doesn't say, or says the same of all its databases, as some later versions do.
   */
  readonly instance: string | undefined;
}

export interface StoredCheckpoint {
  readonly rev: string | undefined;
  readonly value: Readonly<Record<string, unknown>>;
}

export interface ChangesRequest {
  readonly since: Sequence;
  /** Of one page. */
  readonly limit: number;
  readonly selection: Selection | undefined;
}

export interface Change {
  readonly id: string;
  /** All leaves, the winner first. */
  readonly revs: readonly string[];
  /** What the row names beside them, and what no document can have. */
  readonly refused?: readonly RefusedDocument[] | undefined;
}

export interface ChangesPage {
  readonly changes: readonly Change[];
  /** All up to here was looked at. */
  readonly lastSeq: Sequence;
  /** Changes behind it; undefined where the peer doesn't say. */
  readonly pending: number | undefined;
}

export interface ChangesListing extends ChangesPage {
  /** Nothing was behind it. Not to be told from the number of its changes, of which some may have been left out here. */
  readonly isLast: boolean;
}

export interface MissingRevisions {
  readonly id: string;
  readonly missing: readonly string[];
  /** Leaves of the database that may be ancestors of what is missing. */
  readonly possibleAncestors: readonly string[];
}

export interface WantedDocument {
  readonly id: string;
  readonly revs: readonly string[];
  /** Revisions that the target has. */
  readonly since: readonly string[];
  /** The attachments of the one revision that is wanted, where they are known. */
  readonly stubs?: readonly Stub[] | undefined;
}

export type FoundDocument =
  | {
      readonly type: 'document';
      readonly document: DocumentText;
      readonly wanted: WantedDocument;
      /** Those of the wanted revisions that it is, or descends from. */
      readonly settles: readonly string[];
      /** Undefined where it has no attachments, or has them with their content. */
      readonly stubs: readonly Stub[] | undefined;
    }
  /** It is not one of those that the replication chooses. */
  | { readonly type: 'not chosen'; readonly settles: readonly string[]; readonly id: string }
  | { readonly type: 'refused'; readonly refused: RefusedDocument; readonly settles: readonly string[] };

export interface Stub {
  readonly name: string;
  /** Of the content, as it is when it is not compressed. */
  readonly length: number;
  /** Of the content, as the peer has it stored; undefined where the peer does not say. */
  readonly digest: string | undefined;
  /** The peer has it stored in a compressed form, of which the digest is. */
  readonly isEncoded: boolean;
  /** What the entry says beside its length; members that are undefined are missing in it. */
  readonly entry: StubEntry;
  /** The target has none of its revisions that has this attachment. */
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
  /** The peer takes no documents in this form. */
  readonly isOfForm: boolean;
  /** It may be that it takes the document in another form. */
  readonly mayBeOfForm: boolean;
  readonly refused: RefusedDocument;
}

/** A revision as its text, with what has to be known of it. */
export interface DocumentText {
  readonly id: string;
  readonly rev: string;
  /** With `_revisions`. */
  readonly text: string;
}
