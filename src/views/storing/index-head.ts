import type { TreeRoot } from '../../btree/contract.ts';
import type { FirstPass } from '../trees/index-state.ts';

/**
 * The head of an index file, a few hundred bytes, says which index the file has and refers to a page with the roots of its
 * trees, which may be many. A checkpoint writes both in one commit. An index has no journal, because what is lost after a
 * checkpoint can be made again from the database.
 *
 * Format history (`format`): 1 – the first.
 */
export const INDEX_FORMAT_VERSION = 1;

export interface IndexHead {
  readonly format: number;
  readonly signature: string;
  /** The version of the collation (`collationVersion`) that the rows are ordered by. */
  readonly collation: string;
  /** The opening of the database whose history the index reflects. */
  readonly uuid: string;
  readonly epoch: number;
  readonly updateSeq: number;
  readonly purgeSeq: number;
  readonly seenSeq: number;
  /** The page with the roots (`IndexRoots`), … */
  readonly rootsPage: number;
  /** … or the first of so many, where their text is too long for one. Absent: one. */
  readonly rootsPages?: number;
  /** Pages at or above this number were written by an interrupted checkpoint. */
  readonly pageMark: number;
}

export interface IndexRoots {
  readonly byDocument: TreeRoot | null;
  readonly firstPass?: FirstPass | undefined;
  /** `IndexState.leftOut`, where it is not 0. */
  readonly leftOut?: number | undefined;
  readonly trees: readonly { readonly root: TreeRoot | null; readonly lastChange: number }[];
  /** The pages with the lists of free pages. */
  readonly garbage: readonly number[];
}

/** Undefined where it is not a head of this format: the index is then built anew. */
export function decodeIndexHead(text: string): IndexHead | undefined {
  try {
    const head = JSON.parse(text) as IndexHead;
    return head.format === INDEX_FORMAT_VERSION ? head : undefined;
  } catch {
    return undefined;
  }
}

/** Does not check the text, which a checkpoint wrote. */
export function decodeIndexRoots(text: string): IndexRoots {
  return JSON.parse(text) as IndexRoots;
}
