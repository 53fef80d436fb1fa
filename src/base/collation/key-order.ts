/**
 * Orders of JSON values as view keys (docs/http/views.md#order-of-keys). Values are as `JSON.parse` returns them.
 */
import { isObject, type JsonObject } from '../json/objects.ts';
import { compareCodePoints } from './code-points.ts';
import { type CompareStrings, createStringOrder } from './string-order.ts';

/** Negative, zero or positive if `left` sorts before, with or after `right`. A total order on JSON values. */
export type CompareKeys = (left: unknown, right: unknown) => number;

/**
 * - `unicode`: null < false < true < numbers < strings (by ICU root collation) < arrays (element by element, shorter
 *   first) < objects (member by member in their own order: name, then value; fewer members first).
 * - `raw`: numbers < false < null < true < objects < arrays < strings, by code point.
 */
export type CollationName = 'unicode' | 'raw';

/** Takes about a millisecond for `unicode`: create one order and keep it. */
export function createKeyOrder(collation: CollationName): CompareKeys {
  return collation === 'raw' ? createRawOrder() : createUnicodeOrder(createStringOrder());
}

/** Ranks of the kinds of JSON values. */
interface Ranks {
  readonly null: number;
  readonly false: number;
  readonly true: number;
  readonly number: number;
  readonly string: number;
  readonly array: number;
  readonly object: number;
}

const UNICODE_RANKS: Ranks = { null: 0, false: 1, true: 2, number: 3, string: 4, array: 5, object: 6 };
const RAW_RANKS: Ranks = { number: 0, false: 1, null: 2, true: 3, object: 4, array: 5, string: 6 };

export function createUnicodeOrder(compareStrings: CompareStrings): CompareKeys {
  return createOrder(UNICODE_RANKS, compareStrings);
}

function createRawOrder(): CompareKeys {
  return createOrder(RAW_RANKS, compareCodePoints);
}

function createOrder(ranks: Ranks, compareStrings: CompareStrings): CompareKeys {
  const compare: CompareKeys = (left, right) => {
    if (left === right) return 0;
    if (typeof left === 'string' && typeof right === 'string') return compareStrings(left, right);
    if (typeof left === 'number' && typeof right === 'number') return compareNumbers(left, right);
    if (Array.isArray(left) && Array.isArray(right)) return compareArrays(left, right, compare);
    const rank = rankOf(left, ranks) - rankOf(right, ranks);
    if (rank !== 0 || !isObject(left) || !isObject(right)) return rank;
    return compareObjects(left, right, compareStrings, compare);
  };
  return compare;
}

/** Does not subtract: numbers too large for a double are all the same infinity. */
function compareNumbers(left: number, right: number): number {
  if (left < right) return -1;
  return left > right ? 1 : 0;
}

function rankOf(value: unknown, ranks: Ranks): number {
  if (value === null || value === undefined) return ranks.null;
  if (typeof value === 'boolean') return value ? ranks.true : ranks.false;
  if (typeof value === 'number') return ranks.number;
  if (typeof value === 'string') return ranks.string;
  return Array.isArray(value) ? ranks.array : ranks.object;
}

function compareArrays(left: readonly unknown[], right: readonly unknown[], compare: CompareKeys): number {
  const shorter = Math.min(left.length, right.length);
  for (let index = 0; index < shorter; index++) {
    const order = compare(left[index], right[index]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function compareObjects(
  left: JsonObject,
  right: JsonObject,
  compareNames: CompareStrings,
  compare: CompareKeys,
): number {
  const leftNames = Object.keys(left);
  const rightNames = Object.keys(right);
  for (const [index, leftName] of leftNames.entries()) {
    const rightName = rightNames[index];
    if (rightName === undefined) return 1;
    const order = compareNames(leftName, rightName) || compare(left[leftName], right[rightName]);
    if (order !== 0) return order;
  }
  return leftNames.length - rightNames.length;
}
