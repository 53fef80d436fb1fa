import { assert, must } from '../../../base/shared/assert.ts';
import type { TreeSizes, TreeSpec } from '../contract.ts';
import { Inner, type Link, type Slot, type Slots, type TreeNode } from '../nodes/inner.ts';
import { firstKey, LEAF_HEADER, Leaf, lastKey, lineCount } from '../nodes/leaf.ts';
import { NodeLink } from '../nodes/link.ts';
import type { EntrySums, Separator } from '../nodes/slots.ts';

export interface CutOptions {
  /** What the sizes of a piece may add up to; exceeded only if a piece would otherwise have fewer items than `least`. */
  readonly limit: number;
  /** Minimum number of items in each piece, if there are that many. */
  readonly least: number;
  /** Whether to fill all pieces except the last, rather than make them about the same size. */
  readonly fill: boolean;
}

/** Cuts a row of items into pieces. Returns the index after each piece's last item, ascending. */
export function cut(sizes: readonly number[], { limit, least, fill }: CutOptions): number[] {
  const ends: number[] = [];
  let rest = sizes.reduce((sum, size) => sum + size, 0);
  let aim = pieceAim(rest, limit);
  let start = 0;
  let length = 0;
  for (let index = 0; index < sizes.length; index += 1) {
    const size = must(sizes[index]);
    const isFull = length + size > limit || (!fill && length + size / 2 > aim);
    if (isFull && index - start >= least && sizes.length - index >= least) {
      ends.push(index);
      rest -= length;
      aim = pieceAim(rest, limit);
      start = index;
      length = 0;
    }
    length += size;
  }
  ends.push(sizes.length);
  return ends;
}

function pieceAim(rest: number, limit: number): number {
  return rest / Math.ceil(rest / limit);
}

/** Lines for leaves, in chunks of one or more whole lines, and their sums. */
interface LineSums<K> extends EntrySums {
  readonly chunks: readonly string[];
  /** As in `EditedLines`. */
  readonly longLines?: ReadonlyMap<number, K>;
}

/** Neighbouring chunks, from `from` up to `to`. */
interface ChunkRun {
  readonly from: number;
  readonly to: number;
}

/** Makes nodes of lines and of slots: as many as their sizes require, none for no input. */
export class NodeMaker<K, R> {
  readonly #spec: TreeSpec<K, R>;
  readonly #sizes: TreeSizes;

  constructor(spec: TreeSpec<K, R>, sizes: TreeSizes) {
    this.#spec = spec;
    this.#sizes = sizes;
  }

  /**
   * Makes leaves for these lines. The first one's separator is left empty: it goes where there is one already, or is the
   * first of its parent.
   */
  leaves(lines: LineSums<K>, options: Pick<CutOptions, 'fill'>): Slot<K, R>[] {
    const { chunks, count, bytes } = lines;
    if (count === 0) return [];
    const limit = this.#sizes.leafBytes - LEAF_HEADER.length;
    if (count > 1 && bytes > limit && chunks.length > 1 && chunks.some((chunk) => chunk.length > limit)) {
      return this.#leavesOfRuns(lines, runsOf(chunks, limit), options);
    }
    const [only] = chunks;
    const whole = count === 1 && only !== undefined ? Leaf.ofLine(only) : Leaf.fromChunks(chunks);
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

  /** A line too long to share a leaf is never joined with its neighbours, not even temporarily: that would copy all of it. */
  #leavesOfRuns(
    { chunks, longLines }: LineSums<K>,
    runs: readonly ChunkRun[],
    options: Pick<CutOptions, 'fill'>,
  ): Slot<K, R>[] {
    const keyAt = (index: number, isLast: boolean): K => {
      const chunk = must(chunks[index]);
      return longLines?.get(index) ?? this.#spec.decodeKey(isLast ? lastKey(chunk) : firstKey(chunk));
    };
    return runs.flatMap(({ from, to }) => {
      const some = chunks.slice(from, to);
      const count = longLines?.has(from) ? 1 : some.reduce((sum, chunk) => sum + lineCount(chunk), 0);
      const bytes = some.reduce((sum, chunk) => sum + chunk.length + 1, 0);
      const slots = this.leaves({ chunks: some, count, bytes }, options);
      const [first, ...others] = slots;
      if (from === 0 || first === undefined) return slots;
      return [{ ...first, ...this.#separator(keyAt(from - 1, true), keyAt(from, false)) }, ...others];
    });
  }

  #separatorBefore(leaf: Leaf, index: number): Separator<K> {
    if (index === 0) return { keyText: '', key: undefined };
    return this.#separator(leaf.key(index - 1, this.#spec), leaf.key(index, this.#spec));
  }

  #separator(left: K, right: K): Separator<K> {
    const spec = this.#spec;
    const key = spec.separator?.(left, right) ?? right;
    const isBetween = spec.compare(left, key) < 0 && spec.compare(key, right) <= 0;
    assert(isBetween, 'a separator lies between its neighbours');
    return { keyText: spec.encodeKey(key), key };
  }

  /** Makes inner nodes for these slots, with the slots' own separators. `sums`: the sums of all of them, if known. */
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

/** Returns each chunk that is longer than a leaf may be as its own run, and runs of the chunks between those. */
function runsOf(chunks: readonly string[], limit: number): ChunkRun[] {
  const runs: ChunkRun[] = [];
  let from = 0;
  for (const [index, { length }] of chunks.entries()) {
    if (length <= limit) continue;
    if (from < index) runs.push({ from, to: index });
    from = index + 1;
    runs.push({ from: index, to: from });
  }
  if (from < chunks.length) runs.push({ from, to: chunks.length });
  return runs;
}

function linkTo<K, R>(slots: Slots<K, R>, { count, bytes } = slots.sums()): Link<K, R> {
  return NodeLink.toNew<TreeNode<K, R>, R>(Inner.fromSlots(slots), count, bytes);
}
