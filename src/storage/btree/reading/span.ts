import type { KeyRange, TreeSpec } from '../contract.ts';
import type { Leaf } from '../nodes/leaf.ts';
import { endEdge, type KeyEdge, startEdge } from './key-edge.ts';

/** The entries of a leaf, from `from` up to `to`. */
export interface EntryRange {
  readonly from: number;
  readonly to: number;
}

/**
 * A key range as a walk in one direction sees it. `far` is always the bound of what the walk has covered, in the
 * direction of the walk: all keys up to there are below it (ascending), or at or above it (descending); undefined at the
 * tree's edge.
 */
export class Span<K> {
  readonly descending: boolean;
  readonly #spec: TreeSpec<K, unknown>;
  readonly #start: KeyEdge<K> | undefined;
  readonly #end: KeyEdge<K> | undefined;

  constructor(spec: TreeSpec<K, unknown>, range: KeyRange<K>, descending: boolean) {
    this.#spec = spec;
    this.descending = descending;
    this.#start = startEdge(range);
    this.#end = endEdge(range);
  }

  /** Where the walk begins; undefined: at the tree's edge. */
  get near(): KeyEdge<K> | undefined {
    return this.descending ? this.#end : this.#start;
  }

  /** Returns which entries of the leaf that the walk begins in lie in the range. */
  firstEntries(leaf: Leaf): EntryRange {
    const from = this.#start === undefined ? 0 : leaf.countBefore(this.#spec, this.#start.key, this.#start.after);
    const to = this.#end === undefined ? leaf.length : leaf.countBefore(this.#spec, this.#end.key, this.#end.after);
    return { from, to: Math.max(from, to) };
  }

  /** Returns which entries of a later leaf lie in the range. */
  laterEntries(leaf: Leaf, far: K | undefined): EntryRange {
    if (this.covers(far)) return { from: 0, to: leaf.length };
    const { from, to } = this.firstEntries(leaf);
    return this.descending ? { from, to: leaf.length } : { from: 0, to };
  }

  /** Returns whether nothing beyond `far` lies in the range. */
  endsBefore(far: K | undefined): boolean {
    if (far === undefined) return false;
    if (this.descending) return this.#start !== undefined && this.#spec.compare(far, this.#start.key) <= 0;
    if (this.#end === undefined) return false;
    const order = this.#spec.compare(far, this.#end.key);
    return order > 0 || (order === 0 && !this.#end.after);
  }

  /** Returns whether the range does not end before `far`: what lies on this side of it is in the range, if the walk has begun. */
  covers(far: K | undefined): boolean {
    const edge = this.descending ? this.#start : this.#end;
    if (edge === undefined) return true;
    if (far === undefined) return false;
    const order = this.#spec.compare(far, edge.key);
    return this.descending ? order > 0 || (order === 0 && !edge.after) : order <= 0;
  }
}
