/**
 * Documents as JSON (docs/http/documents.md#document-members), and the feeds that report their changes. `T` is the app's own content of a
 * document.
 */

/** An attachment in a response (docs/http/attachments.md#attachments-in-documents). `data` replaces `length` and `stub`. */
export interface Attachment {
  readonly content_type: string;
  /** Generation of the revision in which it was last written. */
  readonly revpos: number;
  /** `md5-` and Base64, of the bytes as they are stored. */
  readonly digest: string;
  /** Bytes. */
  readonly length?: number;
  readonly stub?: true;
  /** Base64, if the read requested it. */
  readonly data?: string;
  readonly encoding?: string;
  /** Bytes. */
  readonly encoded_length?: number;
}

/** An attachment in a request: new content, Base64 in JSON, or the one that the previous revision has under this name. */
export type AttachmentDraft<Content = string> =
  | { readonly content_type?: string; readonly data: Content }
  | { readonly stub: true };

/** `start` is the newest generation; the hashes are the newest first. */
export interface Revisions {
  readonly start: number;
  readonly ids: readonly string[];
}

export interface RevisionStatus {
  readonly rev: string;
  readonly status: 'available' | 'missing' | 'deleted';
}

/** Members that the service adds to a document. Those that a read must request are otherwise absent (docs/http/documents.md#metadata-of-a-read). */
export interface DocumentMembers {
  readonly _id: string;
  readonly _rev: string;
  readonly _deleted?: true;
  readonly _attachments?: Readonly<Record<string, Attachment>>;
  readonly _revisions?: Revisions;
  readonly _revs_info?: readonly RevisionStatus[];
  readonly _conflicts?: readonly string[];
  readonly _deleted_conflicts?: readonly string[];
  readonly _local_seq?: number;
}

/** A document as it is read. */
export type Stored<T> = T & DocumentMembers;

/** A document as it is written, with that kind of new content in attachments. One that was read can be written again. */
export type Draft<T, Content = string> = T & {
  /** Created by the service if absent. */
  readonly _id?: string;
  /** The revision to replace; absent for a new document. */
  readonly _rev?: string;
  readonly _attachments?: Readonly<Record<string, Attachment | AttachmentDraft<Content>>>;
  /** With `new_edits=false`. */
  readonly _revisions?: Revisions;
};

/** A write that deletes (docs/http/documents.md#deleting-a-document). Other members, such as some of the document's, stay in the tombstone. */
export type Deletion<T extends object = Record<string, unknown>> = Partial<T> & {
  readonly _id: string;
  readonly _rev: string;
  readonly _deleted: true;
  readonly _attachments?: Readonly<Record<string, Attachment | AttachmentDraft>>;
  /** With `new_edits=false`. */
  readonly _revisions?: Revisions;
};

/** The response to a write. Without `rev` in batch mode. */
export interface Written {
  readonly ok: true;
  readonly id: string;
  readonly rev: string;
}

/** A document of a bulk write that was refused (docs/http/bulk.md#bulk-writes). */
export interface Refused {
  readonly ok?: undefined;
  readonly id: string;
  /** The `_rev` that the document named; empty if it named none. */
  readonly rev: string;
  readonly error: string;
  /** Functions of documents may return any JSON value. */
  readonly reason: unknown;
  readonly failures?: readonly RuleFailure[];
}

/** A place at which a document violates a declarative rule (docs/http/functions.md#declarative-validation). */
export interface RuleFailure {
  /** Names of members, and numbers of elements; it begins with `newDoc` or `oldDoc`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** The body of any response with a status from 400 up (docs/http/errors.md). */
export interface ErrorBody {
  readonly error: string;
  /** Human-readable text; functions of documents may return any JSON value. */
  readonly reason: unknown;
  /** If a declarative rule of a design document refuses: what is wrong with the document. */
  readonly failures?: readonly RuleFailure[];
}

/** An element of `open_revs` (docs/http/documents.md#open-revisions). */
export type OpenRevision<T> = { readonly ok: Stored<T> } | { readonly missing: string };

/** The response to `_bulk_get` (docs/http/bulk.md#bulk-reads). */
export interface BulkGetAnswer<T> {
  readonly results: readonly {
    readonly id: string;
    readonly docs: readonly ({ readonly ok: Stored<T> } | { readonly error: Refused & { readonly rev: string } })[];
  }[];
}

/** The response to `_revs_diff` (docs/http/bulk.md#missing-revisions), by the ids of documents. */
export type MissingRevisions = Readonly<
  Record<string, { readonly missing: readonly string[]; readonly possible_ancestors?: readonly string[] }>
>;

/** A design document (docs/http/views.md#design-documents). Functions are sources. */
export interface DesignDocument {
  readonly language?: string;
  readonly views?: Readonly<
    Record<
      string,
      { readonly map: string; readonly reduce?: string; readonly options?: Readonly<Record<string, unknown>> }
    >
  >;
  readonly options?: Readonly<Record<string, unknown>>;
  readonly validate_doc_update?: string;
  readonly filters?: Readonly<Record<string, string>>;
  readonly shows?: Readonly<Record<string, string>>;
  readonly lists?: Readonly<Record<string, string>>;
  readonly updates?: Readonly<Record<string, string>>;
  readonly rewrites?: readonly Readonly<Record<string, unknown>>[];
}

/** A row of a feed of changes (docs/http/changes.md). */
export interface Change<T = unknown> {
  /** The `since` of a feed that continues after this change. */
  readonly seq: number;
  readonly id: string;
  /** The winning revision; with `style=all_docs` all leaves, the winner first. */
  readonly changes: readonly { readonly rev: string }[];
  readonly deleted?: true;
  /** With `include_docs`; null if it can't be read. */
  readonly doc?: Stored<T> | null;
}

/** The response of the feeds `normal` and `longpoll`. */
export interface ChangesAnswer<T = unknown> {
  readonly results: readonly Change<T>[];
  readonly last_seq: number;
  readonly pending: number;
}

/** The last line of a feed `continuous`. */
export type ChangesEnd = Omit<ChangesAnswer, 'results'>;

/** A row of the feed of database events (docs/http/changes.md#database-events). */
export interface DatabaseEvent {
  readonly db_name: string;
  readonly ok: true;
  readonly type: 'created' | 'updated' | 'deleted';
}
