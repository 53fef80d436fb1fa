import type { CompareKeys } from '../../../base/collation/key-order.ts';
import { parseInSteps } from '../../../base/json/parse-in-steps.ts';
import { must } from '../../../base/shared/assert.ts';
import { sortInSteps } from '../../../base/shared/sort-in-steps.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import { LongReductions } from './long-reductions.ts';
import { checkedReduction, type Reducer, type RowList } from './reducer.ts';

/** `_first`: the value of the row with the smallest key. */
export const firstReducer: Reducer = {
  reduce: (rows) => checkedReduction('_first', rows.valueText(0)),
  rereduce: (values) => must(values[0]),
};

/** `_last`: the value of the row with the greatest key. */
export const lastReducer: Reducer = {
  reduce: (rows) => checkedReduction('_last', rows.valueText(rows.length - 1)),
  rereduce: (values) => must(values.at(-1)),
};

/** `_top_N` (`descending`) and `_bottom_N`: a list of the N greatest, or smallest, values in the view's order. */
export function createExtremesReducer(count: number, descending: boolean, compareKeys: CompareKeys): Reducer {
  const compare: CompareKeys = descending ? (left, right) => compareKeys(right, left) : compareKeys;
  const name = `_${descending ? 'top' : 'bottom'}_${count}`;
  const long = new LongReductions();
  function* select(values: readonly unknown[]): CooperativeTask<string> {
    const sorted = yield* sortInSteps(values, compare);
    return checkedReduction(name, JSON.stringify(sorted.slice(0, count)));
  }
  function* selectValues(texts: readonly string[]): CooperativeTask<string> {
    return yield* select(yield* parseAll(texts));
  }
  function* selectOfLists(texts: readonly string[]): CooperativeTask<string> {
    const lists = (yield* parseAll(texts)) as readonly unknown[][];
    return yield* select(lists.flat());
  }
  return {
    reduce: (rows) => long.of('reduce', valueTexts(rows), selectValues),
    rereduce: (lists) => long.of('rereduce', lists, selectOfLists),
  };
}

function valueTexts(rows: RowList): string[] {
  return Array.from({ length: rows.length }, (_unused, index) => rows.valueText(index));
}

function* parseAll(texts: readonly string[]): CooperativeTask<unknown[]> {
  const values: unknown[] = [];
  for (const text of texts) {
    values.push(yield* parseInSteps(text));
    yield;
  }
  return values;
}
