import type { TreeEntry, TreeSpec } from '../contract.ts';
import type { Link } from '../nodes/inner.ts';
import { Leaf } from '../nodes/leaf.ts';
import type { NodeSource } from '../nodes/node-source.ts';
import { reduceEntries, reductionOf } from '../nodes/reduction.ts';
import type { WholeTree } from '../nodes/tree-nodes.ts';
import { toEntry } from './entry-walk.ts';

interface CollectOptions<R> {
  readonly wanted: (reduction: R) => boolean;
  /** Maximum number of entries. */
  readonly limit: number;
}

/**
 * Returns up to `limit` entries, in key order, whose reduction (of the entry alone) is wanted. Reads a part of the tree only
 * if its reduction is wanted, too: that of a part with wanted entries must be.
 */
export async function collectEntries<K, R>(tree: WholeTree<K, R>, options: CollectOptions<R>): Promise<TreeEntry<K>[]> {
  const nodes = await tree.nodes();
  if (nodes === undefined || options.limit <= 0) return [];
  const { source, root } = nodes;
  return options.wanted(reductionOf(source.spec, root)) ? collectBelow(source, root, options, []) : [];
}

/** Appends entries below `link` whose reduction is wanted, in key order, until there are enough. */
async function collectBelow<K, R>(
  source: NodeSource<K, R>,
  link: Link<K, R>,
  options: CollectOptions<R>,
  found: TreeEntry<K>[],
): Promise<TreeEntry<K>[]> {
  const { spec } = source;
  const node = source.peek(link) ?? (await source.resolve(link));
  if (node instanceof Leaf) return collectFrom(spec, node, options, found);
  for (let index = 0; index < node.length && found.length < options.limit; index += 1) {
    const below = node.slots.link(index);
    if (options.wanted(reductionOf(spec, below))) await collectBelow(source, below, options, found);
  }
  return found;
}

function collectFrom<K, R>(
  spec: TreeSpec<K, R>,
  leaf: Leaf,
  { wanted, limit }: CollectOptions<R>,
  found: TreeEntry<K>[],
): TreeEntry<K>[] {
  for (let index = 0; index < leaf.length && found.length < limit; index += 1) {
    if (wanted(reduceEntries(spec, leaf, index, index + 1))) found.push(toEntry(spec, leaf, index));
  }
  return found;
}
