import type { RevisionNode } from '../../src/database/documents/contract.ts';
import { type Leaves, mergePath } from '../../src/database/documents/revisions/revision-tree.ts';

/** A revision to be added. */
interface NewRevision<B> {
  readonly hash: string;
  readonly deleted: boolean;
  readonly body: B | undefined;
}

/**
 * The tree with an edit, as a database adds it. `parent` is a node of this tree: a leaf is extended, an inner node gets another
 * branch; without one the revision is a new root of generation 1. A revision that the tree already has changes nothing.
 */
export function appendRevision<B>(
  leaves: Leaves<B>,
  parent: RevisionNode<B> | undefined,
  { hash, deleted, body }: NewRevision<B>,
): Leaves<B> {
  const start = (parent?.generation ?? 0) + 1;
  const ids = parent === undefined ? [hash] : [hash, parent.hash];
  return mergePath(leaves, { start, ids }, deleted, body).leaves;
}
