import type { Link } from './inner.ts';
import type { NodeSource } from './node-source.ts';

/** The nodes that make up a whole tree. */
export interface TreeNodes<K, R> {
  readonly source: NodeSource<K, R>;
  readonly root: Link<K, R>;
}

/** What walks that are not methods of the tree need from it. */
export interface WholeTree<K, R> {
  /** Returns undefined if the tree is empty. */
  nodes(): Promise<TreeNodes<K, R> | undefined>;
}
