/**
 * Lists of values, such as that of `$in`, in which a value is found without being compared with each of them. The order of keys decides
 * which values are equal. Strings that are written differently may be equal in it, but plain ones are not.
 */
import type { CompareKeys } from '../../../base/collation/key-order.ts';
import { atOnce, type CooperativeTask } from '../../../base/shared/turn.ts';
import { type Check, Effort } from '../effort.ts';
import { stepsOf } from './comparison.ts';
import { SortedValues } from './sorted-values.ts';

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
