import { type CompareKeys, createKeyOrder, createUnicodeOrder } from '../../../base/collation/key-order.ts';
import { SortTexts } from '../../../base/collation/sort-text.ts';
import { createStringOrder, weighCharacters } from '../../../base/collation/string-order.ts';
import { untilReady } from '../../../base/shared/pending.ts';
import { builtinReducer, isBuiltinReduce } from './builtin-reducers.ts';
import type { TreeDefinition } from './definition.ts';
import type { IndexState } from './index-state.ts';
import { failureOf, isFailed, type Reducer } from './reducer.ts';
import { compareRows, type RowKey } from './row-key.ts';
import { ScriptReducer } from './script-reducer.ts';

/** How the rows of one tree are ordered and reduced. */
export interface TreeOrder {
  readonly compareKeys: CompareKeys;
  readonly compareRows: (left: RowKey, right: RowKey) => number;
  /** Makes texts by which rows are sorted faster; absent if `compareKeys` is as fast. */
  readonly sortTexts: SortTexts | undefined;
  readonly reducers: readonly Reducer[];
  /** The reducers that have to be compiled before they are used, with their sources. */
  readonly scripts: readonly { readonly source: string; readonly reducer: ScriptReducer }[];
}

/** Creates the orders. Fails with `bad_request` if a built-in reduce is named that does not exist. */
export function createTreeOrders(trees: readonly TreeDefinition[]): TreeOrder[] {
  const weights = weighCharacters();
  const sortTexts = new SortTexts(weights);
  const unicode = createUnicodeOrder(createStringOrder(weights));
  const raw = createKeyOrder('raw');
  return trees.map(({ collation, reduces }) => {
    const compareKeys = collation === 'raw' ? raw : unicode;
    return {
      compareKeys,
      compareRows: (left, right) => compareRows(left, right, compareKeys),
      sortTexts: collation === 'raw' ? undefined : sortTexts,
      ...createReducers(reduces, compareKeys),
    };
  });
}

function createReducers(reduces: readonly string[], compareKeys: CompareKeys): Pick<TreeOrder, 'reducers' | 'scripts'> {
  const scripts: { source: string; reducer: ScriptReducer }[] = [];
  const reducers = reduces.map((reduce) => {
    if (isBuiltinReduce(reduce)) return builtinReducer(reduce, compareKeys);
    const reducer = new ScriptReducer(reduce);
    scripts.push({ source: reduce, reducer });
    return reducer;
  });
  return { reducers, scripts };
}

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
