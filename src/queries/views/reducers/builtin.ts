import type { CompareKeys } from '../../../base/collation/key-order.ts';
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { countReducer } from './count.ts';
import { distinctReducer } from './distinct.ts';
import { createExtremesReducer, firstReducer, lastReducer } from './extremes.ts';
import type { Reducer } from './reducer.ts';
import { createStatsReducer } from './stats.ts';
import { createSumReducer } from './sum.ts';

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
