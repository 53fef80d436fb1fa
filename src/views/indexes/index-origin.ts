import type { Database, DatabaseOrigin } from '../../database/contract.ts';
import type { IndexHead } from './index-head.ts';

/**
 * Whether an index reflects a moment that this database had. It did not if the database lost that moment (a power cut
 * under relaxed durability) and numbered on above it, or if it is another database (docs/internals.md#losses).
 */
export function isOnLineage(index: Pick<IndexHead, 'uuid' | 'epoch' | 'seenSeq'>, origin: DatabaseOrigin): boolean {
  if (index.uuid !== origin.uuid || index.epoch > origin.epoch) return false;
  const [oldest] = origin.lineage;
  const loss = origin.lineage.find(({ epoch }) => epoch > index.epoch);
  if (loss === undefined) return true;
  // Losses that are forgotten by now may have come between.
  if (loss === oldest && !origin.isLineageComplete) return false;
  return index.seenSeq <= loss.formerEnd;
}

/** A handle that was closed tells nothing of its database, and fails for reasons that are not the index's. */
export function isOpen(database: Database): boolean {
  try {
    database.snapshot().release();
    return true;
  } catch {
    return false;
  }
}
