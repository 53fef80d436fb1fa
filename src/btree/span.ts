import type { KeyRange, TreeSpec } from './contract.ts';
import { endEdge, type KeyEdge, linesBefore, startEdge } from './key-edge.ts';

/** Lines of a leaf, from `from` up to `to`. */
export interface LineRange {
  readonly from: number;
  readonly to: number;
}

/**
 * A key range as a walk in one direction sees it. `far` is always the bound of what was walked over that lies in the
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

  /** Which lines of the leaf that the walk begins in lie in the range. */
  firstLines(lines: readonly string[]): LineRange {
    const from = this.#start === undefined ? 0 : linesBefore(this.#spec, lines, this.#start.key, this.#start.after);
    const to = this.#end === undefined ? lines.length : linesBefore(this.#spec, lines, this.#end.key, this.#end.after);
    return { from, to: Math.max(from, to) };
  }

  /** Which lines of a later leaf lie in the range. */
  laterLines(lines: readonly string[], far: K | undefined): LineRange {
    if (this.covers(far)) return { from: 0, to: lines.length };
    const { from, to } = this.firstLines(lines);
    return this.descending ? { from, to: lines.length } : { from: 0, to };
  }

  /** Whether nothing beyond `far` lies in the range. */
  endsBefore(far: K | undefined): boolean {
    if (far === undefined) return false;
    if (this.descending) return this.#start !== undefined && this.#spec.compare(far, this.#start.key) <= 0;
    if (this.#end === undefined) return false;
    const order = this.#spec.compare(far, this.#end.key);
    return order > 0 || (order === 0 && !this.#end.after);
  }

  /** Whether the range does not end before `far`: what lies this side of it is in the range, if the walk has begun. */
  covers(far: K | undefined): boolean {
    const edge = this.descending ? this.#start : this.#end;
    if (edge === undefined) return true;
    if (far === undefined) return false;
    const order = this.#spec.compare(far, edge.key);
    return this.descending ? order > 0 || (order === 0 && !edge.after) : order <= 0;
  }
}
