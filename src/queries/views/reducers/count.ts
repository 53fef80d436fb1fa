import type { Reducer } from './reducer.ts';

/** `_count`: how many rows there are. */
export const countReducer: Reducer = {
  reduce: (rows) => String(rows.length),
  rereduce: (counts) => String(counts.reduce((sum, count) => sum + Number(count), 0)),
};
