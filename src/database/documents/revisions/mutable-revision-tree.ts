/**
 * A document's revision tree during a series of changes. With the functions of revision-tree.ts, each change costs in proportion to the
 * number of leaves; that is the cheapest way for the few leaves that most documents have. A tree with many is kept as a map
 * (tree-index.ts), where a change costs no more than its own path.
 */
import { must } from '../../../base/shared/assert.ts';
import { atOnce, type CooperativeTask } from '../../../base/shared/turn.ts';
import type { RevId, Revision, RevisionNode, RevisionPath } from '../contract.ts';
import { cutPath, findNode, type Leaves, mergePath, pathOf, removeLeaves, stem } from './revision-tree.ts';
import { type TreeGrowth, TreeIndex } from './tree-index.ts';

/** A tree with this many leaves or more is kept as a map. */
const MANY_LEAVES = 32;
/** With this many leaves or more, making the map is long work. */
const VERY_MANY_LEAVES = 1_000;

export class MutableRevisionTree<B> {
  #leaves: Leaves<B>;
  /** Holds the tree instead of `#leaves` while it is set. */
  #index: TreeIndex<B> | undefined;

  constructor(leaves: Leaves<B>) {
    this.#leaves = leaves;
  }

  /** The leaves in winning order. Later merges do not change them. */
  get leaves(): Leaves<B> {
    if (this.#index !== undefined) atOnce(this.settle());
    return this.#leaves;
  }

  /** Makes `leaves` of what was merged: if they are many, lets other tasks run meanwhile. */
  *settle(): CooperativeTask<void> {
    if (this.#index === undefined) return;
    this.#leaves = yield* this.#index.sortedLeaves();
    this.#index = undefined;
  }

  get winner(): RevisionNode<B> | undefined {
    return this.#index === undefined ? this.#leaves[0] : this.#index.winner;
  }

  /** Returns the leaf of that revision. */
  leaf(revision: Revision): RevisionNode<B> | undefined {
    if (this.#index !== undefined) return this.#index.leaf(revision);
    const { generation, hash } = revision;
    return this.#leaves.find((node) => node.generation === generation && node.hash === hash);
  }

  /** Returns the node of that revision, leaf or not. */
  node(revision: Revision): RevisionNode<B> | undefined {
    return this.#index === undefined ? findNode(this.#leaves, revision) : this.#index.node(revision);
  }

  /**
   * Merges a revision that arrived with its ancestry, and forgets ancestors beyond `limit`. Undefined, and nothing is changed, if the
   * revision is known already and its path names no further ancestor that would be kept.
   */
  merge(path: RevisionPath, deleted: boolean, body: B, limit: number): TreeGrowth<B> | undefined {
    if (this.#index === undefined && this.#leaves.length >= MANY_LEAVES)
      this.#index = atOnce(TreeIndex.of(this.#leaves, limit));
    if (this.#index?.canMerge(path, limit) === true) return this.#index.merge(path, deleted, body, limit);
    return this.#mergePath(path, deleted, body, limit);
  }

  /** Removes leaves, each with its branch up to the next fork; returns those that existed. */
  *remove(
    revs: readonly RevId[],
  ): CooperativeTask<{ readonly removed: readonly RevId[]; readonly released: readonly B[] }> {
    yield* this.settle();
    const { leaves, removed, released } = yield* removeLeaves(this.#leaves, revs);
    this.#leaves = leaves;
    return { removed, released };
  }

  /** Whether making a map of the tree would take long. */
  get isLarge(): boolean {
    return this.#index === undefined && this.#leaves.length >= VERY_MANY_LEAVES;
  }

  /** Makes the map with which `merge` continues, and lets other tasks run meanwhile. */
  *prepare(limit: number): CooperativeTask<void> {
    if (this.isLarge) this.#index = yield* TreeIndex.of(this.#leaves, limit);
  }

  #mergePath(given: RevisionPath, deleted: boolean, body: B, limit: number): TreeGrowth<B> | undefined {
    const before = this.leaves;
    const path = cutPath(before, given, limit);
    const merged = mergePath(before, path, deleted, body);
    const isKnown = merged.outcome === 'known';
    if (isKnown && merged.leaves === before) return undefined;
    // A known path may be the lower part of longer ones, which become longer still.
    const leaves = isKnown || path.start > limit ? stem(merged.leaves, limit) : merged.leaves;
    if (isKnown && !hasGained(before, leaves)) return undefined;
    this.#leaves = leaves;
    return { path, isKnown, released: bodiesWithout(before, merged.leaves) };
  }
}

/** Compares by body: a leaf that gains further ancestors becomes another node, but keeps its body. */
function bodiesWithout<B>(before: Leaves<B>, after: Leaves<B>): readonly B[] {
  // One leaf was added to the existing ones; a change can do no more.
  if (after.length > before.length) return [];
  const kept = new Set(after.map((leaf) => leaf.body));
  const gone: B[] = [];
  for (const { body } of before) if (body !== undefined && !kept.has(body)) gone.push(body);
  return gone;
}

/**
 * Whether a tree that took in ancestors of a known revision has changed: a path became longer, or two became
 * one. Ancestors that stemming cut off again do not count; otherwise the same path would be a change each time it arrives.
 */
function hasGained<B>(before: Leaves<B>, after: Leaves<B>): boolean {
  if (after.length < before.length) return true;
  return after.some((leaf, index) => pathOf(leaf).ids.length > pathOf(must(before[index])).ids.length);
}
