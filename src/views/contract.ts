import type { Database } from '../database/contract.ts';
import type { DocId, RevId } from '../documents/contract.ts';
import type { MappedRows } from '../query-server/contract.ts';
import type { MaybePromise } from '../shared/maybe-promise.ts';

export type { MappedRows };

/**
 * What the layers above see of view indexes. `open` gives a group (the index of all views of one design document) under
 * a lease; `read` brings it up to date and gives one moment of it; rows and reductions are read from that moment, in
 * batches, as slowly as their reader likes.
 */
export interface ViewIndexes {
  /**
   * The group of a design document, opened or begun where need be. Cheap where it is open already. Builds nothing yet.
   * `compilation_error`, `bad_request` where the definition can't be used; `not_implemented` where the language has no
   * mapper here (no sandbox was passed to the core).
   */
  open(database: Database, designDocument: DesignDocument): MaybePromise<ViewGroup>;
  /**
   * A group of one view named `temporary` that is not stored and goes with its release (completion.md 11).
   * `definition` is the JSON text of `{map, reduce?, options?, language?}`.
   */
  temporary(database: Database, definition: string): Promise<ViewGroup>;
  /** Removes the indexes of this database that none of its design documents has. Resolves when they are gone. */
  cleanup(database: Database): Promise<void>;
  /** Builds the index of a design document that has views and no index yet. */
  build(database: Database, id: DocId): Promise<void>;
  /** The database of that name was deleted: lets go of its indexes. */
  forget(name: string): void;
  /** Stores what is in memory, and releases every index file. */
  close(): Promise<void>;
}

/** A design document as it is stored: `body` is its JSON text without the members that begin with `_`. */
export interface DesignDocument {
  /** With `_design/` in front. */
  readonly id: DocId;
  readonly rev: RevId;
  readonly body: string;
}

/** When an index is brought up to date: before the answer, not at all (`stale=ok`), or after it (`update_after`). */
export type UpdateMode = 'before' | 'never' | 'after';

/** A lease of one design document's index. Must be released; nothing works afterwards. */
export interface ViewGroup {
  /** MD5 of what decides the index, in hexadecimal digits. Equal signatures share one index. */
  readonly signature: string;
  readonly language: string;
  /** By name. */
  readonly views: ReadonlyMap<string, ViewDefinition>;
  /** The design document's `options`, or an empty object: default query parameters are among them. */
  readonly options: Readonly<Record<string, unknown>>;
  /**
   * One moment of the index, after the update that `mode` asks for (default `before`). Those who ask during a build
   * wait for the same one. Fails with what the build fails with: `compilation_error`, `os_process_error`, ….
   */
  read(mode?: UpdateMode): MaybePromise<ViewReader>;
  /** For `_info` (interface.md 2.7). */
  info(): Promise<ViewGroupInfo>;
  /** Writes the index anew without its garbage. Resolves at the end; joins one that runs. Reads go on. */
  compact(): Promise<void>;
  release(): void;
}

export interface ViewDefinition {
  readonly name: string;
  /** JSON value of the `map` member: a function's source, for language `query` an object. */
  readonly map: unknown;
  /** A built-in name such as `_count`, or a function's source. */
  readonly reduce: string | undefined;
  /** The view's own `options`. */
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
  /** Bytes. */
  readonly diskSize: number;
  readonly dataSize: number;
}

/** One moment of an index. Must be released. */
export interface ViewReader {
  /** The database's sequence that the index reflects. */
  readonly updateSeq: number;
  readonly purgeSeq: number;
  /**
   * The sequence of the last change to the view's own rows; in an index that is not made yet a number that none has afterwards.
   * With signature and `purgeSeq`, what an ETag is made of.
   */
  lastChange(view: string): number;
  /** Rows in the view; costs nothing. `not_found` "missing_named_view". */
  totalRows(view: string): number;
  /** Rows of one range, or of `keys` one after another. */
  rows(view: string, options?: RowOptions): Promise<ViewRows>;
  /**
   * The reduction of a range in groups. Without grouping there is one with key `null`, or none where the range is
   * empty. `query_parse_error` where the view has no reduce; `invalid_value`, `reduce_overflow_error` as the reduce has it.
   */
  reduce(view: string, options?: ReduceOptions): AsyncIterable<readonly ReducedRow[]>;
  release(): void;
}

/**
 * A range in the order of the walk: `start` is where it begins, also descending (then the larger key). A bound that is
 * undefined is open; `null` is a key.
 */
export interface ViewRange {
  readonly start?: unknown;
  /** Narrows rows with the key `start`; ignored without it. */
  readonly startDocId?: string | undefined;
  readonly end?: unknown;
  readonly endDocId?: string | undefined;
  /** Default true. */
  readonly inclusiveEnd?: boolean | undefined;
  readonly descending?: boolean | undefined;
}

export interface RowOptions extends ViewRange {
  /** The rows of each of these keys, in their order (descending reverses it). Other bounds are ignored then. */
  readonly keys?: readonly unknown[] | undefined;
  readonly skip?: number | undefined;
  readonly limit?: number | undefined;
}

export interface ReduceOptions extends RowOptions {
  /** 0 (default): all is one group; n: array keys are cut to n elements; `exact`: each key is a group. */
  readonly groupLevel?: number | 'exact' | undefined;
}

export interface ViewRows {
  readonly totalRows: number;
  /** How many rows of the view come before the first of these, in the direction of the walk. */
  readonly offset: number;
  /** Batches are never empty. Ends by itself after `limit` rows; whoever stops early calls `return`, as `for await` does. */
  readonly rows: AsyncIterable<readonly ViewRow[]>;
}

/** A row, as texts: nothing is parsed. */
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
 * Makes rows of documents: in the sandbox for `language: "javascript"`, natively for others (`find/` for `query`). One
 * mapper serves one build or a part of one, and is released.
 */
export interface Mapper {
  /** How many documents a call should be given, so that it takes no more than some milliseconds. Default 100. */
  readonly batchSize?: number;
  /**
   * `documents` are JSON texts with `_id` and `_rev`. One result per map function, in the order of `MapperSource.maps`.
   * A document that a map function fails on emits nothing there; what ends the whole build is thrown.
   */
  map(documents: readonly string[]): MaybePromise<readonly MappedRows[]>;
  release(): void;
}

export interface MapperSource {
  /** The database's file: who may share an engine (`ProgramSource.scope`). */
  readonly scope: string;
  /** The design document's id, with `_design/`. */
  readonly id: string;
  /** Its JSON text without the members that begin with `_`. */
  readonly body: string;
  readonly signature: string;
  /** The distinct `map` members of its views. */
  readonly maps: readonly unknown[];
}

/** Opens mappers of one language. `compilation_error` where a map can't be used. */
export interface MapperFactory {
  open(source: MapperSource): MaybePromise<Mapper>;
}
