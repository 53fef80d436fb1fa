import { untilReady } from '../../../base/shared/pending.ts';
import type { TimeSlice } from '../../../base/shared/turn.ts';
import { missingReductions } from '../../../storage/btree/reading/tree-walks.ts';
import type { Tree } from '../../../storage/btree/tree.ts';

/**
 * Computes the reductions that a tree lacks, in steps, before they are needed: otherwise the first query would have to wait for all
 * at once, and the storing of nodes can't wait for a reduce function that takes long.
 */
export function makeReductions<K, R>(tree: Tree<K, R>, timeSlice: TimeSlice): Promise<void> {
  return untilReady(async () => {
    const steps = await missingReductions(tree);
    while (steps.next().done !== true) if (timeSlice.isDue) await timeSlice.rest();
  });
}
