/** Unites two revision trees: the general, and slower, part of merging (see revision-tree.ts). */
import { must } from '../../../base/shared/assert.ts';
import type { RevId, RevisionNode } from '../contract.ts';
import { toRevId } from './revisions.ts';

/** What both trees know of one revision. */
interface Entry<B> {
  /** The left tree's node, if it has one. */
  readonly node: RevisionNode<B>;
  deleted: boolean;
  body: B | undefined;
  parent: RevId | undefined;
}

/** Returns the united tree's leaves, in no particular order. Nodes of `left` that gain nothing stay as they are. */
export function uniteTrees<B>(
  left: readonly RevisionNode<B>[],
  right: readonly RevisionNode<B>[],
): readonly RevisionNode<B>[] {
  const entries = new Map<RevId, Entry<B>>();
  collect(entries, left);
  collect(entries, right);
  // If the trees name different parents, ancestors on the discarded path lead nowhere. No one ever wrote them as leaves.
  const leaves = new Set([...left, ...right].map((leaf) => toRevId(leaf.generation, leaf.hash)));
  for (const { parent } of entries.values()) if (parent !== undefined) leaves.delete(parent);
  const built = new Map<RevId, RevisionNode<B>>();
  // By generation, so that each node's parent exists before it.
  const ascending = [...entries].sort(([, one], [, other]) => one.node.generation - other.node.generation);
  for (const [rev, entry] of ascending) built.set(rev, build(entry, built));
  return [...leaves].map((rev) => must(built.get(rev)));
}

function collect<B>(entries: Map<RevId, Entry<B>>, leaves: readonly RevisionNode<B>[]): void {
  const seen = new Set<RevisionNode<B>>();
  for (const leaf of leaves) {
    for (let node: RevisionNode<B> | undefined = leaf; node !== undefined && !seen.has(node); node = node.parent) {
      seen.add(node);
      add(entries, node);
    }
  }
}

function add<B>(entries: Map<RevId, Entry<B>>, node: RevisionNode<B>): void {
  const rev = toRevId(node.generation, node.hash);
  const parent = node.parent === undefined ? undefined : toRevId(node.parent.generation, node.parent.hash);
  const known = entries.get(rev);
  if (known === undefined) {
    entries.set(rev, { node, deleted: node.deleted, body: node.body, parent });
    return;
  }
  known.deleted ||= node.deleted;
  known.body ??= node.body;
  known.parent ??= parent;
}

function build<B>(
  { node, deleted, body, parent: rev }: Entry<B>,
  built: ReadonlyMap<RevId, RevisionNode<B>>,
): RevisionNode<B> {
  const parent = rev === undefined ? undefined : must(built.get(rev));
  if (node.parent === parent && node.deleted === deleted && node.body === body) return node;
  return { generation: node.generation, hash: node.hash, deleted, body, parent };
}
