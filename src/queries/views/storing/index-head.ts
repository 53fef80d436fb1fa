import type { Crc32 } from '../../../base/shared/crc32.ts';
import type { DatabaseOrigin } from '../../../database/store/contract.ts';
import type { TreeRoot } from '../../../storage/btree/contract.ts';
import { addToHead, checkHead } from '../../../storage/paging/checksums.ts';
import type { FirstPass, ViewTree } from '../trees/index-state.ts';

/**
 * The head of an index file, a few hundred bytes, says which index the file has and refers to a page with the roots of its
 * trees, which may be many. A checkpoint writes both in one commit. An index has no journal, because what is lost after a
 * checkpoint can be made again from the database.
 *
 * Format history (`format`), of which only the last is read; indexes of others are rebuilt:
 * 1 – the first.
 * 2 – checksums of pages and of the head; tree nodes that take several pages; `lastChange` of a tree tells of purges.
 */
export const INDEX_FORMAT_VERSION = 2;

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
  /** … or the first of this many, if their text is too long for one. Absent: one. */
  readonly rootsPages?: number;
  /** Pages below this number have no checksum. */
  readonly checkedFrom: number;
  /** Pages at or above this number were written by an interrupted checkpoint. */
  readonly pageMark: number;
}

export interface IndexRoots {
  readonly byDocument: TreeRoot | null;
  readonly firstPass?: FirstPass | undefined;
  /** `IndexState.leftOut`, if it is not 0. */
  readonly leftOut?: number | undefined;
  readonly trees: readonly { readonly root: TreeRoot | null; readonly lastChange: ViewTree['lastChange'] }[];
  /** The pages with the lists of free pages. */
  readonly garbage: readonly number[];
}

export function encodeIndexHead(head: IndexHead, crc32: Crc32): string {
  return addToHead(crc32, JSON.stringify(head));
}

/** Returns undefined if it is damaged, or not a head that this release reads: the index is then rebuilt. */
export function decodeIndexHead(stored: string, crc32: Crc32): IndexHead | undefined {
  const checked = checkHead(crc32, stored);
  if (checked === 'wrong' || checked === 'none') return undefined;
  try {
    const head = JSON.parse(checked.text) as IndexHead;
    return head.format === INDEX_FORMAT_VERSION ? head : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the roots. Does not check the text, which a checkpoint wrote. */
export function decodeIndexRoots(text: string): IndexRoots {
  return JSON.parse(text) as IndexRoots;
}

/**
 * Returns whether an index reflects a moment of this database's history. It does not if the database lost that moment at a power
 * cut (docs/internals.md#losses), or if it is another database.
 */
export function isOnLineage(index: Pick<IndexHead, 'uuid' | 'epoch' | 'seenSeq'>, origin: DatabaseOrigin): boolean {
  if (index.uuid !== origin.uuid || index.epoch > origin.epoch) return false;
  const [oldest] = origin.lineage;
  const loss = origin.lineage.find(({ epoch }) => epoch > index.epoch);
  if (loss === undefined) return true;
  // There may have been losses before the oldest one that is recorded.
  if (loss === oldest && !origin.isLineageComplete) return false;
  return index.seenSeq <= loss.formerEnd;
}
