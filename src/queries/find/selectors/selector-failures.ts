/** Says where and why a value does not fulfil a selector (docs/http/functions.md#declarative-validation). */
import type { CompareKeys } from '../../../base/collation/key-order.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import { Effort, settle } from '../effort.ts';
import { excerpt } from '../query-error.ts';
import { fieldOf } from './field-path.ts';
import type { Condition, FieldCondition, Operator, Selector } from './selector.ts';
import { createCheck } from './selector-check.ts';

interface SelectorFailure {
  /** Names of members, and numbers of elements. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** A document with a long array may fail in each of its elements. */
const MAX_FAILURES = 100;

type Path = SelectorFailure['path'];

/**
 * Returns the conditions that do not hold, of each alternative if none holds; at most `MAX_FAILURES`. Empty if the selector is fulfilled.
 * Fails with 400 `too_many_steps`.
 */
export function* failuresOf(
  selector: Selector,
  value: unknown,
  compare: CompareKeys,
): CooperativeTask<SelectorFailure[]> {
  const search = new FailureSearch(compare);
  yield* search.searchIn(selector, value, []);
  return search.found;
}

class FailureSearch {
  readonly found: SelectorFailure[] = [];
  readonly #compare: CompareKeys;
  readonly #effort = new Effort(undefined);

  constructor(compare: CompareKeys) {
    this.#compare = compare;
  }

  *searchIn(selector: Selector, value: unknown, at: Path): CooperativeTask<void> {
    if (this.#isFull) return;
    if (selector.kind !== 'and' && (yield* settle(createCheck(selector, this.#compare), value, this.#effort))) return;
    if (selector.kind === 'field') yield* this.#searchField(selector, value, at);
    else for (const part of selector.parts) yield* this.searchIn(part, value, at);
  }

  get #isFull(): boolean {
    return this.found.length === MAX_FAILURES;
  }

  /** Finds the failures of a condition that does not hold. */
  *#searchField({ path: { names }, path, condition }: FieldCondition, value: unknown, at: Path): CooperativeTask<void> {
    const place = [...at, ...names];
    const field = fieldOf(value, path);
    const { operator, isNegated, nested } = condition;
    if (field === undefined && operator !== '$exists') {
      this.found.push({ path: place, message: 'must be present' });
    } else if (
      operator === '$allMatch' &&
      !isNegated &&
      nested !== undefined &&
      Array.isArray(field) &&
      field.length > 0
    ) {
      for (const [index, element] of field.entries()) {
        if (this.#isFull) return;
        yield* this.searchIn(nested, element, [...place, index]);
      }
    } else {
      this.found.push({ path: place, message: messageOf(condition) });
    }
  }
}

const PHRASES: Readonly<Record<Operator, string>> = {
  $lt: 'be less than',
  $lte: 'be less than or equal to',
  $eq: 'be equal to',
  $ne: 'be different from',
  $gte: 'be greater than or equal to',
  $gt: 'be greater than',
  $exists: 'be present',
  $type: 'be of the type',
  $in: 'be one of',
  $nin: 'be none of',
  $size: 'be an array of the length',
  $mod: 'be an integer with the divisor and remainder',
  $regex: 'be a string that matches',
  $beginsWith: 'be a string that begins with',
  $all: 'be an array with all of',
  $elemMatch: 'be an array with an element that fulfils',
  $allMatch: 'be an array that is not empty, in which each element fulfils',
  $keyMapMatch: 'be an object with a name that fulfils',
};

function messageOf({ operator, argument, isNegated }: Condition): string {
  if (operator === '$exists') return argument === false ? 'must not be present' : 'must be present';
  return `must ${isNegated ? 'not ' : ''}${PHRASES[operator]} ${excerpt(argument)}`;
}
