/**
 * Lists of values, such as that of `$in`, in which a value is found without being compared with each of them. The order of keys decides
 * which values are equal. Strings that are written differently may be equal in it, but plain ones are not.
 */
import type { CompareKeys } from '../../../base/collation/key-order.ts';
import { must } from '../../../base/shared/assert.ts';
import { atOnce, type CooperativeTask } from '../../../base/shared/turn.ts';
import { type Check, Effort } from '../effort.ts';
import { compareInSteps, pairSteps, stepsOf } from './comparison.ts';

const PLAIN = /^[ -~]*$/;
/** A list with up to this many values, each of up to this many steps, is prepared at once. */
const SHORT = 64;

export interface Equality {
  readonly compare: CompareKeys;
  /** Whether strings are equal only if they are the same, as ids are. */
  readonly isExact: boolean;
}

/** What a list is turned into when the first value is looked up. */
interface Prepared {
  /** Numbers of all values that are not arrays or objects, by the value as it is written. */
  readonly scalars: ReadonlyMap<unknown, number>;
  readonly containers: SortedValues;
  /** Whether all strings are plain. */
  readonly isPlain: boolean;
  /** How many different values there are. */
  readonly count: number;
}

/** Values with numbers: equal values have the same number. */
export class ListedValues {
  readonly #list: readonly unknown[];
  readonly #equality: Equality;
  #prepared: Prepared | undefined;
  /** Created when they are needed. */
  #strings: SortedValues | undefined;

  constructor(list: readonly unknown[], equality: Equality) {
    this.#list = list;
    this.#equality = equality;
    if (list.length > SHORT || list.some((value) => stepsOf(value, SHORT) > SHORT)) return;
    const effort = new Effort(undefined);
    atOnce(this.#prepare(effort));
    atOnce(this.#sortStrings(effort));
  }

  /** Returns the number of the listed value that is equal; undefined if there is none. */
  findNow(value: unknown, effort: Effort): number | undefined {
    effort.take(1);
    const prepared = this.#prepared ?? effort.giveUp();
    const number = prepared.scalars.get(value);
    if (number !== undefined) return number;
    if (isContainer(value)) return prepared.containers.findNow(value, effort);
    if (!this.#mayBeWrittenOtherwise(value, prepared)) return undefined;
    const strings = this.#strings ?? effort.giveUp();
    return strings.findNow(value, effort);
  }

  *findInSteps(value: unknown, effort: Effort): CooperativeTask<number | undefined> {
    effort.count(1);
    const prepared = this.#prepared ?? (yield* this.#prepare(effort));
    const number = prepared.scalars.get(value);
    if (number !== undefined) return number;
    if (isContainer(value)) return yield* prepared.containers.findInSteps(value, effort);
    if (!this.#mayBeWrittenOtherwise(value, prepared)) return undefined;
    const strings = this.#strings ?? (yield* this.#sortStrings(effort));
    return yield* strings.findInSteps(value, effort);
  }

  /** Returns how many different values there are. */
  countNow(effort: Effort): number {
    return (this.#prepared ?? effort.giveUp()).count;
  }

  *countInSteps(effort: Effort): CooperativeTask<number> {
    return (this.#prepared ?? (yield* this.#prepare(effort))).count;
  }

  #mayBeWrittenOtherwise(value: unknown, { isPlain }: Prepared): boolean {
    return typeof value === 'string' && !this.#equality.isExact && !(isPlain && PLAIN.test(value));
  }

  *#prepare(effort: Effort): CooperativeTask<Prepared> {
    const { compare, isExact } = this.#equality;
    const scalars = new Map<unknown, number>();
    const unsorted: { readonly value: unknown; readonly number: number }[] = [];
    let isPlain = true;
    for (const [number, value] of this.#list.entries()) {
      effort.count(1);
      if (effort.isRestDue()) yield;
      if (isContainer(value)) unsorted.push({ value, number });
      else if (!scalars.has(value)) scalars.set(value, number);
      if (isPlain && !isExact && typeof value === 'string') isPlain = PLAIN.test(value);
    }
    const containers = yield* SortedValues.of(unsorted, compare, effort);
    if (!isPlain) {
      for (const { value, number } of (yield* this.#sortStrings(effort)).all) scalars.set(value, number);
    }
    const count = isPlain ? scalars.size : new Set(scalars.values()).size;
    this.#prepared = { scalars, containers, isPlain, count: count + containers.count };
    return this.#prepared;
  }

  *#sortStrings(effort: Effort): CooperativeTask<SortedValues> {
    const strings: { readonly value: string; readonly number: number }[] = [];
    for (const [number, value] of this.#list.entries()) {
      effort.count(1);
      if (effort.isRestDue()) yield;
      if (typeof value === 'string') strings.push({ value, number });
    }
    this.#strings = yield* SortedValues.of(strings, this.#equality.compare, effort);
    return this.#strings;
  }
}

/** Whether a value is listed. */
export class ListedCheck implements Check {
  readonly #values: ListedValues;

  constructor(values: ListedValues) {
    this.#values = values;
  }

  now(value: unknown, effort: Effort): boolean {
    return this.#values.findNow(value, effort) !== undefined;
  }

  *inSteps(value: unknown, effort: Effort): CooperativeTask<boolean> {
    return (yield* this.#values.findInSteps(value, effort)) !== undefined;
  }
}

function isContainer(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** A value and its number; equal values have the same number. */
interface Numbered {
  readonly value: unknown;
  readonly number: number;
}

/** Values in the order of keys, in which other values are looked up. */
class SortedValues {
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
