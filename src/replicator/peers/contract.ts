/** A database of a replication, here or elsewhere, as a run sees it. Everything fails with `ReplicationError`. */
import type { JsonObject } from '../../json/objects.ts';
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
  /** Which of the revisions the database has not. */
  missing(revisions: ReadonlyMap<string, readonly string[]>): Promise<readonly MissingRevisions[]>;
  /**
   * Reads documents with their ancestry. Gives each to `take` as it comes, which may be a newer revision than the one that was asked for; what
   * can't be read is given as refused. `attachments`: with the content of those that the target lacks, for what is not long.
   */
  documents(
    wanted: readonly WantedDocument[],
    options: { readonly attachments: boolean },
    take: (found: FoundDocument) => Promise<void>,
  ): Promise<void>;
  /**
   * Reads a document with the content of attachments behind it. Gives what `use` makes of it. Fails with `not_found` where the revision is
   * gone, or an attachment of it.
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
}

export type FoundDocument =
  | {
      readonly type: 'document';
      readonly document: DocumentText;
      readonly wanted: WantedDocument;
      /** Undefined where it has no attachments, or has them with their content. */
      readonly stubs: readonly Stub[] | undefined;
    }
  | { readonly type: 'refused'; readonly refused: RefusedDocument };

export interface Stub {
  readonly name: string;
  /** Of the content, as it is when it is not compressed. */
  readonly length: number;
  /** The entry as it came. */
  readonly entry: JsonObject;
  /** The target has none of its revisions that has this attachment. */
  readonly isMissing: boolean;
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
  readonly refused: RefusedDocument;
}

/** A revision as its text, with what has to be known of it. */
export interface DocumentText {
  readonly id: string;
  readonly rev: string;
  /** With `_revisions`. */
  readonly text: string;
}
