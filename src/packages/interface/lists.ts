/** Lists of documents and views: their parameters and their responses (docs/http/bulk.md#list-parameters). */
import type { Stored } from './documents.ts';

/** `Key` is the type of the keys: a string in lists of documents, any JSON in views. */
export interface ListOptions<Key = string> {
  readonly key?: Key;
  readonly keys?: readonly Key[];
  readonly startkey?: Key;
  readonly endkey?: Key;
  readonly startkey_docid?: string;
  readonly endkey_docid?: string;
  /** Default: true. */
  readonly inclusive_end?: boolean;
  /** Default: false. The order is reversed first, so that `startkey` is then the larger one. */
  readonly descending?: boolean;
  readonly limit?: number;
  readonly skip?: number;
  readonly include_docs?: boolean;
  readonly conflicts?: boolean;
  readonly update_seq?: boolean;
  readonly attachments?: boolean;
  readonly att_encoding_info?: boolean;
}

/** Parameters of lists, and of views only (docs/http/views.md#view-parameters). */
export interface ViewOptions<Key = unknown> extends ListOptions<Key> {
  readonly reduce?: boolean;
  readonly group?: boolean;
  readonly group_level?: number;
  readonly update?: boolean | 'lazy';
  readonly stale?: 'ok' | 'update_after';
}

/** `offset`: the rows before the first one, or, in a list of documents requested by keys, the skipped keys. `update_seq` is absent if not requested. */
export interface ListHead {
  readonly total_rows: number;
  readonly offset: number;
  readonly update_seq?: number;
}

/** `_all_docs` and similar lists. `Doc` is what `include_docs` adds. */
export interface AllDocs<Row> extends ListHead {
  readonly rows: readonly Row[];
}

export interface AllDocsRow {
  readonly id: string;
  readonly key: string;
  readonly value: { readonly rev: string; readonly deleted?: undefined };
  readonly error?: undefined;
}

/** The row of a deleted document that was requested by its key. */
export interface DeletedRow {
  readonly id: string;
  readonly key: string;
  readonly value: { readonly rev: string; readonly deleted: true };
  readonly doc?: null;
  readonly error?: undefined;
}

/** The row of a key under which there never was a document. */
export interface UnknownRow {
  readonly key: string;
  readonly error: 'not_found';
  readonly id?: undefined;
  readonly value?: undefined;
  readonly doc?: undefined;
}

export interface ViewRow<Key, Value> {
  /** The document whose map emitted the row. */
  readonly id: string;
  readonly key: Key;
  readonly value: Value;
}

export interface ViewAnswer<Row> extends ListHead {
  readonly rows: readonly Row[];
}

/** The response of a reduced view (docs/http/views.md#reduced-views). The key is null if nothing was grouped. */
export interface ReducedAnswer<Key, Value> {
  readonly rows: readonly { readonly key: Key; readonly value: Value }[];
  readonly update_seq?: number;
}

/** The value of `_stats` for numbers (docs/http/views.md#built-in-reduces). */
export interface StatsValue {
  readonly sum: number;
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly sumsqr: number;
}

/** A row of a list with these options: with `include_docs` it has the document. */
export type WithDoc<Row, T, Options, Absent = never> = Row &
  (Options extends { readonly include_docs: true } ? { readonly doc: Stored<T> | Absent } : unknown);

/** A row of `_all_docs` with these options: by keys, also rows of deleted or unknown documents. */
export type AllDocsRowFor<T, Options> =
  | WithDoc<AllDocsRow, T, Options>
  | (Options extends { readonly keys: readonly unknown[] } ? DeletedRow | UnknownRow : never);
