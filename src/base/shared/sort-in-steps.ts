import { must } from './assert.ts';
import type { CooperativeTask } from './turn.ts';

/** Number of items that are sorted, or merged, in one step. */
const ITEMS_PER_STEP = 4_096;

/** Like `items.toSorted(compare)`, in steps: other work may run between them. */
export function* sortInSteps<T>(items: readonly T[], compare: (left: T, right: T) => number): CooperativeTask<T[]> {
  let runs: T[][] = [];
  for (let from = 0; from < items.length; from += ITEMS_PER_STEP) {
    runs.push(items.slice(from, from + ITEMS_PER_STEP).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      const [left, right] = [must(runs[index]), runs[index + 1]];
      merged.push(right === undefined ? left : yield* merge(left, right, compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

/** Sorts numbers in place, in steps, without calling a comparison for each pair. Returns the same array, or another of its kind. */
export function* sortNumbersInSteps(numbers: Float64Array): CooperativeTask<Float64Array> {
  for (let from = 0; from < numbers.length; from += ITEMS_PER_STEP) {
    numbers.subarray(from, from + ITEMS_PER_STEP).sort();
    yield;
  }
  let sorted = numbers;
  let other: Float64Array = new Float64Array(numbers.length > ITEMS_PER_STEP ? numbers.length : 0);
  for (let width = ITEMS_PER_STEP; width < numbers.length; width *= 2) {
    for (let from = 0; from < numbers.length; from += 2 * width) yield* mergeNumbers(sorted, other, from, width);
    [sorted, other] = [other, sorted];
  }
  return sorted;
}

/** Merges the sorted runs that begin at `from` and at `from + width`, each of at most `width` numbers. */
function* mergeNumbers(source: Float64Array, target: Float64Array, from: number, width: number): CooperativeTask<void> {
  const [middle, end] = [Math.min(from + width, source.length), Math.min(from + 2 * width, source.length)];
  let [left, right] = [from, middle];
  for (let at = from; at < end; at += 1) {
    const isLeft = right >= end || (left < middle && must(source[left]) <= must(source[right]));
    target[at] = must(isLeft ? source[left++] : source[right++]);
    if (at % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
  }
}

/** Merges two sides; of equal items, those of the left side come first. */
function* merge<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (left: T, right: T) => number,
): CooperativeTask<T[]> {
  const merged: T[] = [];
  let [taken, other] = [0, 0];
  while (taken < left.length && other < right.length) {
    const [first, second] = [must(left[taken]), must(right[other])];
    if (compare(first, second) <= 0) {
      merged.push(first);
      taken++;
    } else {
      merged.push(second);
      other++;
    }
    if (merged.length % ITEMS_PER_STEP === 0) yield;
  }
  for (; taken < left.length; taken++) merged.push(must(left[taken]));
  for (; other < right.length; other++) merged.push(must(right[other]));
  return merged;
}
