import type { Database, DatabaseOrigin } from '../../../database/store/contract.ts';
import type { IndexHead } from '../storing/index-head.ts';

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

/** Returns whether the handle is open. A closed one no longer knows anything about its database. */
export function isOpen(database: Database): boolean {
  try {
    database.snapshot().release();
    return true;
  } catch {
    return false;
  }
}
