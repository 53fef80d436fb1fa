import { isShallow } from '../../../base/json/nesting.ts';
import { isObject } from '../../../base/json/objects.ts';
import { parseInSteps } from '../../../base/json/parse-in-steps.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import { LongReductions } from './long-reductions.ts';
import { checkedReduction, failedReduction, numberOf, type Reducer, type RowList, toFinite } from './reducer.ts';

const REASON = 'builtin _sum function requires map values to be numbers or lists of numbers';

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

function valueTexts(rows: RowList): string[] {
  return Array.from({ length: rows.length }, (_unused, index) => rows.valueText(index));
}

function* sumTexts(texts: readonly string[]): CooperativeTask<string> {
  let total: Sum | undefined;
  for (const text of texts) {
    const value = numberOf(text) ?? (yield* parseSum(text));
    total = total === undefined || value === undefined ? value : add(total, value);
    if (total === undefined) return failedReduction('invalid_value', REASON);
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
