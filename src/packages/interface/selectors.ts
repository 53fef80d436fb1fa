/** Selector queries and their indexes (docs/http/find.md). */
import type { Stored } from './documents.ts';

export type JsonTypeName = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

/** Conditions for one field (docs/http/find.md#operators). `V` is the type of its value. */
export interface Operators<V = unknown> {
  readonly $eq?: V;
  readonly $ne?: V;
  readonly $lt?: V | null;
  readonly $lte?: V | null;
  readonly $gt?: V | null;
  readonly $gte?: V | null;
  readonly $exists?: boolean;
  readonly $type?: JsonTypeName;
  readonly $in?: readonly (V | ElementOf<V>)[];
  readonly $nin?: readonly (V | ElementOf<V>)[];
  readonly $all?: readonly ElementOf<V>[];
  readonly $size?: number;
  readonly $elemMatch?: Condition<ElementOf<V>>;
  readonly $allMatch?: Condition<ElementOf<V>>;
  readonly $keyMapMatch?: Condition<string>;
  readonly $mod?: readonly [divisor: number, remainder: number];
  readonly $beginsWith?: string;
  readonly $regex?: string;
  readonly $not?: Condition<V>;
}

type ElementOf<V> = V extends readonly (infer Element)[] ? Element : unknown extends V ? unknown : never;

/** A value that the field must equal, operators, or conditions of fields inside it. */
export type Condition<V> = V | Operators<V> | (V extends object ? Selector<V> : never);

export interface Combinations<T> {
  readonly $and?: readonly Selector<T>[];
  readonly $or?: readonly Selector<T>[];
  readonly $nor?: readonly Selector<T>[];
  readonly $not?: Selector<T>;
}

/** Paths such as `author.name` may lead anywhere. */
type Paths = { readonly [path: `${string}.${string}`]: unknown };

/** Conditions that documents must meet (docs/http/find.md#selectors). */
export type Selector<T> = { readonly [Name in keyof T]?: Condition<T[Name]> } & Combinations<T> & Paths;

export type SortField = string | Readonly<Record<string, 'asc' | 'desc'>>;

/** The body of `_find` and `_explain` (docs/http/find.md#find). `Field` are the fields to return. */
export interface FindQuery<T = Record<string, unknown>, Field extends string = string> {
  readonly selector: Selector<Stored<T>>;
  /** Default: whole documents. */
  readonly fields?: readonly Field[];
  readonly sort?: readonly SortField[];
  /** Default: 25. */
  readonly limit?: number;
  readonly skip?: number;
  readonly bookmark?: string;
  readonly use_index?: string | readonly [ddoc: string, name: string];
  readonly allow_fallback?: boolean;
  readonly conflicts?: boolean;
  readonly update?: boolean;
  readonly execution_stats?: boolean;
}

export interface FindAnswer<Doc> {
  readonly docs: readonly Doc[];
  readonly bookmark: string;
  readonly warning?: string;
  readonly suggested_index?: IndexRequest;
  readonly execution_stats?: {
    readonly total_keys_examined: number;
    readonly total_docs_examined: number;
    readonly total_quorum_docs_examined: number;
    readonly results_returned: number;
    readonly execution_time_ms: number;
  };
}

/** An event of a live query (docs/http/find.md#live-selector-queries). */
export interface FindEvent<Doc> {
  readonly seq: number;
  readonly changed?: readonly Doc[];
  readonly removed?: readonly string[];
}

/** The body of a POST to `_index` (docs/http/find.md#indexes-of-selectors). */
export interface IndexRequest {
  readonly index: { readonly fields: readonly SortField[]; readonly partial_filter_selector?: Selector<unknown> };
  readonly name?: string;
  readonly ddoc?: string;
  readonly type?: 'json';
}

export interface IndexAnswer {
  readonly result: 'created' | 'exists';
  readonly id: string;
  readonly name: string;
}

export interface IndexList {
  readonly total_rows: number;
  readonly indexes: readonly IndexEntry[];
}

export interface IndexEntry {
  /** Null for the index of all documents. */
  readonly ddoc: string | null;
  readonly name: string;
  readonly type: 'json' | 'special';
  readonly partitioned?: boolean;
  readonly def: {
    readonly fields: readonly Readonly<Record<string, 'asc' | 'desc'>>[];
    readonly partial_filter_selector?: Selector<unknown>;
  };
}
