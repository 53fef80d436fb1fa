import type { RevisionNode } from '../contract.ts';
import { type Leaves, rebuild, withParent } from './revision-tree.ts';

/**
 * Gives every node the body that `change` says, which is called once per node. Nodes are rebuilt only where a body
 * changed, and above that; where none changed the result is `leaves` itself.
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
