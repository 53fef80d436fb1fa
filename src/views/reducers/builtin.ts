import type { CompareKeys } from '../../collation/key-order.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { countReducer } from './count.ts';
import { distinctReducer } from './distinct.ts';
import { createExtremesReducer, firstReducer, lastReducer } from './extremes.ts';
import type { Reducer } from './reducer.ts';
import { statsReducer } from './stats.ts';
import { sumReducer } from './sum.ts';

const BY_NAME: ReadonlyMap<string, Reducer> = new Map([
  ['_sum', sumReducer],
  ['_count', countReducer],
  ['_stats', statsReducer],
  ['_approx_count_distinct', distinctReducer],
  ['_first', firstReducer],
  ['_last', lastReducer],
]);

const EXTREMES = /^_(top|bottom)_([1-9]\d?|100)$/;

/** Whether a `reduce` member is the name of a built-in reduce, and not a source. */
export function isBuiltinReduce(reduce: string): boolean {
  return reduce.trim().startsWith('_');
}

/** `bad_request` where there is no built-in reduce of that name. */
export function builtinReducer(reduce: string, compareKeys: CompareKeys): Reducer {
  const name = reduce.trim();
  const known = BY_NAME.get(name);
  if (known !== undefined) return known;
  const [, side, count] = EXTREMES.exec(name) ?? [];
  if (side !== undefined) return createExtremesReducer(Number(count), side === 'top', compareKeys);
  throw new DatabaseError(
    'bad_request',
    `"${name}" is no built-in reduce. There are ${[...BY_NAME.keys()].join(', ')}, _top_N and _bottom_N (N from 1 to 100).`,
  );
}
