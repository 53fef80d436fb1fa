import { failedReduction, numberOf, type Reducer, type RowList, toFinite } from './reducer.ts';

const REASON = 'builtin _sum function requires map values to be numbers or lists of numbers';

/** `_sum` of numbers, or of lists of numbers element by element; a shorter list is filled up with zeros. */
export const sumReducer: Reducer = {
  reduce(rows) {
    const total = sumNumbers(rows);
    return total === undefined ? sumTexts(valueTexts(rows)) : numberText(total);
  },
  rereduce: (sums) => sumTexts(sums),
};

/** Undefined where a value is no number. */
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

function sumTexts(texts: readonly string[]): string {
  let total: number | readonly number[] | undefined;
  for (const text of texts) {
    const value = numberOf(text) ?? parseNumbers(text);
    const sum = value === undefined ? undefined : add(total, value);
    if (sum === undefined) return failedReduction('invalid_value', REASON);
    total = sum;
  }
  return typeof total === 'number' ? numberText(total) : JSON.stringify(total?.map(toFinite));
}

function parseNumbers(text: string): number[] | undefined {
  if (!text.startsWith('[')) return undefined;
  const values: unknown = JSON.parse(text);
  return Array.isArray(values) && values.every((value) => typeof value === 'number') ? values : undefined;
}

/** Undefined where one is a number and the other a list. */
function add(
  left: number | readonly number[] | undefined,
  right: number | readonly number[],
): number | readonly number[] | undefined {
  if (left === undefined) return right;
  if (typeof left === 'number') return typeof right === 'number' ? left + right : undefined;
  if (typeof right === 'number') return undefined;
  const length = Math.max(left.length, right.length);
  return Array.from({ length }, (_unused, index) => (left[index] ?? 0) + (right[index] ?? 0));
}

function numberText(value: number): string {
  return JSON.stringify(toFinite(value));
}
