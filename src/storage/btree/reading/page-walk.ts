import { must } from '../../../base/shared/assert.ts';
import { pageNumbers } from '../contract.ts';
import type { Inner, Link } from '../nodes/inner.ts';
import { Leaf } from '../nodes/leaf.ts';
import type { NodeSource } from '../nodes/node-source.ts';
import type { WholeTree } from '../nodes/tree-nodes.ts';

/** Yields the page numbers of all stored nodes of a tree, in batches. Fails like the tree's methods. */
export async function* treePages<K, R>(tree: WholeTree<K, R>): AsyncGenerator<number[]> {
  const nodes = await tree.nodes();
  if (nodes !== undefined) yield* walkPages(nodes.source, nodes.root);
}

/** Yields the page numbers of the stored nodes below `link`, and of its own; in batches of about one inner node. */
async function* walkPages<K, R>(source: NodeSource<K, R>, link: Link<K, R>): AsyncGenerator<number[]> {
  const pages = pageNumbers(link.place);
  if (pages.length > 0) yield pages;
  const node = await source.resolve(link);
  if (!(node instanceof Leaf)) yield* pagesBelow(source, node);
}

/** All leaves are on one level, so that the first child shows whether the others need to be read. */
async function* pagesBelow<K, R>(source: NodeSource<K, R>, { slots }: Inner<K, R>): AsyncGenerator<number[]> {
  const links = Array.from({ length: slots.length }, (_unused, index) => slots.link(index));
  const pages = links.flatMap((link) => pageNumbers(link.place));
  if (pages.length > 0) yield pages;
  if ((await source.resolve(must(links[0]))) instanceof Leaf) return;
  for (const link of links) {
    const node = await source.resolve(link);
    if (!(node instanceof Leaf)) yield* pagesBelow(source, node);
  }
}
