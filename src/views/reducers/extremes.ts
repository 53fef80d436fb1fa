import type { CompareKeys } from '../../collation/key-order.ts';
import { must } from '../../shared/assert.ts';
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
  const select = (values: unknown[]) => checkedReduction(name, JSON.stringify(values.sort(compare).slice(0, count)));
  return {
    reduce: (rows) => select(parseValues(rows)),
    rereduce: (lists) => select(lists.flatMap((list) => JSON.parse(list) as unknown[])),
  };
}

function parseValues(rows: RowList): unknown[] {
  return Array.from({ length: rows.length }, (_unused, index): unknown => JSON.parse(rows.valueText(index)));
}
