/** Says where and why a value does not fulfil a selector (docs/http.md#declarative-validation). */
import type { CompareKeys } from '../../collation/key-order.ts';
import { excerpt } from '../query-error.ts';
import { fieldOf } from './field-path.ts';
import type { Condition, FieldCondition, Operator, Selector } from './selector.ts';
import { createTest } from './selector-test.ts';

export interface SelectorFailure {
  /** Names of members, and numbers of elements. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** A document with a long array may fail in each of its elements. */
const MOST_FAILURES = 100;

type Path = SelectorFailure['path'];

/** The conditions that do not hold, of each alternative where none does; at most `MOST_FAILURES`. None where the value fulfils the selector. */
export function failuresOf(selector: Selector, value: unknown, compare: CompareKeys): SelectorFailure[] {
  const failures: SelectorFailure[] = [];
  for (const failure of failuresIn(selector, value, [], compare)) {
    failures.push(failure);
    if (failures.length === MOST_FAILURES) break;
  }
  return failures;
}

function* failuresIn(selector: Selector, value: unknown, at: Path, compare: CompareKeys): Generator<SelectorFailure> {
  if (selector.kind !== 'and' && createTest(selector, compare)(value)) return;
  if (selector.kind === 'field') yield* fieldFailures(selector, value, at, compare);
  else for (const part of selector.parts) yield* failuresIn(part, value, at, compare);
}

/** Of a condition that does not hold. */
function* fieldFailures(
  { path: { names }, path, condition }: FieldCondition,
  value: unknown,
  at: Path,
  compare: CompareKeys,
): Generator<SelectorFailure> {
  const place = [...at, ...names];
  const field = fieldOf(value, path);
  const { operator, isNegated, nested } = condition;
  if (field === undefined && operator !== '$exists') {
    yield { path: place, message: 'must be present' };
  } else if (
    operator === '$allMatch' &&
    !isNegated &&
    nested !== undefined &&
    Array.isArray(field) &&
    field.length > 0
  ) {
    for (const [index, element] of field.entries()) yield* failuresIn(nested, element, [...place, index], compare);
  } else {
    yield { path: place, message: messageOf(condition) };
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
