/** Walks that read only those parts of a tree for which the reductions in inner nodes are not enough. */
import type { TreeEntry, TreeSpec } from '../contract.ts';
import type { Link } from '../nodes/inner.ts';
import { Leaf } from '../nodes/leaf.ts';
import type { NodeSource, WholeTree } from '../nodes/node-source.ts';
import { reduceEntries, reductionOf } from '../nodes/reduction.ts';
import type { KeyEdge } from './cursor.ts';
import { toEntry } from './entry-walk.ts';

/**
 * Returns the reductions, in key order, of what lies below `link` and between two edges (undefined: open). Reads only the nodes that
 * an edge cuts.
 */
export async function reduceBetween<K, R>(
  source: NodeSource<K, R>,
  link: Link<K, R>,
  start: KeyEdge<K> | undefined,
  end: KeyEdge<K> | undefined,
): Promise<R[]> {
  const { spec } = source;
  if (start === undefined && end === undefined) return [reductionOf(spec, link)];
  const node = source.peek(link) ?? (await source.resolve(link));
  if (node instanceof Leaf) return reduceCutLeaf(spec, node, start, end);
  const { slots } = node;
  const first = start === undefined ? 0 : node.slotOf(start.key, spec);
  const last = end === undefined ? slots.length - 1 : node.slotOf(end.key, spec);
  const parts: R[] = [];
  for (let index = first; index <= last; index += 1) {
    const from = index === first ? start : undefined;
    const to = index === last ? end : undefined;
    if (from === undefined && to === undefined) parts.push(reductionOf(spec, slots.link(index)));
    else for (const part of await reduceBetween(source, slots.link(index), from, to)) parts.push(part);
  }
  return parts;
}

function reduceCutLeaf<K, R>(
  spec: TreeSpec<K, R>,
  leaf: Leaf,
  start: KeyEdge<K> | undefined,
  end: KeyEdge<K> | undefined,
): R[] {
  const from = start === undefined ? 0 : leaf.countBefore(spec, start.key, start.after);
  const to = end === undefined ? leaf.length : leaf.countBefore(spec, end.key, end.after);
  return from < to ? [reduceEntries(spec, leaf, from, to)] : [];
}

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
