import type { TreeEntry } from '../contract.ts';
import type { Link } from '../nodes/inner.ts';
import { Leaf } from '../nodes/leaf.ts';
import type { NodeSource } from '../nodes/node-source.ts';
import type { WholeTree } from '../nodes/tree-nodes.ts';
import { toEntry } from './entry-walk.ts';

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
        yield* entriesBelow(source, node.slots.link(index), onFailure);
      }
    }
  } catch (error) {
    onFailure(error);
  }
}
