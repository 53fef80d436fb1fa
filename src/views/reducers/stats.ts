import { failedReduction, numberOf, type Reducer, toFinite } from './reducer.ts';

const REASON = 'builtin _stats function requires map values to be numbers';

interface Stats {
  readonly sum: number;
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly sumsqr: number;
}

/** `_stats`: sum, count, minimum, maximum and sum of squares of numbers. */
export const statsReducer: Reducer = {
  reduce(rows) {
    let [sum, min, max, sumsqr] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
    for (let index = 0; index < rows.length; index++) {
      const value = numberOf(rows.valueText(index));
      if (value === undefined) return failedReduction('invalid_value', REASON);
      sum += value;
      sumsqr += value * value;
      if (value < min) min = value;
      if (value > max) max = value;
    }
    return JSON.stringify({ sum: toFinite(sum), count: rows.length, min, max, sumsqr: toFinite(sumsqr) });
  },
  rereduce(reductions) {
    const all = reductions.map(decodeStats);
    let { sum, count, min, max, sumsqr } = { ...all[0] } as Stats;
    for (const stats of all.slice(1)) {
      sum += stats.sum;
      count += stats.count;
      sumsqr += stats.sumsqr;
      min = Math.min(min, stats.min);
      max = Math.max(max, stats.max);
    }
    return JSON.stringify({ sum: toFinite(sum), count, min, max, sumsqr: toFinite(sumsqr) });
  },
};

/** Does not check the text, which `reduce` wrote. */
function decodeStats(text: string): Stats {
  return JSON.parse(text) as Stats;
}
