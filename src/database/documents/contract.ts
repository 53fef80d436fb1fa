/** The types that the layers above share with the pure document code. */
import type { DatabaseError } from '../../base/errors/database-error.ts';

declare const docIdTag: unique symbol;
/** A document id that was checked (`parseDocId`). */
export type DocId = string & { readonly [docIdTag]: true };

declare const revIdTag: unique symbol;
/** A revision in its text form `<generation>-<hash>`, checked (`parseRevId`). */
export type RevId = string & { readonly [revIdTag]: true };

export interface Revision {
  /** 1 for the first revision of a branch. */
  readonly generation: number;
  /** 32 hexadecimal digits for our own revisions; replicated ones may have any non-empty text. */
  readonly hash: string;
}

/** A revision and its known ancestors, in the form of `_revisions`: hashes newest first. */
export interface RevisionPath {
  /** Generation of `ids[0]`. */
  readonly start: number;
  readonly ids: readonly string[];
}

/**
 * One revision in a document's tree. Nodes are immutable and point to their parents; a tree is its set of leaves.
 * `B` is what is known of the revision's body: absent if the body is not kept (compacted away, or never seen).
 */
export interface RevisionNode<B> extends Revision {
  readonly deleted: boolean;
  readonly body: B | undefined;
  readonly parent: RevisionNode<B> | undefined;
}

/** A `_rev` that is not a revision. */
export interface BadRev {
  /** The document's value; JSON text if it is not a string. */
  readonly text: string;
  readonly error: DatabaseError;
}

/** An incoming document, checked, with its body's text separated from the members that begin with `_`. */
export interface IncomingDocument {
  readonly id: DocId | undefined;
  readonly rev: RevId | undefined;
  /** Set if the document's `_rev` is not a revision; then `rev` is undefined. Only documents of a bulk request may have one: others are refused. */
  readonly badRev: BadRev | undefined;
  readonly deleted: boolean;
  readonly revisions: RevisionPath | undefined;
  /** The members of `_attachments`; empty if it is absent. */
  readonly attachments: readonly IncomingAttachment[];
  /** JSON object text with the client's member order and digits, without white space outside strings. */
  readonly body: string;
}

/** What `_revs_info` shows of one revision. */
export interface RevisionStatus {
  readonly rev: RevId;
  readonly status: 'available' | 'deleted' | 'missing';
}

/** The members that a read may add to a document. */
export interface DocumentMeta {
  readonly revisions?: RevisionPath | undefined;
  readonly revsInfo?: readonly RevisionStatus[] | undefined;
  readonly conflicts?: readonly RevId[] | undefined;
  readonly deletedConflicts?: readonly RevId[] | undefined;
  readonly localSeq?: number | undefined;
}

/** An attachment as a client names it in a document. */
export interface IncomingAttachment {
  readonly name: string;
  /** `application/octet-stream` if the client states none. */
  readonly contentType: string;
  /** Where the bytes are: in the document as Base64, in a later part of the request, or in the previous revision. */
  readonly source: { readonly data: string } | 'follows' | 'stub';
  readonly revpos: number | undefined;
  /** The client's digest of the bytes, as 32 hexadecimal digits; empty if it has another form. */
  readonly digest: string | undefined;
  /** Length of the plain bytes. */
  readonly length: number | undefined;
  readonly encoding: 'gzip' | undefined;
  readonly encodedLength: number | undefined;
}

/** An attachment of a stored revision. */
export interface StoredAttachment {
  readonly name: string;
  readonly contentType: string;
  /** The generation in which it was last written. */
  readonly revpos: number;
  /** MD5 of the stored bytes, as 32 lower-case hexadecimal digits. */
  readonly digest: string;
  /** Bytes, without their encoding. */
  readonly length: number;
}
