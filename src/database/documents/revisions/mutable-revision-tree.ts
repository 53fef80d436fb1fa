/**
 * A document's revision tree while one change after another is made in it. The functions of revision-tree.ts cost as much as the tree
 * has leaves, for each change; that is the least for the few leaves that most documents have. A tree with many is kept as a map
 * (tree-index.ts), where a change costs no more than its own path.
 */
import { must } from '../../../base/shared/assert.ts';
import { atOnce, type CooperativeTask } from '../../../base/shared/turn.ts';
import type { RevId, Revision, RevisionNode, RevisionPath } from '../contract.ts';
import { cutPath, findNode, type Leaves, mergePath, pathOf, removeLeaves, stem } from './revision-tree.ts';
import { type TreeGrowth, TreeIndex } from './tree-index.ts';

/** Leaves from which on a map is made of the tree. */
const MANY_LEAVES = 32;
/** Leaves from which on that is long work. */
const VERY_MANY_LEAVES = 1_000;

export class MutableRevisionTree<B> {
  #leaves: Leaves<B>;
  /** Holds the tree instead of `#leaves` while it is there. */
  #index: TreeIndex<B> | undefined;

  constructor(leaves: Leaves<B>) {
    this.#leaves = leaves;
  }

  /** In winning order. They are not changed by what is merged later. */
  get leaves(): Leaves<B> {
    if (this.#index !== undefined) atOnce(this.settle());
    return this.#leaves;
  }

  /** Makes `leaves` of what was merged: where they are many, others may have a turn meanwhile. */
  *settle(): CooperativeTask<void> {
    if (this.#index === undefined) return;
    this.#leaves = yield* this.#index.sortedLeaves();
    this.#index = undefined;
  }

  get winner(): RevisionNode<B> | undefined {
    return this.#index === undefined ? this.#leaves[0] : this.#index.winner;
  }

  /** The leaf of that revision. */
  leaf(revision: Revision): RevisionNode<B> | undefined {
    if (this.#index !== undefined) return this.#index.leaf(revision);
    const { generation, hash } = revision;
    return this.#leaves.find((node) => node.generation === generation && node.hash === hash);
  }

  /** The node of that revision, leaf or not. */
  node(revision: Revision): RevisionNode<B> | undefined {
    return this.#index === undefined ? findNode(this.#leaves, revision) : this.#index.node(revision);
  }

  /**
   * Merges a revision that came with its ancestry, and forgets ancestors beyond `limit`. Undefined, and nothing is changed, where the
   * revision is known already and its path names no further ancestor that would be kept.
   */
  merge(path: RevisionPath, deleted: boolean, body: B, limit: number): TreeGrowth<B> | undefined {
    if (this.#index === undefined && this.#leaves.length >= MANY_LEAVES)
      this.#index = atOnce(TreeIndex.of(this.#leaves, limit));
    if (this.#index?.canMerge(path, limit) === true) return this.#index.merge(path, deleted, body, limit);
    return this.#mergePath(path, deleted, body, limit);
  }

  /** Takes leaves out, each with its branch up to the next fork; gives those that were there. */
  *remove(
    revs: readonly RevId[],
  ): CooperativeTask<{ readonly removed: readonly RevId[]; readonly released: readonly B[] }> {
    yield* this.settle();
    const { leaves, removed, released } = yield* removeLeaves(this.#leaves, revs);
    this.#leaves = leaves;
    return { removed, released };
  }

  /** Whether making a map of it would take long. */
  get isLarge(): boolean {
    return this.#index === undefined && this.#leaves.length >= VERY_MANY_LEAVES;
  }

  /** Makes the map with which `merge` goes on: others may have a turn meanwhile. */
  *prepare(limit: number): CooperativeTask<void> {
    if (this.isLarge) this.#index = yield* TreeIndex.of(this.#leaves, limit);
  }

  #mergePath(given: RevisionPath, deleted: boolean, body: B, limit: number): TreeGrowth<B> | undefined {
    const before = this.leaves;
    const path = cutPath(before, given, limit);
    const merged = mergePath(before, path, deleted, body);
    const isKnown = merged.outcome === 'known';
    if (isKnown && merged.leaves === before) return undefined;
    // A known path may lie below longer ones, which it makes longer still.
    const leaves = isKnown || path.start > limit ? stem(merged.leaves, limit) : merged.leaves;
    if (isKnown && !hasGained(before, leaves)) return undefined;
    this.#leaves = leaves;
    return { path, isKnown, released: bodiesWithout(before, merged.leaves) };
  }
}

/** By body: a leaf that learns of further ancestors becomes another node, but keeps its body. */
function bodiesWithout<B>(before: Leaves<B>, after: Leaves<B>): readonly B[] {
  // One leaf came to those that were there, which is all that a change can add.
  if (after.length > before.length) return [];
  const kept = new Set(after.map((leaf) => leaf.body));
  const gone: B[] = [];
  for (const { body } of before) if (body !== undefined && !kept.has(body)) gone.push(body);
  return gone;
}

/**
 * Whether a tree that took in ancestors of a known revision is another one now: a path became longer, or two became
 * one. What stemming cut off again is no gain; the same path would be one each time it came.
 */
function hasGained<B>(before: Leaves<B>, after: Leaves<B>): boolean {
  if (after.length < before.length) return true;
  return after.some((leaf, index) => pathOf(leaf).ids.length > pathOf(must(before[index])).ids.length);
}
