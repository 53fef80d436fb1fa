import type { TreeSpec } from '../contract.ts';
import type { Link } from '../nodes/inner.ts';
import { Leaf } from '../nodes/leaf.ts';
import type { NodeSource } from '../nodes/node-source.ts';
import { reduceEntries, reductionOf } from '../nodes/reduction.ts';
import type { KeyEdge } from './key-edge.ts';

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
