import type { RevisionNode } from '../contract.ts';
import { type Leaves, rebuild, withParent } from './revision-tree.ts';

/**
 * Sets every node's body to what `change` returns, which is called once per node. Rebuilds only nodes whose body
 * changed, and those above them; if none changed the result is `leaves` itself.
 */
export function mapBodies<B>(leaves: Leaves<B>, change: (node: RevisionNode<B>) => B | undefined): Leaves<B> {
  return rebuild(leaves, (node, parent) => withParent(withBody(node, change(node)), parent));
}

/** Written out member by member: see `revision-tree.ts`. */
function withBody<B>(node: RevisionNode<B>, body: B | undefined): RevisionNode<B> {
  if (node.body === body) return node;
  const { generation, hash, deleted, parent } = node;
  return { generation, hash, deleted, body, parent };
}
