import { must } from '../../../base/shared/assert.ts';
import type { CooperativeTask, TimeSlice } from '../../../base/shared/turn.ts';

/** The number of items that are sorted at once, which takes about a millisecond. */
const RUN_LENGTH = 1_024;

/**
 * A merge sort for items that are added in batches, in short steps: runs of about a thousand items are
 * sorted when they are complete, and runs of about the same length are merged by `mergeSome`, two at a time.
 */
export class SortedRuns<T> {
  readonly #compare: (left: T, right: T) => number;
  /** Sorted runs, the longer ones first. */
  #runs: T[][] = [];
  /** Items that are in no run yet. */
  #unsorted: T[] = [];

  constructor(compare: (left: T, right: T) => number) {
    this.#compare = compare;
  }

  /** Adds items. Takes one step for each run that becomes complete. */
  *add(items: readonly T[]): CooperativeTask<void> {
    for (const item of items) {
      this.#unsorted.push(item);
      if (this.#unsorted.length < RUN_LENGTH) continue;
      this.#makeRun();
      yield;
    }
  }

  #makeRun(): void {
    this.#runs.push(this.#unsorted.sort(this.#compare));
    this.#unsorted = [];
  }

  /** Merges two runs of about the same length, if there are any. To be called until it returns false, with pauses between. */
  mergeSome(): boolean {
    const isDue = this.#hasEqualRuns();
    if (isDue) this.#mergeLast();
    return isDue;
  }

  /** Removes all items, and returns them in order. */
  async take(timeSlice: TimeSlice): Promise<T[]> {
    if (this.#unsorted.length > 0) this.#makeRun();
    while (this.#runs.length > 1) {
      this.#mergeLast();
      if (timeSlice.isDue) await timeSlice.rest();
    }
    const [only] = this.#runs;
    this.#runs = [];
    return only ?? [];
  }

  #hasEqualRuns(): boolean {
    const [last, former] = [this.#runs.at(-1), this.#runs.at(-2)];
    return last !== undefined && former !== undefined && former.length < 2 * last.length;
  }

  #mergeLast(): void {
    const right = must(this.#runs.pop());
    const left = must(this.#runs.pop());
    this.#runs.push(mergeSorted(left, right, this.#compare));
  }
}

/** Merges two sorted lists. Equal items of `left` come first. */
function mergeSorted<T>(left: T[], right: T[], compare: (left: T, right: T) => number): T[] {
  const lastLeft = left.at(-1);
  const firstRight = right[0];
  if (lastLeft === undefined || firstRight === undefined) return lastLeft === undefined ? right : left;
  // One comparison is enough for keys that only grow, such as times.
  if (compare(lastLeft, firstRight) <= 0) return left.concat(right);
  // The rest of `right` is in its place already when `left` is merged.
  const merged = left.concat(right);
  let [leftAt, rightAt, at] = [0, 0, 0];
  let [leftItem, rightItem]: [T | undefined, T | undefined] = [left[0], right[0]];
  while (leftItem !== undefined && rightItem !== undefined) {
    if (compare(leftItem, rightItem) <= 0) {
      merged[at++] = leftItem;
      leftItem = left[++leftAt];
    } else {
      merged[at++] = rightItem;
      rightItem = right[++rightAt];
    }
  }
  for (; leftItem !== undefined; leftItem = left[++leftAt]) merged[at++] = leftItem;
  return merged;
}
