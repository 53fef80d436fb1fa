import type { Link } from './inner.ts';
import type { NodeSource } from './node-source.ts';

/** The nodes that make up a whole tree. */
export interface TreeNodes<K, R> {
  readonly source: NodeSource<K, R>;
  readonly root: Link<K, R>;
}

/** What walks that are no methods of the tree need of it. */
export interface WholeTree<K, R> {
  /** Undefined where the tree is empty. */
  nodes(): Promise<TreeNodes<K, R> | undefined>;
}
