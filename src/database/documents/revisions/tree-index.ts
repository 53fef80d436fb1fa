/** A revision tree as a map from revision to node, for trees of many leaves (see mutable-revision-tree.ts). */
import { must } from '../../../base/shared/assert.ts';
import { sortInSteps } from '../../../base/shared/sort-in-steps.ts';
import { type CooperativeTask, eachInSteps } from '../../../base/shared/turn.ts';
import type { RevId, Revision, RevisionNode, RevisionPath } from '../contract.ts';
import { compareLeaves, extendsKnownHistory, type Leaves, stem } from './revision-tree.ts';
import { toRevId } from './revisions.ts';

/** What merging a path changed. */
export interface TreeGrowth<B> {
  /** The path without the ancestors that are not used (`cutPath`). */
  readonly path: RevisionPath;
  /** Whether the revision was there before, so that only ancestors were added. */
  readonly isKnown: boolean;
  /** Bodies of leaves that are no longer leaves. */
  readonly released: readonly B[];
}

/** A node whose parent may still be added. */
interface IndexedNode<B> extends RevisionNode<B> {
  parent: IndexedNode<B> | undefined;
}

/**
 * It has its own nodes, which `sortedLeaves` finally returns: nothing may be merged after that. `canMerge` says what it can merge in time
 * proportional to the path; the rest, where forgetting old ancestors has to examine all leaves, is left to
 * revision-tree.ts.
 */
export class TreeIndex<B> {
  readonly #nodes = new Map<RevId, IndexedNode<B>>();
  readonly #leaves = new Set<IndexedNode<B>>();
  readonly #limit: number;
  /** Whether stemming to `#limit` would leave the tree unchanged. */
  readonly #isStemmed: boolean;
  #highestGeneration = 0;
  /** Undefined until it has been found. */
  #winner: IndexedNode<B> | undefined;

  private constructor(limit: number, isStemmed: boolean) {
    this.#limit = limit;
    this.#isStemmed = isStemmed;
  }

  static *of<B>(leaves: Leaves<B>, limit: number): CooperativeTask<TreeIndex<B>> {
    const index = new TreeIndex<B>(limit, stem(leaves, limit) === leaves);
    yield* eachInSteps(leaves, (leaf) => index.#take(leaf));
    return index;
  }

  #take(leaf: RevisionNode<B>): void {
    const node = this.#copy(leaf);
    this.#leaves.add(node);
    this.#highestGeneration = Math.max(this.#highestGeneration, node.generation);
  }

