import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { DocId, RevId } from '../../database/documents/contract.ts';
import type { Database } from '../../database/store/contract.ts';
import type { LongDocument, MappedRows } from '../sandbox/contract.ts';

export type { MappedRows };

/**
 * View indexes, for the layers above. `open` returns a lease of a group, which is the index of all views of one design
 * document. `read` brings the index up to date and returns a reader of one moment of it, from which rows and reductions are
 * read in batches, at any speed.
 */
export interface ViewIndexes {
  /**
   * Returns the group of a design document. Its index is opened, or created, if it is not open; it is not updated. Fails with
   * `compilation_error` or `bad_request` if the definition can't be used, with `not_implemented` if the language has no
   * mapper (for example without a sandbox).
   */
  open(database: Database, designDocument: DesignDocument): MaybePromise<ViewGroup>;
  /**
   * Returns a group with one view named `temporary`, which is in memory only until it is released (docs/http/views.md#temporary-views).
   * `definition` is the JSON text of `{map, reduce?, options?, language?, doc_ids?}`. Fails with `bad_request` if `doc_ids` is not a list of ids.
   */
  temporary(database: Database, definition: string): Promise<ViewGroup>;
  /** Removes the indexes of this database that belong to none of its design documents. */
  cleanup(database: Database): Promise<void>;
  /** Builds the index of a design document that has views, and whose index was not built before. */
  build(database: Database, id: DocId): Promise<void>;
  /** Closes the indexes of a database that was deleted. */
  forget(name: string): void;
  /** Stores what is in memory, and closes all indexes, or those of a database. */
  close(database?: string): Promise<void>;
}

/** A design document as it is stored: `body` is its JSON text without the members that begin with `_`. */
export interface DesignDocument {
  /** With `_design/` in front. */
  readonly id: DocId;
  readonly rev: RevId;
  readonly body: string;
}

/** When an index is updated: before it is read, not at all (`stale=ok`), or after it was read (`update_after`). */
export type UpdateMode = 'before' | 'never' | 'after';

/** A lease of one design document's index. It must be released, and can't be used afterwards. */
export interface ViewGroup {
  /** MD5 of everything that the rows depend on, in hexadecimal digits. Groups with the same signature share one index. */
  readonly signature: string;
  readonly language: string;
  /** By name. */
  readonly views: ReadonlyMap<string, ViewDefinition>;
  /** The design document's `options`, which may contain default query parameters; or an empty object. */
  readonly options: Readonly<Record<string, unknown>>;
  /**
   * Returns one moment of the index, by default after an update. Callers that need an update while one runs wait for the same one.
   * Fails as the update does: `compilation_error`, `os_process_error`, ….
   */
  read(mode?: UpdateMode): MaybePromise<ViewReader>;
  /**
   * Watches the rows of a range, or of each of `keys`, from the present state of the index on; `skip` and `limit` are ignored.
   * Fails with `not_found` "missing_named_view". The watch must be ended.
   */
  watch(view: string, options?: RowOptions): ViewWatch;
  /** For `_info` (docs/http/views.md#index-information). */
  info(): Promise<ViewGroupInfo>;
  /** Rewrites the index, so that its file becomes smaller. Joins a running compaction. Reads continue meanwhile. */
  compact(): Promise<void>;
  release(): void;
}

export interface ViewDefinition {
  readonly name: string;
  /** The value of the `map` member: a function's source, or an object in the language `query`. */
  readonly map: unknown;
  /** The name of a built-in reduce such as `_count`, or a function's source. */
  readonly reduce: string | undefined;
  /** The `options` of the view itself. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly collation: 'unicode' | 'raw';
}

export interface ViewGroupInfo {
  readonly signature: string;
  readonly language: string;
  readonly updateSeq: number;
  readonly purgeSeq: number;
  readonly updaterRunning: boolean;
  readonly compactRunning: boolean;
  readonly waitingClients: number;
  readonly waitingCommit: boolean;
  /** How many documents could not be mapped for at least one view. */
  readonly documentsLeftOut: number;
  /** Bytes. */
  readonly diskSize: number;
  readonly dataSize: number;
}

/** When the rows of a view last changed. */
export interface RowsChange {
  /** The sequence of the last change by documents; before the index is complete, a number that can't be a sequence. */
  readonly seq: number;
  /** The `purgeSeq` of the last purge that removed rows; before all of them are removed, a number that can't be one. */
  readonly purgeSeq: number;
}

/** The changes of watched rows. They are not pushed: the index follows the database when it is read. */
export interface ViewWatch {
  /**
   * Returns what has changed since the last call up to the reader's moment, each row once. Undefined if that is not
   * known, because it was too much or the index was rebuilt; the rows must then be read again.
   */
  take(reader: ViewReader): readonly RowChange[] | undefined;
  end(): void;
}

