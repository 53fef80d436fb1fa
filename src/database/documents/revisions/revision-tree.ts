/**
 * A document's revision tree: pure, synchronous, immutable (docs/http/documents.md#revision-tree).
 *
 * Every edit makes a revision that names its parent. Two replicas that edit the same revision make two children of it:
 * the history forks, and when it is replicated both branches are kept. A revision without children is a leaf; the leaf
 * that wins is what the document shows, the others are its conflicts. All replicas choose the same winner, since it
 * depends on the leaves alone.
 *
 *     1-a ─── 2-b ─── 3-c        leaves: 3-c (wins), 3-b!, 2-x
 *        │       └─── 3-b!       (`!` = deleted)
 *        └─── 2-x
 *
 * A tree is the list of its leaves in winning order; the rest hangs on them by `parent`. Within a tree a revision is
 * one node, which all branches above it share, and changes keep the nodes that they don't affect. Replicas forget old
 * ancestors (stemming), so a tree may have several roots, of any generation, and what was forgotten on one replica may
 * come back from another. That is why all comparisons go by generation and hash, never by depth.
 */
import { assert, must } from '../../../base/shared/assert.ts';
import { type CooperativeTask, eachInSteps, filterInSteps } from '../../../base/shared/turn.ts';
import type { RevId, Revision, RevisionNode, RevisionPath } from '../contract.ts';
import { StoredRevision } from './ancestry.ts';
import { compareRevisions, toRevId } from './revisions.ts';
import { uniteTrees } from './tree-union.ts';

/** Revisions that are examined between two checks of the clock. */
const REVISIONS_PER_STEP = 512;

export type Leaves<B> = readonly RevisionNode<B>[];

interface MergedPath<B> {
  /**
   * The tree with the path in it. If the outcome is `known` these are the given leaves, unless the path names
   * ancestors that the tree did not have.
   */
  readonly leaves: Leaves<B>;
  /** `known`: the revision existed. `extended`: it replaced a leaf. `branched`: it is a new leaf beside the existing ones. */
  readonly outcome: 'known' | 'extended' | 'branched';
  /** The path's newest revision in the new tree. */
  readonly node: RevisionNode<B>;
}

/** Returns the winning leaf; undefined in an empty tree. */
export function winner<B>(leaves: Leaves<B>): RevisionNode<B> | undefined {
  return leaves[0];
}

/** Returns the node of that revision, leaf or not. */
export function findNode<B>(leaves: Leaves<B>, revision: Revision): RevisionNode<B> | undefined {
  for (const leaf of leaves) {
    const node = findOnPath(leaf, revision);
    if (node !== undefined) return node;
  }
  return undefined;
}

/** Returns all known revisions, for callers that look many of them up. */
export function* revisionsOf<B>(leaves: Leaves<B>): CooperativeTask<ReadonlySet<RevId>> {
  const seen = new Set<RevisionNode<B>>();
  const revs = new Set<RevId>();
  for (const leaf of leaves) {
    for (let node: RevisionNode<B> | undefined = leaf; node !== undefined && !seen.has(node); node = node.parent) {
      seen.add(node);
      revs.add(revOf(node));
      if (seen.size % REVISIONS_PER_STEP === 0) yield;
    }
  }
  return revs;
}

/** Returns the leaves that are that revision or descend from it, in winning order. */
export function leavesFrom<B>(leaves: Leaves<B>, revision: Revision): Leaves<B> {
  return leaves.filter((leaf) => findOnPath(leaf, revision) !== undefined);
}

/** Returns the revision and its known ancestors, in the form of `_revisions`. */
export function pathOf<B>(node: RevisionNode<B>): RevisionPath {
  const ids: string[] = [];
  for (let at: RevisionNode<B> | undefined = node; at !== undefined; at = at.parent) ids.push(at.hash);
  return { start: node.generation, ids };
}

/**
 * Merges a revision that arrived with its ancestry, as in replication. Ancestors that were unknown so far are added
 * without a body, as not deleted. If path and tree name different parents of a revision the tree's stays.
 */
export function mergePath<B>(
  leaves: Leaves<B>,
  path: RevisionPath,
  deleted: boolean,
  body: B | undefined,
): MergedPath<B> {
  const joint = newestKnown(leaves, path);
  const node = buildPath(path, joint, deleted, body);
  if (joint !== undefined && extendsKnownHistory(path, joint)) return graft(leaves, path, deleted, body);
  if (node === joint) return { leaves, outcome: 'known', node };
  const extended = joint !== undefined && leaves.includes(joint);
  const others = extended ? leaves.filter((leaf) => leaf !== joint) : leaves;
  return { leaves: insertLeaf(others, node), outcome: extended ? 'extended' : 'branched', node };
}

/**
 * Returns the path without the ancestors that merging it, and stemming to `limit`, do not use: external input may
 * name any number of them. Ancestors that lead to a revision of the tree stay, and `limit` below it.
 */
