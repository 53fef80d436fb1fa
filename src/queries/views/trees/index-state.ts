import type { RowsChange } from '../contract.ts';
import type { DocumentTree } from './document-tree.ts';
import type { RowTree } from './row-tree.ts';

/** One moment of an index. It is immutable: updates make later states, and a reader keeps the one that it began with. */
export interface IndexState {
  /** Increases with each published state. */
  readonly version: number;
  readonly byDocument: DocumentTree;
  readonly trees: readonly ViewTree[];
  /** The database's sequence that the index reflects. */
  readonly updateSeq: number;
  readonly purgeSeq: number;
  /** The latest sequence of any row in the index. Later than `updateSeq` while the index is being built. */
  readonly seenSeq: number;
  /** How many documents could not be mapped for at least one view. */
  readonly leftOut: number;
  /** How far the first pass over all documents has come; undefined once it has ended. */
  readonly firstPass: FirstPass | undefined;
}

export interface FirstPass {
  /** The database's sequence when it began. Later changes are read after the pass. */
  readonly seq: number;
  /** The pass continues after this id. */
  readonly after: string;
}

export interface ViewTree {
  readonly rows: RowTree;
  readonly lastChange: RowsChange;
}

/** Returns the bytes of everything in the index. */
export function liveBytes({ byDocument, trees }: IndexState): number {
  return trees.reduce((sum, { rows }) => sum + rows.bytes, byDocument.bytes);
}

/** Returns the bytes of tree nodes that are in memory only. */
export function unstoredBytes({ byDocument, trees }: IndexState): number {
  return trees.reduce((sum, { rows }) => sum + rows.unstoredBytes(), byDocument.unstoredBytes());
}
