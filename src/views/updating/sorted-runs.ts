import { must } from '../../shared/assert.ts';
import type { Pace } from '../../shared/turn.ts';

/** Items that are sorted at once: a millisecond's work or so. */
const RUN_LENGTH = 1_024;

/**
 * Sorts what comes in batches, so that no single step takes long: runs of a thousand or so are sorted as they come
 * together, and runs of about the same length are merged, two at a time, when whoever adds asks for it.
 */
export class SortedRuns<T> {
  readonly #compare: (left: T, right: T) => number;
  /** Longer ones first; each at least twice as long as the next but the last. */
  #runs: T[][] = [];
  /** What came since the last run was made. */
  #loose: T[] = [];

  constructor(compare: (left: T, right: T) => number) {
    this.#compare = compare;
  }

  add(items: readonly T[]): void {
    for (const item of items) this.#loose.push(item);
    if (this.#loose.length >= RUN_LENGTH) this.#makeRun();
  }

  #makeRun(): void {
    this.#runs.push(this.#loose.sort(this.#compare));
    this.#loose = [];
  }

  /** Does a step of the merging that is due. False where there is none. Ask until then, with turns for others in between. */
  mergeSome(): boolean {
    const isDue = this.#hasEqualRuns();
    if (isDue) this.#mergeLast();
    return isDue;
  }

  /** All items in order; none are left. */
  async take(pace: Pace): Promise<T[]> {
    if (this.#loose.length > 0) this.#makeRun();
    while (this.#runs.length > 1) {
      this.#mergeLast();
      if (pace.isDue) await pace.rest();
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

/** Of equal items those of `left` come first. */
export function mergeSorted<T>(left: T[], right: T[], compare: (left: T, right: T) => number): T[] {
  const lastLeft = left.at(-1);
  const firstRight = right[0];
  if (lastLeft === undefined || firstRight === undefined) return lastLeft === undefined ? right : left;
  // Keys that only grow, such as times, need one comparison.
  if (compare(lastLeft, firstRight) <= 0) return left.concat(right);
  // What is left of `right` in the end stands in its place already.
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
