import { untilReady } from '../../../base/shared/pending.ts';
import { failureOf, isFailed } from '../reducers/reducer.ts';
import type { IndexState } from './index-state.ts';
import type { TreeOrder } from './tree-order.ts';

/**
 * Returns whether an index stores the failure of a reduce function's result that has grown too much. That depends on a setting, unlike
 * other stored failures. Looks only at the reductions of whole trees, which have the failures of all their parts.
 */
export async function keepsRefusedGrowth(orders: readonly TreeOrder[], { trees }: IndexState): Promise<boolean> {
  for (const [at, { reducers, scripts }] of orders.entries()) {
    const tree = trees[at];
    if (scripts.length === 0 || tree === undefined) continue;
    // A function that fails in another way fails the queries that need it.
    const reductions = (await untilReady(() => tree.rows.reduceRange({})).catch(() => undefined)) ?? [];
    const ofScripts = reductions.filter((_, index) => scripts.some(({ reducer }) => reducer === reducers[index]));
    if (ofScripts.some((text) => isFailed(text) && failureOf(text).code === 'reduce_overflow_error')) return true;
  }
  return false;
}
