import { must } from './assert.ts';
import type { Steps } from './turn.ts';

/** Items that are sorted, or merged, in one step. */
const ITEMS_PER_STEP = 4_096;

/** As `items.toSorted(compare)`, in steps: others may have a turn between them. */
export function* sortInSteps<T>(items: readonly T[], compare: (left: T, right: T) => number): Steps<T[]> {
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

/** Of equals, those of the left side come first. */
function* merge<T>(left: readonly T[], right: readonly T[], compare: (left: T, right: T) => number): Steps<T[]> {
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
