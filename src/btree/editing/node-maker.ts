import { assert } from '../../shared/assert.ts';
import type { TreeSizes, TreeSpec } from '../contract.ts';
import { Inner, type Link, type Slot, type Slots, type TreeNode } from '../nodes/inner.ts';
import { LEAF_HEADER, Leaf } from '../nodes/leaf.ts';
import { NodeLink } from '../nodes/link.ts';
import type { EntrySums, Separator } from '../nodes/slots.ts';
import { type CutOptions, cut } from './cut.ts';

/** Lines for leaves, in chunks of one or more whole lines, and what they sum up to. */
interface LineSums extends EntrySums {
  readonly chunks: readonly string[];
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
  leaves({ chunks, count, bytes }: LineSums, options: Pick<CutOptions, 'fill'>): Slot<K, R>[] {
    if (count === 0) return [];
    const whole = Leaf.fromChunks(chunks);
    const limit = this.#sizes.leafBytes - LEAF_HEADER.length;
    if (bytes <= limit || count === 1) {
      return [{ keyText: '', key: undefined, link: NodeLink.toNew<TreeNode<K, R>, R>(whole, count, bytes) }];
    }
    const sizes = Array.from({ length: count }, (_unused, index) => whole.lineSize(index));
    const ends = cut(sizes, { limit, least: 1, ...options });
    return ends.map((end, piece) => {
      const start = ends[piece - 1] ?? 0;
      const leaf = Leaf.fromChunks([whole.lines(start, end)]);
      return {
        ...this.#separatorBefore(whole, start),
        link: NodeLink.toNew<TreeNode<K, R>, R>(leaf, end - start, leaf.entryBytes),
      };
    });
  }

  #separatorBefore(leaf: Leaf, index: number): Separator<K> {
    if (index === 0) return { keyText: '', key: undefined };
    const spec = this.#spec;
    const [left, right] = [leaf.key(index - 1, spec), leaf.key(index, spec)];
    const key = spec.separator?.(left, right) ?? right;
    const isBetween = spec.compare(left, key) < 0 && spec.compare(key, right) <= 0;
    assert(isBetween, 'a separator lies between its neighbours');
    return { keyText: spec.encodeKey(key), key };
  }

  /** Inner nodes for these slots, with the slots' own separators. `sums` is what all of them sum up to, where known. */
  inners(slots: Slots<K, R>, options: Pick<CutOptions, 'fill'>, sums?: EntrySums): Slot<K, R>[] {
    const { length } = slots;
    if (length === 0) return [];
    const limit = this.#sizes.innerBytes;
    if (slots.textSize <= limit) return [{ ...slots.separator(0), link: linkTo(slots, sums) }];
    const sizes = Array.from({ length }, (_unused, index) => slots.lineSize(index));
    const ends = cut(sizes, { limit, least: 2, ...options });
    return ends.map((end, piece) => {
      const start = ends[piece - 1] ?? 0;
      const part = slots.slice(start, end);
      return { ...slots.separator(start), link: linkTo(part) };
    });
  }
}

function linkTo<K, R>(slots: Slots<K, R>, { count, bytes } = slots.sums()): Link<K, R> {
  return NodeLink.toNew<TreeNode<K, R>, R>(Inner.fromSlots(slots), count, bytes);
}
