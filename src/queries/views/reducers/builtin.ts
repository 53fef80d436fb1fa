import type { CompareKeys } from '../../../base/collation/key-order.ts';
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { parseInSteps } from '../../../base/json/parse-in-steps.ts';
import { must } from '../../../base/shared/assert.ts';
import { sortInSteps } from '../../../base/shared/sort-in-steps.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import { distinctReducer } from './distinct.ts';
import { LongReductions } from './long-reductions.ts';
import { checkedReduction, type Reducer, type RowList } from './reducer.ts';
import { createStatsReducer } from './stats.ts';
import { createSumReducer } from './sum.ts';

/** `_first`: the value of the row with the smallest key. */
const firstReducer: Reducer = {
  reduce: (rows) => checkedReduction('_first', rows.valueText(0)),
  rereduce: (values) => must(values[0]),
};

/** `_last`: the value of the row with the greatest key. */
const lastReducer: Reducer = {
  reduce: (rows) => checkedReduction('_last', rows.valueText(rows.length - 1)),
  rereduce: (values) => must(values.at(-1)),
};

/** `_top_N` (`descending`) and `_bottom_N`: a list of the N greatest, or smallest, values in the view's order. */
function createExtremesReducer(count: number, descending: boolean, compareKeys: CompareKeys): Reducer {
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

/** `_count`: how many rows there are. */
const countReducer: Reducer = {
  reduce: (rows) => String(rows.length),
  rereduce: (counts) => String(counts.reduce((sum, count) => sum + Number(count), 0)),
};

/** By how their names begin. No name begins with another one. */
const BY_NAME: ReadonlyMap<string, () => Reducer> = new Map([
  ['_approx_count_distinct', () => distinctReducer],
  ['_count', () => countReducer],
  ['_sum', createSumReducer],
  ['_stats', createStatsReducer],
  ['_first', () => firstReducer],
  ['_last', () => lastReducer],
]);

const EXTREMES = /^_(top|bottom)_([1-9]\d?|100)(?!\d)/;

/** Returns whether a `reduce` member is the name of a built-in reduce, and not a source. */
export function isBuiltinReduce(reduce: string): boolean {
  return reduce.trim().startsWith('_');
}

/**
 * Creates a built-in reduce. Only how the name begins counts, because old design documents have more after it. Fails with
 * `bad_request` if it begins with no built-in name.
 */
export function builtinReducer(reduce: string, compareKeys: CompareKeys): Reducer {
  const name = reduce.trim();
  for (const [beginning, create] of BY_NAME) if (name.startsWith(beginning)) return create();
  const [, side, count] = EXTREMES.exec(name) ?? [];
  if (side !== undefined) return createExtremesReducer(Number(count), side === 'top', compareKeys);
  throw new DatabaseError(
    'bad_request',
    `"${name}" is no built-in reduce. There are ${[...BY_NAME.keys()].join(', ')}, _top_N and _bottom_N (N from 1 to 100).`,
  );
}
