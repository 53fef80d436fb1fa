import type { KeyRange, TreeSpec } from '../contract.ts';
import type { Inner, Link, TreeNode } from '../nodes/inner.ts';
import { Leaf } from '../nodes/leaf.ts';
import type { NodeSource } from '../nodes/node-source.ts';

/** A place between keys: just before `key`, or just after it. */
export interface KeyEdge<K> {
  readonly key: K;
  readonly after: boolean;
}

/** Returns where a range begins; undefined if it is open. */
export function startEdge<K>({ start, startInclusive }: KeyRange<K>): KeyEdge<K> | undefined {
  return start === undefined ? undefined : { key: start, after: startInclusive === false };
}

/** Returns where a range ends; undefined if it is open. */
export function endEdge<K>({ end, endInclusive }: KeyRange<K>): KeyEdge<K> | undefined {
  return end === undefined ? undefined : { key: end, after: endInclusive !== false };
}

/** Nodes that are read ahead at first, and at most: twice as many each time. A reader that wants one more leaf causes little. */
const FIRST_AHEAD = 2;
const MAX_AHEAD = 32;

/** An inner node that the cursor is below. */
interface Frame<K, R> {
  readonly inner: Inner<K, R>;
  /** The slot that the cursor is below; just outside the node until the cursor moves to a slot. */
  index: number;
  /** The last slot that was read ahead, in the direction of the walk. */
  ahead?: number;
  /** The bound of the whole node in the direction of the walk. */
  readonly far: K | undefined;
}

/** Returns whether to skip a subtree without reading it. `far` is its bound as in `Span`. */
export type Pass<K, R> = (link: Link<K, R>, far: K | undefined) => boolean;

/** Walks from leaf to leaf in one direction, and skips whole subtrees if the caller says so. */
export class Cursor<K, R> {
  readonly #source: NodeSource<K, R>;
  readonly #descending: boolean;
  readonly #frames: Frame<K, R>[] = [];
  #far: K | undefined;
  #nodesAhead = FIRST_AHEAD;

  constructor(source: NodeSource<K, R>, descending: boolean) {
    this.#source = source;
    this.#descending = descending;
  }

  /** The bound of what the walk has covered so far, as in `Span`. */
  get far(): K | undefined {
    return this.#far;
  }

  /** Goes to the leaf in which the edge lies, or to the first one in the direction of the walk. */
  async seek(root: Link<K, R>, edge: KeyEdge<K> | undefined): Promise<Leaf> {
    let node = this.#source.peek(root) ?? (await this.#source.resolve(root));
    while (!(node instanceof Leaf)) {
      const index = edge === undefined ? this.#firstIndex(node) : node.slotOf(edge.key, this.#source.spec);
      const frame = { inner: node, index, far: this.#far };
      this.#frames.push(frame);
      this.#far = this.#farOf(frame);
      const link = node.slots.link(index);
      node = this.#source.peek(link) ?? (await this.#source.resolve(link));
    }
    return node;
  }

  /** Goes to the next leaf; returns undefined at the tree's edge. */
  async advance(pass?: Pass<K, R>): Promise<Leaf | undefined> {
    for (;;) {
      const link = this.#nextLink(pass);
      if (link === undefined) return undefined;
      if (pass === undefined && this.#source.readsAhead) this.#readAhead();
      const node: TreeNode<K, R> = this.#source.peek(link) ?? (await this.#source.resolve(link));
      if (node instanceof Leaf) return node;
      this.#frames.push({ inner: node, index: this.#descending ? node.length : -1, far: this.#far });
    }
  }

  #nextLink(pass: Pass<K, R> | undefined): Link<K, R> | undefined {
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
      frame.index += this.#descending ? -1 : 1;
      if (frame.index < 0 || frame.index >= frame.inner.length) {
        this.#frames.pop();
        continue;
      }
      const link = frame.inner.slots.link(frame.index);
      this.#far = this.#farOf(frame);
      if (pass === undefined || !pass(link, this.#far)) return link;
    }
    return undefined;
  }

  /** Reads ahead again once half of the slots that were read ahead are used. */
  #readAhead(): void {
    const frame = this.#frames.at(-1);
    if (frame === undefined) return;
    const { inner, index, ahead = index } = frame;
    const step = this.#descending ? -1 : 1;
    if ((ahead - index) * step >= this.#nodesAhead / 2) return;
    const edge = this.#descending ? 0 : inner.length - 1;
    const last = this.#descending ? Math.max(edge, index - this.#nodesAhead) : Math.min(edge, index + this.#nodesAhead);
    const links: Link<K, R>[] = [];
    for (let at = ahead; (last - at) * step >= 0; at += step) links.push(inner.slots.link(at));
    frame.ahead = last;
    this.#nodesAhead = Math.min(2 * this.#nodesAhead, MAX_AHEAD);
    this.#source.readAhead(links);
  }

  #firstIndex(inner: Inner<K, R>): number {
    return this.#descending ? inner.length - 1 : 0;
  }

  /** Returns the bound of the slot that the frame is at. */
  #farOf({ inner, index, far }: Frame<K, R>): K | undefined {
    const isOutermost = this.#descending ? index === 0 : index === inner.length - 1;
    return isOutermost ? far : inner.slots.key(this.#descending ? index : index + 1, this.#source.spec);
  }
}

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