export function cutPath<B>(leaves: Leaves<B>, path: RevisionPath, limit: number): RevisionPath {
  const { start, ids } = path;
  if (ids.length <= limit) return path;
  let length = limit;
  for (const leaf of leaves) {
    const joint = newestOnBranch(leaf, path, start - ids.length + 1);
    if (joint !== undefined) length = Math.max(length, start - joint.generation + limit);
  }
  return length < ids.length ? { start, ids: ids.slice(0, length) } : path;
}

/**
 * Returns everything that either tree knows. Commutative, associative and idempotent, as long as no two trees name different parents
 * of one revision (then the left one's stays) or different bodies.
 */
export function mergeTrees<B>(left: Leaves<B>, right: Leaves<B>): Leaves<B> {
  if (right.length === 0) return left;
  if (left.length === 0) return right;
  return sortLeaves(uniteTrees(left, right));
}

/**
 * Forgets ancestors beyond the newest `limit` revisions of each path. A revision that one path keeps stays on the others too, so
 * a path that shares its old end with a shorter one may stay longer. Leaves are never forgotten.
 */
export function stem<B>(leaves: Leaves<B>, limit: number): Leaves<B> {
  assert(limit >= 1, () => `a path keeps at least one revision, not ${limit}`);
  // A path has no more revisions than the generation of its leaf.
  if (leaves.every((leaf) => leaf.generation <= limit)) return leaves;
  const only = leaves[0];
  if (leaves.length === 1 && only !== undefined) {
    const stemmed = stemPath(only, limit);
    return stemmed === only ? leaves : [stemmed];
  }
  const kept = new Set<RevisionNode<B>>();
  for (const leaf of leaves) {
    let node: RevisionNode<B> | undefined = leaf;
    for (let count = 0; count < limit && node !== undefined; count++, node = node.parent) kept.add(node);
  }
  return rebuild(leaves, (node, parent) =>
    withParent(node, node.parent !== undefined && kept.has(node.parent) ? parent : undefined),
  );
}

/**
 * Removes leaves, each with its branch up to the next fork (purge, docs/http/databases.md#purge). Revisions that are not leaves stay.
 * `removed` lists those that were removed, in the order of the request.
 */
export function* removeLeaves<B>(
  leaves: Leaves<B>,
  revs: readonly RevId[],
): CooperativeTask<{
  readonly leaves: Leaves<B>;
  readonly removed: readonly RevId[];
  readonly released: readonly B[];
}> {
  const known = new Map<RevId, RevisionNode<B>>();
  yield* eachInSteps(leaves, (leaf) => known.set(revOf(leaf), leaf));
  const gone = new Set<RevisionNode<B>>();
  const removed: RevId[] = [];
  const released: B[] = [];
  yield* eachInSteps(revs, (rev) => {
    const leaf = known.get(rev);
    if (leaf === undefined || gone.has(leaf)) return;
    gone.add(leaf);
    removed.push(rev);
    if (leaf.body !== undefined) released.push(leaf.body);
  });
  if (gone.size === 0) return { leaves, removed, released };
  return { leaves: yield* filterInSteps(leaves, (leaf) => !gone.has(leaf)), removed, released };
}

/** Compares in winning order: live before deleted, then the higher generation, then the higher hash. Negative if `left` is first. */
export function compareLeaves<B>(left: RevisionNode<B>, right: RevisionNode<B>): number {
  if (left.deleted !== right.deleted) return left.deleted ? 1 : -1;
  return compareRevisions(right, left);
}

function revOf<B>(node: RevisionNode<B>): RevId {
  return toRevId(node.generation, node.hash);
}

/*
 * Nodes are written out member by member: objects made with a spread take engines twenty times as long
 * to read.
 */

function withParent<B>(node: RevisionNode<B>, parent: RevisionNode<B> | undefined): RevisionNode<B> {
  if (node.parent === parent) return node;
  const { generation, hash, deleted, body } = node;
  return { generation, hash, deleted, body, parent };
}

function findOnPath<B>(leaf: RevisionNode<B>, revision: Revision): RevisionNode<B> | undefined {
  let node: RevisionNode<B> | undefined = leaf;
  while (node !== undefined && node.generation > revision.generation) node = node.parent;
  return node?.generation === revision.generation && node.hash === revision.hash ? node : undefined;
}

/** Returns the newest revision of the path that the tree has. */
function newestKnown<B>(leaves: Leaves<B>, path: RevisionPath): RevisionNode<B> | undefined {
  let newest: RevisionNode<B> | undefined;
  let least = path.start - path.ids.length + 1;
  for (const leaf of leaves) {
    const found = newestOnBranch(leaf, path, least);
    if (found === undefined) continue;
    newest = found;
    // Lower matches on other branches add nothing.
    least = found.generation + 1;
  }
  return newest;
}

/** Returns the newest revision of the path, of generation `least` or above, that the leaf's branch has. */
function newestOnBranch<B>(leaf: RevisionNode<B>, path: RevisionPath, least: number): RevisionNode<B> | undefined {
  const { start, ids } = path;
  let node: RevisionNode<B> | undefined = leaf;
  while (node !== undefined && node.generation > start) node = node.parent;
  while (node !== undefined && node.generation >= least) {
    if (ids[start - node.generation] === node.hash) return node;
    node = node.parent;
  }
  return undefined;
}

