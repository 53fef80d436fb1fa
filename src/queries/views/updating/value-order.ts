/**
 * The order of rows that one document emitted with one key: ascending by value, in raw order, as other servers have it
 * (docs/http/views.md#order-of-keys). Rows of equal values are in the order of emission.
 */
import { type CompareKeys, createKeyOrder } from '../../../base/collation/key-order.ts';
import { isShallow } from '../../../base/json/nesting.ts';
import { must } from '../../../base/shared/assert.ts';
import { sortInSteps } from '../../../base/shared/sort-in-steps.ts';
import { type CooperativeTask, mapInSteps } from '../../../base/shared/turn.ts';
import type { MappedRows } from '../../sandbox/contract.ts';

/** Up to this many keys are compared one by one, which takes less time than a set. */
const FEW_KEYS = 32;
/** Rows that are processed between two checks of the clock. */
const ROWS_PER_STEP = 1_000;

/** A value that was emitted; `value` is absent if it is nested too deeply to be compared, and then sorts above all others. */
interface Emitted {
  readonly text: string;
  readonly value: unknown;
}

/** Returns the values of a map's result, with those that one document emitted with one key in order. */
export function* valuesInOrder({ counts, keys, values }: MappedRows): CooperativeTask<readonly string[]> {
  let ordered: string[] | undefined;
  let row = 0;
  let rowsOfStep = 0;
  for (const count of counts) {
    rowsOfStep += count;
    if (rowsOfStep >= ROWS_PER_STEP) {
      rowsOfStep = 0;
      yield;
    }
    for (const rows of rowsOfEqualKeys(keys, row, count)) {
      if (areEqual(values, rows)) continue;
      ordered ??= [...values];
      const sorted = yield* sortValues(rows.map((at) => must(values[at])));
      for (const [index, at] of rows.entries()) ordered[at] = must(sorted[index]);
    }
    row += count;
  }
  return ordered ?? values;
}

/** Returns groups of two or more rows that have one key, among the `count` rows from `start` on. */
function rowsOfEqualKeys(keys: readonly string[], start: number, count: number): readonly (readonly number[])[] {
  if (count < 2 || areDistinct(keys, start, count)) return [];
  const groups = new Map<string, number[]>();
  for (let at = start; at < start + count; at++) {
    const key = must(keys[at]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [at]);
    else group.push(at);
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}

function areDistinct(keys: readonly string[], start: number, count: number): boolean {
  if (count > FEW_KEYS) return new Set(keys.slice(start, start + count)).size === count;
  for (let at = start + 1; at < start + count; at++) {
    for (let former = start; former < at; former++) if (keys[former] === keys[at]) return false;
  }
  return true;
}

function areEqual(values: readonly string[], rows: readonly number[]): boolean {
  const first = values[must(rows[0])];
  return rows.every((at) => values[at] === first);
}

function* sortValues(texts: readonly string[]): CooperativeTask<string[]> {
  const order = createKeyOrder('raw');
  const emitted = yield* mapInSteps(texts, (text): Emitted => {
    const value: unknown = JSON.parse(text);
    return { text, value: isShallow(value) ? value : undefined };
  });
  const sorted = yield* sortInSteps(emitted, (left, right) => compareEmitted(left, right, order));
  return sorted.map(({ text }) => text);
}

function compareEmitted({ value: left }: Emitted, { value: right }: Emitted, order: CompareKeys): number {
  if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
  return order(left, right);
}
