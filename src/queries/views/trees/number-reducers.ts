import { isShallow } from '../../../base/json/nesting.ts';
import { isObject } from '../../../base/json/objects.ts';
import { parseInSteps } from '../../../base/json/parse-in-steps.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import {
  checkedReduction,
  failedReduction,
  LongReductions,
  numberOf,
  type Reducer,
  type RowList,
  toFinite,
  valueTexts,
} from './reducer.ts';

const SUM_REASON = 'builtin _sum function requires map values to be numbers or lists of numbers';

/** A sum in the making, which additions change: of numbers, of lists of numbers, or of objects whose members are sums. */
type Sum = number | number[] | Map<string, Sum>;

/**
 * `_sum` of numbers, of lists element by element, and of objects member by member. A number counts as a list of one; what
 * only one list, or one object, has is kept.
 */
export function createSumReducer(): Reducer {
  const long = new LongReductions();
  return {
    reduce(rows) {
      const total = sumNumbers(rows);
      return total === undefined ? long.of('reduce', valueTexts(rows), sumTexts) : writeSum(total);
    },
    rereduce: (sums) => long.of('reduce', sums, sumTexts),
  };
}

/** Returns undefined if a value is not a number. */
function sumNumbers(rows: RowList): number | undefined {
  let total = 0;
  for (let index = 0; index < rows.length; index++) {
    const value = numberOf(rows.valueText(index));
    if (value === undefined) return undefined;
    total += value;
  }
  return total;
}

function* sumTexts(texts: readonly string[]): CooperativeTask<string> {
  let total: Sum | undefined;
  for (const text of texts) {
    const value = numberOf(text) ?? (yield* parseSum(text));
    total = total === undefined || value === undefined ? value : add(total, value);
    if (total === undefined) return failedReduction('invalid_value', SUM_REASON);
    yield;
  }
  return total === undefined ? '0' : checkedReduction('_sum', writeSum(total));
}

/** Returns undefined for what can't be added. */
function* parseSum(text: string): CooperativeTask<Sum | undefined> {
  const value = yield* parseInSteps(text);
  return isShallow(value) ? toSum(value) : undefined;
}

function toSum(value: unknown): Sum | undefined {
  if (typeof value === 'number') return value;
  if (Array.isArray(value)) return value.every((item) => typeof item === 'number') ? value : undefined;
  if (!isObject(value)) return undefined;
  const sums = new Map<string, Sum>();
  for (const [name, member] of Object.entries(value)) {
    const sum = toSum(member);
    if (sum === undefined) return undefined;
    sums.set(name, sum);
  }
  return sums;
}

/** Returns the sum, of which `left` or `right` may have become a part. Undefined if one is an object and the other is not. */
function add(left: Sum, right: Sum): Sum | undefined {
  if (typeof left === 'number' && typeof right === 'number') return left + right;
  if (left instanceof Map) return right instanceof Map ? addMembers(left, right) : undefined;
  if (right instanceof Map) return undefined;
  return addElements(toList(left), toList(right));
}

function addMembers(left: Map<string, Sum>, right: ReadonlyMap<string, Sum>): Sum | undefined {
  for (const [name, value] of right) {
    const former = left.get(name);
    const sum = former === undefined ? value : add(former, value);
    if (sum === undefined) return undefined;
    left.set(name, sum);
  }
  return left;
}

function addElements(left: number[], right: number[]): number[] {
  const [longer, shorter] = left.length >= right.length ? [left, right] : [right, left];
  for (const [index, value] of shorter.entries()) longer[index] = (longer[index] ?? 0) + value;
  return longer;
}

function toList(sum: number | number[]): number[] {
  return typeof sum === 'number' ? [sum] : sum;
}

function writeSum(sum: Sum): string {
  if (typeof sum === 'number') return JSON.stringify(toFinite(sum));
  if (Array.isArray(sum)) return JSON.stringify(sum.map(toFinite));
  return `{${Array.from(sum, ([name, member]) => `${JSON.stringify(name)}:${writeSum(member)}`).join(',')}}`;
}

