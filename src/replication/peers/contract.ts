/** What a run and its two ends exchange: changes, revisions, and documents as text. */
import type { RefusedDocument, Selection, Sequence } from '../contract.ts';

/** Something for each of the two ends of a replication. */
export interface Ends<T> {
  readonly source: T;
  readonly target: T;
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
