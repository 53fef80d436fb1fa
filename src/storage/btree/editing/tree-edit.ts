import { assert, must } from '../../../base/shared/assert.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { allReady } from '../../../base/shared/maybe-promise.ts';
import { type CooperativeTask, ready, runCooperatively } from '../../../base/shared/turn.ts';
import { putTogether } from '../../../base/shared/utf8.ts';
import type { ReplacedNode, TreeChange, TreeSizes, TreeSpec } from '../contract.ts';
import { corruptNode } from '../nodes/corrupt-node.ts';
import {
  Inner,
  type KeyShare,
  type Link,
  type Slot,
  type SlotShare,
  type Slots,
  shareOut,
  type TreeNode,
} from '../nodes/inner.ts';
import { Leaf } from '../nodes/leaf.ts';
import type { NodeSource } from '../nodes/node-source.ts';
import { reductionOf } from '../nodes/reduction.ts';
import { type EntrySums, type Separator, SlotList } from '../nodes/slots.ts';
import { type EditedLines, editLeaf } from './leaf-edit.ts';
import { NodeMaker } from './node-maker.ts';

/** A node that shrank below this share of its size is joined with a neighbour. */
const SPARSE = 1 / 4;
/** A leaf that was split shares its entries with a neighbour if both are filled to at most this share afterwards. */
const SHARED_FILL = 0.9;

interface TreeEditOptions<K, R> {
  readonly source: NodeSource<K, R>;
  readonly sizes: TreeSizes;
  /** Sorted, each key once. */
  readonly changes: readonly TreeChange<K>[];
  /** The keys of the changes. */
  readonly keys: readonly K[];
}

export interface EditedTree<K, R> {
  readonly root: Link<K, R> | undefined;
  readonly replaced: readonly ReplacedNode[];
}

/** A node on the way down, with the changes that belong below it. */
interface Visit<K, R> extends KeyShare {
  readonly link: Link<K, R>;
  /** Whether nothing lies to the right of the node. */
  readonly isLast: boolean;
}

/** What replaces a visited node; undefined if it stays. */
type Outcome<K, R> = readonly Slot<K, R>[] | undefined;

/**
 * One update of a tree, from the root down and back up. Makes new nodes and changes no existing ones; a failure leaves
 * nothing behind. All nodes of a level that are not in memory are read at the same time.
 */
export class TreeEdit<K, R> {
  readonly #spec: TreeSpec<K, R>;
  readonly #source: NodeSource<K, R>;
  readonly #sizes: TreeSizes;
  readonly #changes: readonly TreeChange<K>[];
  readonly #keys: readonly K[];
  readonly #maker: NodeMaker<K, R>;
  readonly #replaced: Link<K, R>[] = [];
  /** New nodes that are part of the result so far. */
  readonly #created = new Set<Link<K, R>>();
  /** New nodes that shrank below the minimum share of a node, or to a level that leads to only one node. */
  readonly #sparse = new Set<Link<K, R>>();

  constructor({ source, sizes, changes, keys }: TreeEditOptions<K, R>) {
    this.#spec = source.spec;
    this.#source = source;
    this.#sizes = sizes;
    this.#changes = changes;
    this.#keys = keys;
    this.#maker = new NodeMaker(source.spec, sizes);
  }

