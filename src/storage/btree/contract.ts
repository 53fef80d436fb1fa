import type { MaybePromise } from '../../base/shared/maybe-promise.ts';

/**
 * What a tree's owner must supply. The tree itself knows nothing of documents: values are opaque text, and keys are
 * compared, written and read by these functions.
 */
export interface TreeSpec<K, R> {
  /** A total order. */
  compare(left: K, right: K): number;
  /** Returns the key as text without tab and newline. */
  encodeKey(key: K): string;
  decodeKey(text: string): K;
  /** Returns a key above `left` and at most `right`, as short as possible. Without this function `right` itself is used. */
  separator?(left: K, right: K): K;
  /** Reduces the entries of (a part of) one leaf. Never called without entries. Must be pure. */
  reduce(entries: EntryList<K>): R;
  /** Reduces reductions, in key order. Never called without reductions. */
  rereduce(reductions: readonly R[]): R;
  /**
   * Returns a reduction after entries with the values `former` are replaced by ones with the values `added`. Only for
   * reductions that follow from these without the other entries: leaves are then edited without decoding all their lines.
   */
  adjust?(reduction: R, former: readonly string[], added: readonly string[]): R;
  /** Reductions are stored in inner nodes as JSON, unless these say otherwise. */
  encodeReduction?(reduction: R): string;
  decodeReduction?(text: string): R;
}

/** Entries of one leaf, decoded only when needed. */
export interface EntryList<K> {
  readonly length: number;
  key(index: number): K;
  value(index: number): string;
}

export interface TreeEntry<K> {
  readonly key: K;
  /** Text without newline. */
  readonly value: string;
}

/** `value: undefined` removes the key; removing a missing key does nothing. */
export interface TreeChange<K> {
  readonly key: K;
  readonly value: string | undefined;
}

/** In ascending order, even for a descending walk. An absent bound is open; bounds are inclusive by default. */
export interface KeyRange<K> {
  readonly start?: K | undefined;
  readonly end?: K | undefined;
  readonly startInclusive?: boolean | undefined;
  readonly endInclusive?: boolean | undefined;
}

export interface WalkOptions {
  readonly descending?: boolean | undefined;
  /** Number of entries of the range to skip first; costs O(log n), whatever its size. */
  readonly skip?: number | undefined;
}

/** Where a node is stored: in one page, or in several with consecutive numbers if its text is too long for one. */
export interface NodePages {
  /** The first page. */
  readonly page: number;
  readonly pages: number;
}

/** Where a stored tree begins; stored in the file's head. */
export interface TreeRoot {
  readonly page: number;
  /** The number of pages that the root is stored in; one if absent. */
  readonly pages?: number;
  readonly count: number;
  readonly bytes: number;
  /** The encoded reduction of the whole tree; absent in an empty tree. */
  readonly reduction?: string;
}

/** Returns a node's text from the file. Must fail if one of its pages is missing. */
export interface NodeReader {
  readNode(page: number, pages: number): MaybePromise<string>;
  /** Says which pages will probably be read next. Only if reading them together takes less time. */
  readAhead?(pages: readonly number[]): void;
}

/** Keeps nodes for reading, by their first page. May evict any of them at any time, and may hold other things under other pages. */
export interface NodeCache {
  get(page: number): unknown;
  /** Inner nodes are worth more than leaves. */
  set(page: number, node: unknown, bytes: number, rank: 'leaf' | 'inner'): void;
  delete(page: number): void;
}

export interface TreeSizes {
  /** The target length of a leaf's text. */
  readonly leafBytes: number;
  /** The target length of an inner node's text. */
  readonly innerBytes: number;
}

/** Result of an update: the new tree, and the old nodes that it does not share. */
export interface TreeUpdate<T> {
  readonly tree: T;
  /**
   * Nodes of the old tree that the new one replaced. A node in this list that has a page when a later checkpoint
   * ends is garbage then.
   */
  readonly replaced: readonly ReplacedNode[];
}

/** A node that left the tree; `page` is undefined if it was never stored. */
export interface ReplacedNode {
  readonly page: number | undefined;
  readonly pages: number;
}

/** Returns the numbers of all pages that a node is stored in; none if it is not stored. */
export function pageNumbers({ page, pages }: ReplacedNode): number[] {
  return page === undefined ? [] : Array.from({ length: pages }, (_unused, index) => page + index);
}

/** Allocates the pages that store a node with this text. */
export type AllocateNode = (text: string) => NodePages;

/** One node that a checkpoint has to store. `stored` is called after the commit that wrote it. */
export interface NodeWrite extends NodePages {
  readonly text: string;
  stored(): void;
}
