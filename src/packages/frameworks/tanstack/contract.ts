/**
 * What TanStack DB and a collection over a database say to each other. Types of our own, of that which is used: so a collection works with any version
 * of `@tanstack/db` that still has these, and the build of Settee installs none.
 */
import type { Attachment, DocumentMembers, Draft, Stored } from '../../interface/documents.ts';
import type { ViewOptions } from '../../interface/lists.ts';

/** A document in a collection. One that was inserted and not stored yet has no `_rev`. */
export type Row<T> = T &
  Partial<Omit<DocumentMembers, '_attachments'>> & {
    readonly _id: string;
    readonly _attachments?: Readonly<Record<string, Attachment | NewAttachment>>;
  };

/** Not stored yet: Base64, or a Blob, such as a file that a person chose. */
export type NewAttachment = Readonly<Partial<Record<Exclude<keyof Attachment, 'content_type' | 'data'>, undefined>>> & {
  readonly content_type?: string;
  readonly data: string | Blob;
};

export type MutationType = 'insert' | 'update' | 'delete';

export interface Mutation<T> {
  readonly type: MutationType;
  readonly key: unknown;
  /** `{}` for an insert. */
  readonly original: object;
  readonly modified: Row<T>;
}

export interface MutationParameters<T> {
  readonly transaction: { readonly mutations: readonly Mutation<T>[] };
  readonly collection: object;
}

export type SyncMessage<T> =
  | { readonly type: 'insert' | 'update'; readonly value: Row<T> }
  | { readonly type: 'delete'; readonly key: string };

export interface SyncParameters<T> {
  readonly collection: object;
  begin(): void;
  write(message: SyncMessage<T>): void;
  /** Returns true if the rows are visible now, or a promise of that. */
  commit(): unknown;
  markReady(): void;
  markError(error?: unknown): void;
}

/** An expression of a query: a field, a constant, or a function of others. */
export type Expression =
  | { readonly type: 'ref'; readonly path: readonly (string | number)[]; readonly sourceAlias?: string }
  | { readonly type: 'val'; readonly value: unknown }
  | { readonly type: 'func'; readonly name: string; readonly args: readonly Expression[] };

export interface OrderByClause {
  readonly expression: { readonly type: string };
  readonly compareOptions: {
    readonly direction: 'asc' | 'desc';
    readonly nulls: 'first' | 'last';
    readonly stringSort?: string;
    readonly locale?: string;
  };
}

/** The rows that a query needs. */
export interface SubsetOptions {
  readonly where?: { readonly type: string } | undefined;
  readonly orderBy?: readonly OrderByClause[] | undefined;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  readonly cursor?:
    | { readonly whereFrom: { readonly type: string }; readonly whereCurrent: { readonly type: string } }
    | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A write that was refused because the document has changed, or is there already. */
export interface ConflictingChange<T extends object> {
  readonly type: MutationType;
  readonly id: string;
  /** What the change was based on; undefined for an insert. */
  readonly original: Row<T> | undefined;
  /** What it makes of that. For a deletion: the deleted document. */
  readonly modified: Row<T>;
  /** What the database has now; undefined if the document is deleted. */
  readonly stored: Stored<T> | undefined;
}

/** What to write on top of the stored document; undefined: nothing, the change is rolled back. */
export type Resolution<T extends object> = Draft<T, string | Blob> | { readonly _deleted: true } | undefined;

/** Keys of the rows of a view (docs/http/views.md#view-parameters). */
export type ViewRange = Pick<ViewOptions, 'key' | 'startkey' | 'endkey' | 'inclusive_end'>;

/**
 * The members of a document that a view emits as its key: one, or the elements of an array. As in selectors, `a.b` is a member of a member
 * (docs/tanstack.md#a-view-on-demand).
 */
export type KeyFields = string | readonly string[];