  /** Returns the leaves in winning order. */
  sortedLeaves(): CooperativeTask<Leaves<B>> {
    return sortInSteps([...this.#leaves], compareLeaves);
  }

  get winner(): RevisionNode<B> | undefined {
    if (this.#winner === undefined) for (const leaf of this.#leaves) this.#noteWinner(leaf, this.#winner ?? leaf);
    return this.#winner;
  }

  leaf(revision: Revision): RevisionNode<B> | undefined {
    const node = this.#nodeOf(revision.generation, revision.hash);
    return node !== undefined && this.#leaves.has(node) ? node : undefined;
  }

  node(revision: Revision): RevisionNode<B> | undefined {
    return this.#nodeOf(revision.generation, revision.hash);
  }

  /** Whether this merge makes no branch forget an ancestor, beyond those that the path names itself. */
  canMerge(path: RevisionPath, limit: number): boolean {
    const { start, ids } = path;
    if (limit !== this.#limit) return false;
    const joint = this.#newestKnown(path);
    if (joint === undefined) return start <= limit || this.#isStemmed;
    if (Math.max(start, this.#highestGeneration) <= limit) return true;
    if (extendsKnownHistory(path, joint)) return false;
    if (start === joint.generation) return true;
    return this.#isStemmed && ids.length <= limit && !this.#leaves.has(joint);
  }

  /** Like `MutableRevisionTree.merge`, if `canMerge`. */
  merge(path: RevisionPath, deleted: boolean, body: B, limit: number): TreeGrowth<B> | undefined {
    const joint = this.#newestKnown(path);
    if (joint === undefined) {
      const cut = path.ids.length > limit ? { start: path.start, ids: path.ids.slice(0, limit) } : path;
      this.#grow(cut, undefined, deleted, body);
      return { path: cut, isKnown: false, released: [] };
    }
    const released: B[] = [];
    const isKnown = joint.generation === path.start;
    if (!isKnown) {
      this.#endLeaf(joint, released);
      this.#grow(path, joint, deleted, body);
    }
    const hasGained = this.#addAncestors(path, joint, released);
    return isKnown && !hasGained ? undefined : { path, isKnown, released };
  }

  #nodeOf(generation: number, hash: string): IndexedNode<B> | undefined {
    return this.#nodes.get(toRevId(generation, hash));
  }

  /** Returns the newest revision of the path that the tree has. */
  #newestKnown({ start, ids }: RevisionPath): IndexedNode<B> | undefined {
    for (const [index, hash] of ids.entries()) {
      const node = this.#nodeOf(start - index, hash);
      if (node !== undefined) return node;
    }
    return undefined;
  }

  /** Returns the node of a leaf, and adds those below it that are missing. */
  #copy(leaf: RevisionNode<B>): IndexedNode<B> {
    const path: RevisionNode<B>[] = [];
    let known: IndexedNode<B> | undefined;
    for (let at: RevisionNode<B> | undefined = leaf; at !== undefined; at = at.parent) {
      known = this.#nodeOf(at.generation, at.hash);
      if (known !== undefined) break;
      path.push(at);
    }
    for (const node of path.reverse()) known = this.#add(node.generation, node.hash, node.deleted, node.body, known);
    return must(known);
  }

  #add(
    generation: number,
    hash: string,
    deleted: boolean,
    body: B | undefined,
    parent: IndexedNode<B> | undefined,
  ): IndexedNode<B> {
    const node = { generation, hash, deleted, body, parent };
    this.#nodes.set(toRevId(generation, hash), node);
    return node;
  }

  /** Adds the path's revisions above `joint`, the newest of them as a leaf. */
  #grow({ start, ids }: RevisionPath, joint: IndexedNode<B> | undefined, deleted: boolean, body: B): void {
    let node = joint;
    for (let index = joint === undefined ? ids.length - 1 : start - joint.generation - 1; index > 0; index--) {
      node = this.#add(start - index, must(ids[index]), false, undefined, node);
    }
    const leaf = this.#add(start, must(ids[0]), deleted, body, node);
    this.#leaves.add(leaf);
    this.#highestGeneration = Math.max(this.#highestGeneration, start);
    if (this.#winner !== undefined) this.#noteWinner(leaf, this.#winner);
  }

  /** Goes down the path from `joint`, and continues where the tree ends before the path does. If they differ the tree's parent stays. */
  #addAncestors({ start, ids }: RevisionPath, joint: IndexedNode<B>, released: B[]): boolean {
    let hasGained = false;
    let node = joint;
    for (let index = start - joint.generation + 1; index < ids.length; index++) {
      const hash = must(ids[index]);
      if (node.parent === undefined) {
        const known = this.#nodeOf(start - index, hash);
        if (known !== undefined) this.#endLeaf(known, released);
        node.parent = known ?? this.#add(start - index, hash, false, undefined, undefined);
        hasGained = true;
      }
      if (node.parent.hash !== hash) break;
      node = node.parent;
    }
    return hasGained;
  }

  /** Ends the node as a leaf, because another revision now has it as its parent. */
  #endLeaf(node: IndexedNode<B>, released: B[]): void {
    if (!this.#leaves.delete(node)) return;
    if (node === this.#winner) this.#winner = undefined;
    if (node.body !== undefined) released.push(node.body);
  }

  #noteWinner(leaf: IndexedNode<B>, other: IndexedNode<B>): void {
    this.#winner = compareLeaves(leaf, other) < 0 ? leaf : other;
  }
}
