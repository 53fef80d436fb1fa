import type { TreeSpec } from '../contract.ts';
import type { Link } from '../nodes/inner.ts';
import { Leaf } from '../nodes/leaf.ts';
import { reductionOf } from '../nodes/reduction.ts';
import type { WholeTree } from '../nodes/tree-nodes.ts';

/**
 * Computes the reductions that new nodes of a tree still lack, one node in each step of the generator. Later requests for a
 * reduction then find it ready, and need not wait for many at once.
 */
export async function missingReductions<K, R>(tree: WholeTree<K, R>): Promise<Generator<void, void>> {
  const nodes = await tree.nodes();
  return nodes === undefined ? nothing() : reduceBelow(nodes.source.spec, nodes.root);
}

function* nothing(): Generator<void, void> {}

/** Computes what a link and those below it lack. */
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
