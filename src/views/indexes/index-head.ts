import type { TreeRoot } from '../../btree/contract.ts';
import type { FirstPass } from './index-state.ts';

/**
 * What an index file keeps of itself. The head, a few hundred bytes, says what the index is of and leads to a page with
 * the trees' roots, which may be many. Only a checkpoint writes them, in one commit; an index has no journal, since what is lost after a
 * checkpoint is read from the database again.
 *
 * Format history (`format`): 1 – the first.
 */
export const INDEX_FORMAT_VERSION = 1;

export interface IndexHead {
  readonly format: number;
  readonly signature: string;
  /** `collationVersion`: rows are in this order. */
  readonly collation: string;
  /** The point of the database's history that the index reflects. */
  readonly uuid: string;
  readonly epoch: number;
  readonly updateSeq: number;
  readonly purgeSeq: number;
  readonly seenSeq: number;
  /** The page with the roots, … */
  readonly rootsPage: number;
  /** … or the first of so many, where their text is too long for one; absent: one. */
  readonly rootsPages?: number;
  /** Pages at or above this number are left over from an interrupted checkpoint. */
  readonly pageMark: number;
}

export interface IndexRoots {
  readonly byDocument: TreeRoot | null;
  readonly firstPass?: FirstPass | undefined;
  readonly trees: readonly { readonly root: TreeRoot | null; readonly lastChange: number }[];
  /** Pages that list pages which are no longer part of the index. */
  readonly garbage: readonly number[];
}

/** Undefined where it is none of this release's: an index that can't be read is built anew. */
export function decodeIndexHead(text: string): IndexHead | undefined {
  try {
    const head = JSON.parse(text) as IndexHead;
    return head.format === INDEX_FORMAT_VERSION ? head : undefined;
  } catch {
    return undefined;
  }
}

/** Trusts the text: it is what a checkpoint wrote. */
export function decodeIndexRoots(text: string): IndexRoots {
  return JSON.parse(text) as IndexRoots;
}