/** Builds nodes for the path's revisions above `joint`; returns the newest of them, or `joint` if that is the newest itself. */
function buildPath<B>(
  path: RevisionPath,
  joint: RevisionNode<B> | undefined,
  deleted: boolean,
  body: B | undefined,
): RevisionNode<B> {
  const first = joint === undefined ? path.ids.length - 1 : path.start - joint.generation - 1;
  let node = joint;
  for (let index = first; index >= 0; index--) {
    const isNewest = index === 0;
    node = {
      generation: path.start - index,
      hash: must(path.ids[index]),
      deleted: isNewest && deleted,
      body: isNewest ? body : undefined,
      parent: node,
    };
  }
  return must(node, 'a revision path has at least one revision');
}

/** Whether the path continues, from the root below `joint`, to ancestors that the tree does not know. */
export function extendsKnownHistory<B>(path: RevisionPath, joint: RevisionNode<B>): boolean {
  const oldest = path.start - path.ids.length + 1;
  for (let node = joint; node.generation > oldest; ) {
    if (node.parent === undefined) return true;
    node = node.parent;
    if (path.ids[path.start - node.generation] !== node.hash) return false;
  }
  return false;
}

/** Like `mergePath`, for a path that reaches below a root of the tree: everything above that root is rebuilt. */
function graft<B>(leaves: Leaves<B>, path: RevisionPath, deleted: boolean, body: B | undefined): MergedPath<B> {
  const revision = { generation: path.start, hash: must(path.ids[0]) };
  const known = findNode(leaves, revision) !== undefined;
  const added = known ? buildPath<B>(path, undefined, false, undefined) : buildPath(path, undefined, deleted, body);
  const merged = mergeTrees(leaves, [added]);
  const node = must(findNode(merged, revision));
  if (known) return { leaves: merged, outcome: 'known', node };
  const joint = newestKnown(leaves, path);
  const extended = joint !== undefined && leaves.includes(joint);
  return { leaves: merged, outcome: extended ? 'extended' : 'branched', node };
}

function sortLeaves<B>(leaves: Leaves<B>): Leaves<B> {
  return [...leaves].sort(compareLeaves);
}

function insertLeaf<B>(leaves: Leaves<B>, leaf: RevisionNode<B>): Leaves<B> {
  if (leaves.length === 0) return [leaf];
  let low = 0;
  let high = leaves.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareLeaves(must(leaves[middle]), leaf) < 0) low = middle + 1;
    else high = middle;
  }
  return leaves.toSpliced(low, 0, leaf);
}

/** Returns the leaf with the newest `limit` revisions of its path; the leaf itself if there are no more. */
function stemPath<B>(leaf: RevisionNode<B>, limit: number): RevisionNode<B> {
  const path: RevisionNode<B>[] = [];
  let cut: RevisionNode<B> | undefined = leaf;
  while (path.length < limit) {
    if (cut === undefined) return leaf;
    if (cut instanceof StoredRevision && cut.ancestry !== '') {
      const stemmed: StoredRevision<B> = cut.withAncestors(limit - path.length - 1);
      return stemmed === cut ? leaf : must(relink(path, stemmed));
    }
    path.push(cut);
    cut = cut.parent;
  }
  return cut === undefined ? leaf : must(relink(path, undefined));
}

/** Puts the path's nodes (newest first) on top of another parent; returns the newest of them. */
function relink<B>(path: Leaves<B>, parent: RevisionNode<B> | undefined): RevisionNode<B> | undefined {
  return path.reduceRight<RevisionNode<B> | undefined>((below, node) => withParent(node, below), parent);
}

/** Rebuilds each node of the tree, parents first, each once. The result is `leaves` itself if no leaf changed. */
function rebuild<B>(
  leaves: Leaves<B>,
  make: (node: RevisionNode<B>, parent: RevisionNode<B> | undefined) => RevisionNode<B>,
): Leaves<B> {
  const made = new Map<RevisionNode<B>, RevisionNode<B>>();
  const rebuilt = leaves.map((leaf) => {
    const todo: RevisionNode<B>[] = [];
    let node: RevisionNode<B> | undefined = leaf;
    for (; node !== undefined && !made.has(node); node = node.parent) todo.push(node);
    let parent = node === undefined ? undefined : made.get(node);
    for (const next of todo.reverse()) {
      parent = make(next, parent);
      made.set(next, parent);
    }
    return must(parent);
  });
  return rebuilt.every((leaf, index) => leaf === leaves[index]) ? leaves : rebuilt;
}

/**
 * Sets every node's body to what `change` returns, which is called once per node. Rebuilds only nodes whose body
 * changed, and those above them; if none changed the result is `leaves` itself.
 */
export function mapBodies<B>(leaves: Leaves<B>, change: (node: RevisionNode<B>) => B | undefined): Leaves<B> {
  return rebuild(leaves, (node, parent) => withParent(withBody(node, change(node)), parent));
}

function withBody<B>(node: RevisionNode<B>, body: B | undefined): RevisionNode<B> {
  if (node.body === body) return node;
  const { generation, hash, deleted, parent } = node;
  return { generation, hash, deleted, body, parent };
}
