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

/** A path of a revision and its known ancestors, as `_revisions` has it: hashes newest first. */
export interface RevisionPath {
  /** Generation of `ids[0]`. */
  readonly start: number;
  readonly ids: readonly string[];
}

/**
 * One revision in a document's tree. Nodes are immutable and point to their parents; a tree is its set of leaves.
 * `B` is what is known of the revision's body: absent when it is not kept (compacted away, or never seen).
 */
export interface RevisionNode<B> extends Revision {
  readonly deleted: boolean;
  readonly body: B | undefined;
  readonly parent: RevisionNode<B> | undefined;
}

/** A `_rev` that is no revision. */
export interface BadRev {
  /** What the document has there; JSON text where it is no string. */
  readonly text: string;
  readonly error: DatabaseError;
}

/** A document as it came in, checked, with its body's text cut free of the members that begin with `_`. */
export interface IncomingDocument {
  readonly id: DocId | undefined;
  readonly rev: RevId | undefined;
  /** Where its `_rev` is no revision; then `rev` is undefined. Only documents of a bulk request come with one: others are refused. */
  readonly badRev: BadRev | undefined;
  readonly deleted: boolean;
  readonly revisions: RevisionPath | undefined;
  /** The members of `_attachments`; none where it is absent. */
  readonly attachments: readonly IncomingAttachment[];
  /** JSON object text in the client's member order and with its digits, without white space outside of strings. */
  readonly body: string;
}

/** What of `_revs_info` one revision shows. */
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
  /** `application/octet-stream` where the client says nothing. */
  readonly contentType: string;
  /** Where the bytes are: in the document as Base64, in a later part of the request, or in the revision before. */
  readonly source: { readonly data: string } | 'follows' | 'stub';
  readonly revpos: number | undefined;
  /** What the client says of the bytes, as 32 hexadecimal digits; empty where it says it in another form. */
  readonly digest: string | undefined;
  /** Of the plain bytes. */
  readonly length: number | undefined;
  readonly encoding: 'gzip' | undefined;
  readonly encodedLength: number | undefined;
}

/** An attachment of a stored revision. */
export interface StoredAttachment {
  readonly name: string;
  readonly contentType: string;
  /** The generation in which it was written last. */
  readonly revpos: number;
  /** MD5 of the stored bytes, as 32 lower-case hexadecimal digits. */
  readonly digest: string;
  /** Bytes, without their encoding. */
  readonly length: number;
}
