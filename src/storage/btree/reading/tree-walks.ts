/** Walks over all nodes of a tree, or over all new ones. */
import { pageNumbers, type TreeEntry, type TreeSpec } from '../contract.ts';
import type { Inner, Link } from '../nodes/inner.ts';
import { Leaf } from '../nodes/leaf.ts';
import type { NodeSource, WholeTree } from '../nodes/node-source.ts';
import { reductionOf } from '../nodes/reduction.ts';
import { toEntry } from './entry-walk.ts';

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
  if (!(node instanceof Leaf)) yield* pagesBelow(source, node, await innerLevelsBelow(source, node));
}

/** Returns how many levels of inner nodes are below one: all leaves are on one level, so that the first path shows it. */
async function innerLevelsBelow<K, R>(source: NodeSource<K, R>, top: Inner<K, R>): Promise<number> {
  let levels = 0;
  let node = await source.resolve(top.slots.link(0));
  while (!(node instanceof Leaf)) {
    levels += 1;
    node = await source.resolve(node.slots.link(0));
  }
  return levels;
}

/** `levels`: of inner nodes. Leaves are not read. */
async function* pagesBelow<K, R>(
  source: NodeSource<K, R>,
  { slots }: Inner<K, R>,
  levels: number,
): AsyncGenerator<number[]> {
  const links = Array.from({ length: slots.length }, (_unused, index) => slots.link(index));
  const pages = links.flatMap((link) => pageNumbers(link.place));
  if (pages.length > 0) yield pages;
  if (levels === 0) return;
  for (const [index, link] of links.entries()) {
    source.readSlotsAhead(slots, index);
    const node = await source.resolve(link);
    if (!(node instanceof Leaf)) yield* pagesBelow(source, node, levels - 1);
  }
}

/**
 * Yields the entries of a tree in key order, in batches of one leaf, except those in unreadable nodes. `onFailure` gets
 * the error of each such node.
 */
export async function* readableEntries<K, R>(
  tree: WholeTree<K, R>,
  onFailure: (error: unknown) => void,
): AsyncGenerator<TreeEntry<K>[]> {
  const nodes = await tree.nodes();
  if (nodes !== undefined) yield* entriesBelow(nodes.source, nodes.root, onFailure);
}

async function* entriesBelow<K, R>(
  source: NodeSource<K, R>,
  link: Link<K, R>,
  onFailure: (error: unknown) => void,
): AsyncGenerator<TreeEntry<K>[]> {
  try {
    const node = await source.resolve(link);
    if (node instanceof Leaf) {
      yield Array.from({ length: node.length }, (_unused, index) => toEntry(source.spec, node, index));
    } else {
      for (let index = 0; index < node.length; index += 1) {
        source.readSlotsAhead(node.slots, index);
        yield* entriesBelow(source, node.slots.link(index), onFailure);
      }
    }
  } catch (error) {
    onFailure(error);
  }
}

/**
 * Computes the reductions that new nodes of a tree still lack, one node in each step of the generator. Later requests for a
 * reduction then find it ready, and need not wait for many at once.
 */
export async function missingReductions<K, R>(tree: WholeTree<K, R>): Promise<Generator<void, void>> {
  const nodes = await tree.nodes();
  return nodes === undefined ? nothing() : reduceBelow(nodes.source.spec, nodes.root);
}

function* nothing(): Generator<void, void> {}

/** Computes the missing reductions of a link and its descendants. */
function* reduceBelow<K, R>(spec: TreeSpec<K, R>, link: Link<K, R>): Generator<void, void> {
  const { node, reduction, reductionText } = link;
  if (node === undefined || reduction !== undefined || reductionText !== undefined) return;
  if (!(node instanceof Leaf)) {
    for (let index = 0; index < node.length; index += 1) {
      const below = node.slots.knownLink(index);
      if (below !== undefined) yield* reduceBelow(spec, below);
    }
  }
  reductionOf(spec, link);
  yield;
}
