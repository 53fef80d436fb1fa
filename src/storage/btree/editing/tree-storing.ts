import { must } from '../../../base/shared/assert.ts';
import type { AllocateNode, NodePages, NodeWrite } from '../contract.ts';
import type { Link } from '../nodes/inner.ts';
import { INNER_HEADER, type Inner } from '../nodes/inner.ts';
import { Leaf } from '../nodes/leaf.ts';
import type { NodeSource } from '../nodes/node-source.ts';
import { reductionTextOf } from '../nodes/reduction.ts';

/** What storing a tree's nodes needs. */
interface StoringContext<K, R> {
  readonly source: NodeSource<K, R>;
  readonly allocate: AllocateNode;
}

/** Yields the unstored nodes below `link` (and its own), children before parents. Returns the pages of `link`. */
export function* storeNodes<K, R>(context: StoringContext<K, R>, link: Link<K, R>): Generator<NodeWrite, NodePages> {
  const { place, node } = link;
  if (place.page !== undefined || node === undefined) return { page: must(place.page), pages: place.pages };
  const text = node instanceof Leaf ? node.text : yield* storeInner(context, node);
  // Computed while the nodes that it is made of still exist.
  reductionTextOf(context.source.spec, link);
  const pages = context.allocate(text);
  yield { ...pages, text, stored: () => context.source.settle(link, pages, text) };
  return pages;
}

/** Stores what is below; returns the node's own text. */
function* storeInner<K, R>(context: StoringContext<K, R>, { slots }: Inner<K, R>): Generator<NodeWrite, string> {
  const lines = [INNER_HEADER];
  for (let index = 0; index < slots.length; index += 1) {
    const pages = slots.isWritten(index) ? undefined : yield* storeNodes(context, slots.link(index));
    lines.push(slots.line(index, pages));
  }
  return lines.join('\n');
}

/** Returns the text bytes of the unstored nodes below `link` (and its own). */
export function unstoredBytes<K, R>(link: Link<K, R>): number {
  const { node } = link;
  if (node === undefined || node instanceof Leaf) return node?.size ?? 0;
  let bytes = node.size;
  for (let index = 0; index < node.length; index += 1) {
    if (!node.slots.isWritten(index)) bytes += unstoredBytes(node.slots.link(index));
  }
  return bytes;
}
