import { assert, must } from '../shared/assert.ts';
import type { TreeSizes, TreeSpec } from './contract.ts';
import { type CutOptions, cut } from './cut.ts';
import { Inner } from './inner.ts';
import { decodeLineKey, LEAF_HEADER, Leaf } from './leaf.ts';
import { Link } from './link.ts';
import type { Slot, Slots } from './slots.ts';

/** What the entries below a node sum up to. */
export interface EntrySums {
  readonly count: number;
  readonly bytes: number;
}

/** Makes nodes of lines and of slots: as many as their sizes ask for, none for none. */
export class NodeMaker<K, R> {
  readonly #spec: TreeSpec<K, R>;
  readonly #sizes: TreeSizes;

  constructor(spec: TreeSpec<K, R>, sizes: TreeSizes) {
    this.#spec = spec;
    this.#sizes = sizes;
  }

  /**
   * Leaves for these lines. The first one's separator is left empty: it goes where there is one already, or is the
   * first of its parent.
   */
  leaves(lines: readonly string[], entryBytes: number, options: Pick<CutOptions, 'fill'>): Slot<K, R>[] {
    if (lines.length === 0) return [];
    const limit = this.#sizes.leafBytes - LEAF_HEADER.length;
    if (entryBytes <= limit) return [{ keyText: '', key: undefined, link: this.#leaf(lines, entryBytes) }];
    const ends = cut(
      lines.map((line) => line.length + 1),
      { limit, least: 1, ...options },
    );
    return ends.map((end, piece) => {
      const start = ends[piece - 1] ?? 0;
      const part = lines.slice(start, end);
      const bytes = part.reduce((sum, line) => sum + line.length + 1, 0);
      return { ...this.#separatorBefore(lines, start), link: this.#leaf(part, bytes) };
    });
  }

  #leaf(lines: readonly string[], entryBytes: number): Link<K, R> {
    return Link.toNew<K, R>(Leaf.fromLines(lines, entryBytes), lines.length, entryBytes);
  }

  #separatorBefore(lines: readonly string[], place: number): { keyText: string; key: K | undefined } {
    if (place === 0) return { keyText: '', key: undefined };
    const { compare, encodeKey } = this.#spec;
    const left = decodeLineKey(this.#spec, must(lines[place - 1]));
    const right = decodeLineKey(this.#spec, must(lines[place]));
    const key = this.#spec.separator?.(left, right) ?? right;
    assert(
      compare(left, key) < 0 && compare(key, right) <= 0,
      'a separator must be above its left and not above its right key',
    );
    return { keyText: encodeKey(key), key };
  }

  /** Inner nodes for these slots, with the slots' own separators. `sums` is what all of them sum up to, where known. */
  inners(slots: Slots<K, R>, options: Pick<CutOptions, 'fill'>, sums?: EntrySums): Slot<K, R>[] {
    const { length } = slots;
    if (length === 0) return [];
    const sizes = Array.from({ length }, (_unused, index) => slots.textSize(index));
    const ends = cut(sizes, { limit: this.#sizes.innerBytes, least: 2, ...options });
    if (ends.length === 1) return [{ ...slots.separator(0), link: linkTo(slots, sums ?? sumUp(slots)) }];
    return ends.map((end, piece) => {
      const start = ends[piece - 1] ?? 0;
      const part = slots.slice(start, end);
      return { ...slots.separator(start), link: linkTo(part, sumUp(part)) };
    });
  }
}

function linkTo<K, R>(slots: Slots<K, R>, { count, bytes }: EntrySums): Link<K, R> {
  return Link.toNew<K, R>(Inner.fromSlots(slots), count, bytes);
}

function sumUp(slots: Slots<unknown, unknown>): EntrySums {
  let count = 0;
  let bytes = 0;
  for (let index = 0; index < slots.length; index += 1) {
    const link = slots.link(index);
    count += link.count;
    bytes += link.bytes;
  }
  return { count, bytes };
}