  /** Waits for nothing if all nodes that it needs are in memory. */
  *run(root: Link<K, R> | undefined): CooperativeTask<EditedTree<K, R>> {
    const pieces = root === undefined ? this.#plant() : yield* this.#editRoot(root);
    const top = pieces === undefined ? root : yield* this.#lower(this.#grow(pieces));
    for (const link of this.#replaced) this.#source.forget(link);
    // Flattens each long text in its own turn, before other work looks at it.
    for (const { node } of this.#created) if (node instanceof Leaf && node.isLong) yield* putTogether(node.text);
    return { root: top, replaced: this.#replaced.map((link) => link.place) };
  }

  #plant(): Outcome<K, R> {
    const share = { from: 0, to: this.#changes.length };
    const edited = editLeaf(this.#spec, Leaf.fromChunks([]), this.#changes, share, this.#sizes.leafBytes);
    return edited && this.#adopt(this.#maker.leaves({ ...edited, count: edited.added }, { fill: true }));
  }

  *#editRoot(link: Link<K, R>): CooperativeTask<Outcome<K, R>> {
    const node = this.#source.peek(link) ?? (yield* ready(this.#source.resolve(link)));
    const visit = { link, from: 0, to: this.#changes.length, isLast: true };
    return node instanceof Leaf ? this.#editLeaf(visit, node) : yield* this.#editInner(visit, node);
  }

  /** Adds levels until there is one root. */
  #grow(pieces: readonly Slot<K, R>[]): Link<K, R> | undefined {
    let level = pieces;
    while (level.length > 1) {
      const slots = new SlotList<K, R, TreeNode<K, R>>();
      for (const slot of level) slots.push(slot);
      level = this.#adopt(this.#maker.inners(slots, { fill: true }));
    }
    return level[0]?.link;
  }

  /** Removes levels that lead to only one node. */
  *#lower(root: Link<K, R> | undefined): CooperativeTask<Link<K, R> | undefined> {
    let top = root;
    while (top !== undefined) {
      const node = this.#source.peek(top) ?? (yield* ready(this.#source.resolve(top)));
      if (node instanceof Leaf || node.length > 1) break;
      this.#discard(top);
      top = node.slots.link(0);
    }
    return top;
  }

  #editLeaf(visit: Visit<K, R>, leaf: Leaf): Outcome<K, R> {
    const edited = editLeaf(this.#spec, leaf, this.#changes, visit, this.#sizes.leafBytes);
    if (edited === undefined) return undefined;
    const { link } = visit;
    const { added, isExtended } = edited;
    this.#discard(link);
    const lines = { ...edited, count: link.count + added };
    const pieces = this.#adopt(this.#maker.leaves(lines, { fill: visit.isLast && isExtended }));
    const only = pieces.length === 1 ? pieces[0] : undefined;
    if (only !== undefined) this.#adjustReduction(link, only.link, edited);
    this.#noteSparse(pieces, leaf.size, this.#sizes.leafBytes);
    return pieces;
  }

  /** Works out the reduction of an edited leaf from the former one's, if the tree's owner can. */
  #adjustReduction(former: Link<K, R>, edited: Link<K, R>, { formerValues, newValues }: EditedLines<K>): void {
    const spec = this.#spec;
    if (spec.adjust !== undefined) edited.reduction = spec.adjust(reductionOf(spec, former), formerValues, newValues);
  }

  *#editInner(visit: Visit<K, R>, inner: Inner<K, R>): CooperativeTask<Outcome<K, R>> {
    const { link, isLast } = visit;
    const shares = shareOut(this.#spec, inner, this.#keys, visit);
    const outcomes = yield* this.#editBelow(inner, shares, isLast);
    if (outcomes.every((outcome) => outcome === undefined)) return undefined;
    this.#discard(link);
    const slots = replaceSlots(inner.slots, shares, outcomes);
    if (outcomes.some((outcome) => this.#isSparse(outcome))) yield* this.#joinSparse(slots, isLast);
    for (const outcome of outcomes) if (outcome?.length === 2) this.#shareSplit(slots, outcome, isLast);
    const sums = sumsAfter(link, inner, shares, outcomes);
    const pieces = this.#adopt(this.#maker.inners(slots, { fill: isLast }, sums));
    this.#noteSparse(pieces, inner.size, this.#sizes.innerBytes);
    return pieces;
  }

  *#editBelow(inner: Inner<K, R>, shares: readonly SlotShare[], isLast: boolean): CooperativeTask<Outcome<K, R>[]> {
    const links = shares.map((share) => inner.slots.link(share.index));
    const resolved = this.#source.resolveAll(links);
    const nodes = resolved instanceof Promise ? yield* ready(resolved) : resolved;
    const areLeaves = nodes[0] instanceof Leaf;
    if (nodes.some((node) => node instanceof Leaf !== areLeaves)) {
      throw corruptNode('it has a neighbour that is not on its level', `page ${links[0]?.page}`);
    }
    const outcomes: Outcome<K, R>[] = [];
    const pending: MaybePromise<Outcome<K, R>>[] = [];
    for (const [at, { index, from, to }] of shares.entries()) {
      const node = must(nodes[at]);
      const visit = { link: must(links[at]), from, to, isLast: isLast && index === inner.length - 1 };
      if (node instanceof Leaf) {
        if (at > 0) yield;
        outcomes.push(this.#editLeaf(visit, node));
      } else if (shares.length === 1) {
        outcomes.push(yield* this.#editInner(visit, node));
      } else {
        // These run in their own turns, and read at the same time.
        pending.push(this.#beginInner(visit, node));
      }
    }
    return pending.length > 0 ? yield* ready(allReady(pending)) : outcomes;
  }

  /** A failure is a rejection: otherwise no one would handle those that were started earlier. */
  #beginInner(visit: Visit<K, R>, node: Inner<K, R>): MaybePromise<Outcome<K, R>> {
    try {
      return runCooperatively(this.#editInner(visit, node));
    } catch (failure) {
      return Promise.reject(failure);
    }
  }

  #noteSparse(pieces: readonly Slot<K, R>[], formerSize: number, aimedSize: number): void {
    const [piece] = pieces;
    if (piece === undefined || pieces.length > 1) return;
    const node = must(piece.link.node);
    if (node.size < formerSize && (isLone(node) || node.size < aimedSize * SPARSE)) this.#sparse.add(piece.link);
  }

  #isSparse(outcome: Outcome<K, R>): boolean {
    const piece = outcome?.[0];
    return piece !== undefined && this.#sparse.has(piece.link);
  }

  /** Joins each slot that shrank too much with a neighbour, and the result again if it is still too small. */
  *#joinSparse(slots: Slots<K, R>, isLast: boolean): CooperativeTask<void> {
    let index = 0;
    while (index < slots.length) {
      if (slots.isWritten(index) || !this.#sparse.has(slots.link(index))) index += 1;
      else if (yield* this.#join(slots, index - 1, isLast)) index -= 1;
      else if (!(yield* this.#join(slots, index, isLast))) index += 1;
    }
  }

  /** Joins two neighbours if that helps: into one node, or into two of about the same size. */
  *#join(slots: Slots<K, R>, at: number, isLast: boolean): CooperativeTask<boolean> {
    if (at < 0 || at + 1 >= slots.length) return false;
    const [leftLink, rightLink] = [slots.link(at), slots.link(at + 1)];
    const left = this.#source.peek(leftLink) ?? (yield* ready(this.#source.resolve(leftLink)));
    const right = this.#source.peek(rightLink) ?? (yield* ready(this.#source.resolve(rightLink)));
    const isLastPair = isLast && at + 2 === slots.length;
    if (!this.#isJoinOfUse(left, right, isLastPair)) return false;
    for (const link of [leftLink, rightLink]) {
      this.#sparse.delete(link);
      this.#discard(link);
    }
    const pieces = this.#adopt(
      left instanceof Leaf && right instanceof Leaf
        ? this.#mergeLeaves([left, right])
        : yield* this.#mergeInners(left, right, slots.separator(at + 1), isLastPair),
    );
    slots.replace(at, 2, pieces);
    this.#noteSparse(pieces, Number.POSITIVE_INFINITY, aimedSize(left, this.#sizes));
    return true;
  }

  /**
   * Sharing evenly does not help at the tree's right edge, where a node is small because it has just been begun, nor with
   * a node that is too large as it is.
   */
  #isJoinOfUse(left: TreeNode<K, R>, right: TreeNode<K, R>, isLastPair: boolean): boolean {
    const limit = aimedSize(left, this.#sizes);
    if (left.size + right.size <= limit || isLone(left) || isLone(right)) return true;
    return !isLastPair && Math.max(left.size, right.size) <= limit;
  }

  /**
   * A leaf that was split and a neighbour with room become two leaves instead of three. If all entries of a tree grow,
   * leaves that only ever split would be half empty. Neighbours that are not in memory are left alone, and so is the
   * tree's right edge, where a leaf is small because it has just been begun.
   */
  #shareSplit(slots: Slots<K, R>, [first]: readonly Slot<K, R>[], isLast: boolean): void {
    const at = slots.indexOf(must(first).link);
    const [own, next] = [this.#leafAt(slots, at), this.#leafAt(slots, at + 1)];
    if (own === undefined || next === undefined || (isLast && at + 2 === slots.length)) return;
    const room = 2 * SHARED_FILL * this.#sizes.leafBytes - own.size - next.size;
    const left = this.#leafAt(slots, at - 1);
    const right = this.#leafAt(slots, at + 2);
    const isLeftSmaller = right === undefined || (left !== undefined && left.size <= right.size);
    const neighbour = isLeftSmaller ? left : right;
    if (neighbour === undefined || neighbour.size > room) return;
    const from = isLeftSmaller ? at - 1 : at;
    for (let index = from; index < from + 3; index += 1) {
      this.#sparse.delete(slots.link(index));
      this.#discard(slots.link(index));
    }
    const leaves = isLeftSmaller ? [neighbour, own, next] : [own, next, neighbour];
    slots.replace(from, 3, this.#adopt(this.#mergeLeaves(leaves)));
  }

  #leafAt(slots: Slots<K, R>, index: number): Leaf | undefined {
    if (index < 0 || index >= slots.length) return undefined;
    const node = this.#source.peek(slots.link(index));
    return node instanceof Leaf ? node : undefined;
  }

  #mergeLeaves(leaves: readonly Leaf[]): Slot<K, R>[] {
    const chunks = leaves.map((leaf) => leaf.lines(0, leaf.length));
    const count = leaves.reduce((sum, leaf) => sum + leaf.length, 0);
    const bytes = leaves.reduce((sum, leaf) => sum + leaf.entryBytes, 0);
    return this.#maker.leaves({ chunks, count, bytes }, { fill: false });
  }

  /** Merges inner nodes. Nodes at the seam may be sparse because they had no neighbour; now they have one. */
  *#mergeInners(
    left: TreeNode<K, R>,
    right: TreeNode<K, R>,
    separator: Separator<K>,
    isLastPair: boolean,
  ): CooperativeTask<Slot<K, R>[]> {
    assert(left instanceof Inner && right instanceof Inner, 'neighbours are nodes of one kind');
    const joined = left.slots.slice(0, left.length);
    joined.appendNeighbour(right.slots, separator);
    yield* this.#joinSparse(joined, isLastPair);
    return this.#maker.inners(joined, { fill: false });
  }

  #adopt(pieces: Slot<K, R>[]): Slot<K, R>[] {
    for (const { link } of pieces) this.#created.add(link);
    return pieces;
  }

  /** Removes a node from the result: a node of the old tree counts as replaced, a new one as never made. */
  #discard(link: Link<K, R>): void {
    if (!this.#created.delete(link)) this.#replaced.push(link);
  }
}

/** Returns whether it is a level that leads to only one node. */
function isLone(node: TreeNode<unknown, unknown>): boolean {
  return node instanceof Inner && node.length === 1;
}

function aimedSize(node: TreeNode<unknown, unknown>, sizes: TreeSizes): number {
  return node instanceof Leaf ? sizes.leafBytes : sizes.innerBytes;
}

/** Returns a node's slots, with those of `shares` replaced by their outcomes. */
function replaceSlots<K, R>(
  former: Slots<K, R>,
  shares: readonly SlotShare[],
  outcomes: readonly Outcome<K, R>[],
): Slots<K, R> {
  const slots = former.slice(0, former.length);
  // From the right, so that the indexes of the remaining ones stay the same.
  for (let at = shares.length - 1; at >= 0; at -= 1) {
    const pieces = outcomes[at];
    const { index } = must(shares[at]);
    const only = pieces?.length === 1 ? pieces[0] : undefined;
    if (only !== undefined) slots.setLink(index, only.link);
    else if (pieces !== undefined) slots.replace(index, 1, pieces);
  }
  return slots;
}

function sumsAfter<K, R>(
  link: Link<K, R>,
  inner: Inner<K, R>,
  shares: readonly SlotShare[],
  outcomes: readonly Outcome<K, R>[],
): EntrySums {
  let { count, bytes } = link;
  for (const [at, { index }] of shares.entries()) {
    const pieces = outcomes[at];
    if (pieces === undefined) continue;
    const former = inner.slots.link(index);
    count -= former.count;
    bytes -= former.bytes;
    for (const piece of pieces) {
      count += piece.link.count;
      bytes += piece.link.bytes;
    }
  }
  return { count, bytes };
}
