import type { DocumentTree, RowTree } from './view-tree.ts';

/** One moment of an index. Immutable: an update makes the next one; readers hold on to the one they began with. */
export interface IndexState {
  /** Counts publications. */
  readonly version: number;
  readonly byDocument: DocumentTree;
  readonly trees: readonly ViewTree[];
  /** The database's sequence that the index reflects. */
  readonly updateSeq: number;
  readonly purgeSeq: number;
  /** What is in the index may be as late as this; later than `updateSeq` while it is being made. */
  readonly seenSeq: number;
  /** Where the first pass over all documents stands; undefined once it has ended. */
  readonly firstPass: FirstPass | undefined;
}

export interface FirstPass {
  /** The database's sequence when it began: changes are followed from there. */
  readonly seq: number;
  /** Documents up to this id are done. */
  readonly after: string;
}

export interface ViewTree {
  readonly rows: RowTree;
  /** The sequence number of the last change to its rows. */
  readonly lastChange: number;
}

/** Bytes of what the index holds. */
export function liveBytes({ byDocument, trees }: IndexState): number {
  return trees.reduce((sum, { rows }) => sum + rows.bytes, byDocument.bytes);
}

/** Bytes of tree nodes that are in memory alone. */
export function unstoredBytes({ byDocument, trees }: IndexState): number {
  return trees.reduce((sum, { rows }) => sum + rows.unstoredBytes(), byDocument.unstoredBytes());
}
