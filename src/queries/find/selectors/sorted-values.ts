import type { CompareKeys } from '../../../base/collation/key-order.ts';
import { must } from '../../../base/shared/assert.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import type { Effort } from '../effort.ts';
import { compareInSteps, pairSteps, stepsOf } from './comparison.ts';

/** A value and its number; equal values have the same number. */
interface Numbered {
  readonly value: unknown;
  readonly number: number;
}

/** Values in the order of keys, in which other values are looked up. */
export class SortedValues {
  readonly #values: readonly Numbered[];
  readonly #compare: CompareKeys;
  /** The steps of the value that takes the most. */
  readonly #mostSteps: number;

  private constructor(values: readonly Numbered[], compare: CompareKeys, mostSteps: number) {
    this.#values = values;
    this.#compare = compare;
    this.#mostSteps = mostSteps;
  }

  static *of(values: readonly Numbered[], compare: CompareKeys, effort: Effort): CooperativeTask<SortedValues> {
    const sorted = yield* sort(values, compare, effort);
    const numbered: Numbered[] = [];
    let mostSteps = 0;
    for (const { value, number } of sorted) {
      const last = numbered.at(-1);
      const isSame = last !== undefined && (yield* compareInSteps(last.value, value, compare, effort)) === 0;
      numbered.push({ value, number: isSame ? last.number : number });
      const steps = stepsOf(value);
      mostSteps = Math.max(mostSteps, steps);
      effort.count(steps);
      if (effort.isRestDue()) yield;
    }
    return new SortedValues(numbered, compare, mostSteps);
  }

  get all(): readonly Numbered[] {
    return this.#values;
  }

  /** Returns how many different values there are. */
  get count(): number {
    return new Set(this.#values.map(({ number }) => number)).size;
  }

  /** Returns the number of the value that is equal; undefined if there is none. */
  findNow(value: unknown, effort: Effort): number | undefined {
    let [low, high] = [0, this.#values.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const { value: other, number } = must(this.#values[middle]);
      effort.take(pairSteps(value, other, this.#mostSteps));
      const order = this.#compare(value, other);
      if (order === 0) return number;
      if (order < 0) high = middle;
      else low = middle + 1;
    }
    return undefined;
  }

  *findInSteps(value: unknown, effort: Effort): CooperativeTask<number | undefined> {
    let [low, high] = [0, this.#values.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const { value: other, number } = must(this.#values[middle]);
      const order = yield* compareInSteps(value, other, this.#compare, effort);
      if (order === 0) return number;
      if (order < 0) high = middle;
      else low = middle + 1;
    }
    return undefined;
  }
}

/** A merge sort whose comparisons may take long themselves. */
function* sort(
  values: readonly Numbered[],
  compare: CompareKeys,
  effort: Effort,
): CooperativeTask<readonly Numbered[]> {
  let [sorted, other] = [[...values], new Array<Numbered>(values.length)];
  for (let width = 1; width < values.length; width *= 2) {
    for (let from = 0; from < values.length; from += 2 * width) {
      const [middle, end] = [Math.min(from + width, values.length), Math.min(from + 2 * width, values.length)];
      let [left, right] = [from, middle];
      for (let at = from; at < end; at++) {
        const isLeft =
          right >= end ||
          (left < middle &&
            (yield* compareInSteps(must(sorted[left]).value, must(sorted[right]).value, compare, effort)) <= 0);
        other[at] = must(sorted[isLeft ? left++ : right++]);
      }
    }
    [sorted, other] = [other, sorted];
  }
  return sorted;
}