export interface RowChange {
  readonly kind: 'added' | 'changed' | 'removed';
  /** The row as it is now; a removed row, as it was. */
  readonly row: ViewRow;
}

/** One moment of an index. It must be released. */
export interface ViewReader {
  /** The version of the moment, among those of this index. Increases with each. */
  readonly version: number;
  /** The database's sequence that the index reflects. */
  readonly updateSeq: number;
  /** Returns what identifies the view's rows, together with the signature, for ETags. */
  lastChange(view: string): RowsChange;
  /** Returns how many rows the view has. Takes no time. Fails with `not_found` "missing_named_view". */
  totalRows(view: string): number;
  /** Returns the rows of a range, or those of each of `keys`. */
  rows(view: string, options?: RowOptions): Promise<ViewRows>;
  /**
   * Returns the reductions of groups of rows. Without grouping there is one group with the key `null`, or none if the range is empty. Fails
   * with `query_parse_error` if the view has no reduce; with `invalid_value` or `reduce_overflow_error` if the reduce fails.
   */
  reduce(view: string, options?: ReduceOptions): AsyncIterable<readonly ReducedRow[]>;
  release(): void;
}

/**
 * A range in the order in which it is read: it begins at `start`, which is the larger key if it is descending. Without a
 * bound it is open; `null` is a key.
 */
export interface ViewRange {
  readonly start?: unknown;
  /** Where the range begins among the rows with the key `start`; ignored without it. */
  readonly startDocId?: string | undefined;
  readonly end?: unknown;
  readonly endDocId?: string | undefined;
  /** Default true. */
  readonly inclusiveEnd?: boolean | undefined;
  readonly descending?: boolean | undefined;
}

export interface RowOptions extends ViewRange {
  /**
   * Reads the rows of each of these keys, in this order (`descending` reverses it), and ignores the bounds, except the
   * document ids.
   */
  readonly keys?: readonly unknown[] | undefined;
  readonly skip?: number | undefined;
  readonly limit?: number | undefined;
}

export interface ReduceOptions extends RowOptions {
  /**
   * 0 (default): all rows are one group; n: groups by the first n elements of keys; `exact`: groups by key. The rows of each of
   * `keys` are grouped separately.
   */
  readonly groupLevel?: number | 'exact' | undefined;
}

export interface ViewRows {
  readonly totalRows: number;
  /** How many rows of the view precede the first of these, in the order in which they are read. */
  readonly offset: number;
  /** Batches are never empty. A reader that stops early must call `return`, as `for await` does. */
  readonly rows: AsyncIterable<readonly ViewRow[]>;
}

/** A row, as unparsed texts. */
export interface ViewRow {
  /** The document that emitted it. */
  readonly id: DocId;
  /** JSON text of `id`. */
  readonly idText: string;
  /** JSON text of the key, as it was emitted. */
  readonly keyText: string;
  /** JSON text of the value. */
  readonly valueText: string;
}

export interface ReducedRow {
  /** JSON text. */
  readonly keyText: string;
  /** JSON text. */
  readonly valueText: string;
}

/**
 * Makes the rows of documents: in the sandbox for the language `javascript`, without it for others (`find/` has the mapper
 * of `query`). A mapper is opened for each update and released after it.
 */
export interface Mapper {
  /** The number of documents with which a call takes some milliseconds. Default 100. */
  readonly batchSize?: number;
  /** How many calls of `map` can usefully run at a time. Default 1. */
  readonly concurrency?: number;
  /**
   * Maps `documents`, JSON texts with `_id` and `_rev`. Returns one result per map, in the order of `MapperSource.maps`. A
   * document for which a map function fails has no rows there; an error that ends the whole update is thrown. The results may be only those
   * of the first documents, as many as `counts` has and at least one: pass the others again.
   */
  map(documents: readonly string[]): MaybePromise<readonly MappedRows[]>;
  /** Like `map`, for one document whose text comes in pieces. A mapper that has no such method takes its whole text. */
  mapLong?(document: LongDocument): Promise<readonly MappedRows[]>;
  release(): void;
}

export interface MapperSource {
  /** The database's file (`ProgramSource.scope`): design documents of one database may share an engine. */
  readonly scope: string;
  /** The design document's id, with `_design/`. */
  readonly id: string;
  /** Its JSON text without the members that begin with `_`. */
  readonly body: string;
  readonly signature: string;
  /** The distinct `map` members of its views. */
  readonly maps: readonly unknown[];
}

/** Opens mappers of one language. Fails with `compilation_error` if a map can't be used. */
export interface MapperFactory {
  open(source: MapperSource): MaybePromise<Mapper>;
}