const STATS_REASON =
  'builtin _stats function requires map values to be numbers, statistics, or lists of these, all of one length';

/** The members of statistics, in the order in which they are written. */
interface Stats {
  readonly sum: number;
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly sumsqr: number;
}

/** Statistics, or a list of them, one for each place of the lists that were emitted. */
type StatsList = Stats | readonly StatsList[];

/**
 * `_stats`: sum, count, least, greatest and sum of squares of numbers. Values may be such statistics already, or lists, in
 * which each place has its own statistics.
 */
export function createStatsReducer(): Reducer {
  const long = new LongReductions();
  return {
    reduce(rows) {
      const stats = numberStats(rows);
      if (stats !== undefined) return writeStats(stats);
      return long.of('reduce', valueTexts(rows), combineTexts);
    },
    rereduce: (texts) => long.of('reduce', texts, combineTexts),
  };
}

/** Returns undefined if a value is not a number. */
function numberStats(rows: RowList): Stats | undefined {
  let [sum, min, max, sumsqr] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  for (let index = 0; index < rows.length; index++) {
    const value = numberOf(rows.valueText(index));
    if (value === undefined) return undefined;
    sum += value;
    sumsqr += value * value;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return { sum, count: rows.length, min, max, sumsqr };
}

function* combineTexts(texts: readonly string[]): CooperativeTask<string> {
  let total: StatsList | undefined;
  for (const text of texts) {
    const stats = yield* parseStats(text);
    total = total === undefined || stats === undefined ? stats : combine(total, stats);
    if (total === undefined) return failedReduction('invalid_value', STATS_REASON);
    yield;
  }
  return checkedReduction('_stats', writeStats(total ?? []));
}

function* parseStats(text: string): CooperativeTask<StatsList | undefined> {
  const value = yield* parseInSteps(text);
  return isShallow(value) ? toStats(value) : undefined;
}

function toStats(value: unknown): StatsList | undefined {
  if (typeof value === 'number') return { sum: value, count: 1, min: value, max: value, sumsqr: value * value };
  if (!Array.isArray(value)) return toReadyStats(value);
  const list: StatsList[] = [];
  for (const item of value as readonly unknown[]) {
    const stats = toStats(item);
    if (stats === undefined) return undefined;
    list.push(stats);
  }
  return list;
}

/** Statistics that were emitted, or that an earlier reduction wrote. */
function toReadyStats(value: unknown): Stats | undefined {
  if (!isObject(value)) return undefined;
  const { sum, count, min, max, sumsqr } = value;
  const areNumbers = [sum, count, min, max, sumsqr].every((member) => typeof member === 'number');
  if (!areNumbers) return undefined;
  return { sum: Number(sum), count: Number(count), min: Number(min), max: Number(max), sumsqr: Number(sumsqr) };
}

/** Returns undefined if one is a list and the other is not, or if their lengths differ. */
function combine(left: StatsList, right: StatsList): StatsList | undefined {
  if (isList(left)) return isList(right) ? combineLists(left, right) : undefined;
  if (isList(right)) return undefined;
  return {
    sum: left.sum + right.sum,
    count: left.count + right.count,
    min: Math.min(left.min, right.min),
    max: Math.max(left.max, right.max),
    sumsqr: left.sumsqr + right.sumsqr,
  };
}

function combineLists(left: readonly StatsList[], right: readonly StatsList[]): StatsList[] | undefined {
  if (left.length !== right.length) return undefined;
  const combined: StatsList[] = [];
  for (const [index, one] of left.entries()) {
    const other = right[index];
    const stats = other === undefined ? undefined : combine(one, other);
    if (stats === undefined) return undefined;
    combined.push(stats);
  }
  return combined;
}

function isList(stats: StatsList): stats is readonly StatsList[] {
  return Array.isArray(stats);
}

function writeStats(stats: StatsList): string {
  if (isList(stats)) return `[${stats.map(writeStats).join(',')}]`;
  const { sum, count, min, max, sumsqr } = stats;
  return JSON.stringify({ sum: toFinite(sum), count, min, max, sumsqr: toFinite(sumsqr) });
}
