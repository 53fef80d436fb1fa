/** The parts that tests of selectors are made of. Each does its work in one go or in steps, and returns the same result. */
import { isObject } from '../../../base/json/objects.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import { type Check, type Effort, settle } from '../effort.ts';
import { ComparisonCheck } from './comparison.ts';
import type { FieldPath, fieldOf } from './field-path.ts';
import { type Equality, ListedCheck, ListedValues } from './listed-values.ts';

/** A check that takes no time. */
export class SimpleCheck implements Check {
  readonly #holds: (value: unknown) => boolean;
  /** Steps. */
  readonly #cost: number;

  constructor(holds: (value: unknown) => boolean, cost = 1) {
    this.#holds = holds;
    this.#cost = cost;
  }

  now(value: unknown, effort: Effort): boolean {
    effort.take(this.#cost);
    return this.#holds(value);
  }

  *inSteps(value: unknown, effort: Effort): CooperativeTask<boolean> {
    effort.count(this.#cost);
    if (effort.isRestDue()) yield;
    return this.#holds(value);
  }
}

export class NotCheck implements Check {
  readonly #inner: Check;

  constructor(inner: Check) {
    this.#inner = inner;
  }

  now(value: unknown, effort: Effort): boolean {
    return !this.#inner.now(value, effort);
  }

  *inSteps(value: unknown, effort: Effort): CooperativeTask<boolean> {
    return !(yield* this.#inner.inSteps(value, effort));
  }
}

/** Whether all checks of the same value hold, or one of them. */
export class JunctionCheck implements Check {
  readonly #checks: readonly Check[];
  readonly #isOr: boolean;

  constructor(kind: 'and' | 'or', checks: readonly Check[]) {
    this.#checks = checks;
    this.#isOr = kind === 'or';
  }

  now(value: unknown, effort: Effort): boolean {
    for (const check of this.#checks) if (check.now(value, effort) === this.#isOr) return this.#isOr;
    return !this.#isOr;
  }

  *inSteps(value: unknown, effort: Effort): CooperativeTask<boolean> {
    for (const check of this.#checks) if ((yield* settle(check, value, effort)) === this.#isOr) return this.#isOr;
    return !this.#isOr;
  }
}

/** Whether the check of a field holds; false if the field is missing. */
export class FieldCheck implements Check {
  readonly #path: FieldPath;
  readonly #inner: Check;
  readonly #read: typeof fieldOf;

  constructor(path: FieldPath, inner: Check, read: typeof fieldOf) {
    this.#path = path;
    this.#inner = inner;
    this.#read = read;
  }

  now(value: unknown, effort: Effort): boolean {
    effort.take(1);
    const field = this.#read(value, this.#path);
    return field !== undefined && this.#inner.now(field, effort);
  }

  *inSteps(value: unknown, effort: Effort): CooperativeTask<boolean> {
    effort.count(1);
    const field = this.#read(value, this.#path);
    return field !== undefined && (yield* this.#inner.inSteps(field, effort));
  }
}

/** Whether the check holds for one item of a value's content, or for each item. False if there are no items. */
export class ContentCheck implements Check {
  readonly #inner: Check;
  readonly #isEach: boolean;
  readonly #contentOf: (value: unknown) => readonly unknown[] | undefined;

  constructor(of: 'one' | 'each', contentOf: (value: unknown) => readonly unknown[] | undefined, inner: Check) {
    this.#inner = inner;
    this.#isEach = of === 'each';
    this.#contentOf = contentOf;
  }

  now(value: unknown, effort: Effort): boolean {
    effort.take(1);
    const content = this.#contentOf(value) ?? [];
    for (const item of content) if (this.#inner.now(item, effort) !== this.#isEach) return !this.#isEach;
    return this.#isEach && content.length > 0;
  }

  *inSteps(value: unknown, effort: Effort): CooperativeTask<boolean> {
    const content = this.#contentOf(value) ?? [];
    effort.count(1 + content.length);
    for (const item of content) {
      if ((yield* settle(this.#inner, item, effort)) !== this.#isEach) return !this.#isEach;
    }
    return this.#isEach && content.length > 0;
  }
}

export function elementsOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

export function namesOf(value: unknown): readonly unknown[] | undefined {
  return isObject(value) ? Object.keys(value) : undefined;
}

/** An array passes if one of its elements is listed. */
export class InListCheck implements Check {
  readonly #listed: Check;
  readonly #elements: Check;

  constructor(list: readonly unknown[], equality: Equality) {
    this.#listed = new ListedCheck(new ListedValues(list, equality));
    this.#elements = new ContentCheck('one', elementsOf, this.#listed);
  }

  now(value: unknown, effort: Effort): boolean {
    return (Array.isArray(value) ? this.#elements : this.#listed).now(value, effort);
  }

  inSteps(value: unknown, effort: Effort): CooperativeTask<boolean> {
    return (Array.isArray(value) ? this.#elements : this.#listed).inSteps(value, effort);
  }
}

/** An array passes if it contains all listed values, or if it equals the only listed value. */
export class AllCheck implements Check {
  readonly #list: readonly unknown[];
  readonly #values: ListedValues;
  readonly #isOnly: Check | undefined;

  constructor(list: readonly unknown[], equality: Equality) {
    const [only] = list;
    this.#list = list;
    this.#values = new ListedValues(list, equality);
    if (list.length === 1 && Array.isArray(only)) {
      this.#isOnly = new ComparisonCheck(equality.compare, only, (order) => order === 0);
    }
  }

  now(value: unknown, effort: Effort): boolean {
    effort.take(1);
    if (!Array.isArray(value) || this.#list.length === 0) return false;
    const count = this.#values.countNow(effort);
    const found = new Set<number>();
    for (const element of value) {
      const number = this.#values.findNow(element, effort);
      if (number === undefined) continue;
      if (found.add(number).size === count) return true;
    }
    return this.#isOnly?.now(value, effort) ?? false;
  }

  *inSteps(value: unknown, effort: Effort): CooperativeTask<boolean> {
    if (!Array.isArray(value) || this.#list.length === 0) return false;
    const count = yield* this.#values.countInSteps(effort);
    const found = new Set<number>();
    for (const element of value) {
      const number = yield* this.#values.findInSteps(element, effort);
      if (effort.isRestDue()) yield;
      if (number === undefined) continue;
      if (found.add(number).size === count) return true;
    }
    return this.#isOnly === undefined ? false : yield* this.#isOnly.inSteps(value, effort);
  }
}
