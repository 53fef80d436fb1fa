import { must } from '../../../base/shared/assert.ts';
import type { TreeSpec } from '../contract.ts';
import type { Leaf } from './leaf.ts';
import type { NodeLink } from './link.ts';
import { type NodeSlot, SlotList } from './slots.ts';

export type TreeNode<K, R> = Leaf | Inner<K, R>;
export type Link<K, R> = NodeLink<TreeNode<K, R>, R>;
export type Slot<K, R> = NodeSlot<K, R, TreeNode<K, R>>;
export type Slots<K, R> = SlotList<K, R, TreeNode<K, R>>;

/** First line of an inner node's text: node kind and format version. */
export const INNER_HEADER = 'i1';

/**
 * An inner node: slots in ascending order, each leading to a node of the level below. As text: after the header, lines
 * `separator TAB pages TAB count TAB bytes TAB reduction`, the first with an empty separator. Immutable; a stored one is
 * cut into slots on first use.
 */
export class Inner<K, R> {
  #text: string | undefined;
  #slots: Slots<K, R> | undefined;
  #size: number | undefined;
  /** Entries before each slot. */
  #countsBefore: number[] | undefined;

  private constructor(text: string | undefined, slots: Slots<K, R> | undefined) {
    this.#text = text;
    this.#slots = slots;
  }

  static fromText<K, R>(text: string): Inner<K, R> {
    return new Inner<K, R>(text, undefined);
  }

  static fromSlots<K, R>(slots: Slots<K, R>): Inner<K, R> {
    return new Inner(undefined, slots);
  }

  get slots(): Slots<K, R> {
    if (this.#slots === undefined) {
      const text = must(this.#text);
      this.#size = text.length;
      this.#slots = new SlotList(text.slice(INNER_HEADER.length + 1).split('\n'));
      this.#text = undefined;
    }
    return this.#slots;
  }

  get length(): number {
    return this.slots.length;
  }

  /** Length of its text; estimated if it is not stored. */
  get size(): number {
    this.#size ??= this.#text?.length ?? INNER_HEADER.length + this.slots.textSize;
    return this.#size;
  }

  /** Returns the slot below which `key` belongs: the last whose separator is not above it. `from`: a slot not after that. */
  slotOf(key: K, spec: TreeSpec<K, R>, from = 0): number {
    const { slots } = this;
    let low = from + 1;
    let high = slots.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (spec.compare(slots.key(middle, spec), key) <= 0) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Returns how many entries there are below the slots before this one. */
  countBefore(index: number): number {
    this.#countsBefore ??= sumCounts(this.slots);
    return must(this.#countsBefore[index]);
  }
}

function sumCounts(slots: Slots<unknown, unknown>): number[] {
  const sums: number[] = [];
  let sum = 0;
  for (let index = 0; index < slots.length; index += 1) {
    sums.push(sum);
    sum += slots.link(index).count;
  }
  return sums;
}

/** The keys of a sorted list that belong below one node: from index `from` up to `to`. */
export interface KeyShare {
  readonly from: number;
  readonly to: number;
}

/** The keys that belong below the slot `index` of an inner node. */
export interface SlotShare extends KeyShare {
  readonly index: number;
}

/** Divides a node's share of the sorted keys among its slots. */
export function shareOut<K, R>(
  spec: TreeSpec<K, R>,
  inner: Inner<K, R>,
  keys: readonly K[],
  { from, to }: KeyShare,
): SlotShare[] {
  const shares: SlotShare[] = [];
  let next = from;
  let index = 0;
  while (next < to) {
    const start = next;
    index = inner.slotOf(must(keys[start]), spec, index);
    next =
      index + 1 < inner.length ? keysBelow(spec, keys, inner.slots.key(index + 1, spec), { from: start + 1, to }) : to;
    shares.push({ index, from: start, to: next });
  }
  return shares;
}

/** Returns the index of the first key from `from` up to `to` that is not below `bound`; looks near `from` first. */
function keysBelow<K>(spec: TreeSpec<K, unknown>, keys: readonly K[], bound: K, { from, to }: KeyShare): number {
  let low = from;
  let high = from;
  for (let step = 1; high < to && spec.compare(must(keys[high]), bound) < 0; step *= 2) {
    low = high + 1;
    high += step;
  }
  high = Math.min(high, to);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (spec.compare(must(keys[middle]), bound) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
