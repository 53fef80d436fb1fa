/** Reads the conditions of selectors: their operators, the arguments that these take, and the opposites of operators. */

import { isObject } from '../../../base/json/objects.ts';
import { parsePattern } from '../patterns/pattern.ts';
import { badArgument, excerpt, queryError } from '../query-error.ts';
import type { Condition, Operator, Selector } from './selector.ts';
import type { SelectorRoom } from './selector-room.ts';

type ParseSelector = (value: unknown) => Selector;

/** Returns undefined if an operator takes the argument, else a sentence that says which it takes. */
type ArgumentCheck = (argument: unknown) => string | undefined;

const anything: ArgumentCheck = () => undefined;
const list: ArgumentCheck = (argument) => (Array.isArray(argument) ? undefined : 'Give a list.');
const text: ArgumentCheck = (argument) => (typeof argument === 'string' ? undefined : 'Give a string.');
const selector: ArgumentCheck = (argument) => (isObject(argument) ? undefined : 'Give a selector.');

const ARGUMENTS: Readonly<Record<Operator, ArgumentCheck>> = {
  $lt: anything,
  $lte: anything,
  $eq: anything,
  $ne: anything,
  $gte: anything,
  $gt: anything,
  $exists: (argument) => (typeof argument === 'boolean' ? undefined : 'Give true or false.'),
  $type: text,
  $in: list,
  $nin: list,
  $size: (argument) => (isInteger(argument) && argument >= 0 ? undefined : 'Give a whole number, 0 or larger.'),
  $mod: (argument) => (isDivision(argument) ? undefined : 'Give a list of a divisor, not 0, and a remainder.'),
  $regex: text,
  $beginsWith: text,
  $all: list,
  $elemMatch: selector,
  $allMatch: selector,
  $keyMapMatch: selector,
};

const OPPOSITES: ReadonlyMap<Operator, Operator> = new Map([
  ['$lt', '$gte'],
  ['$gte', '$lt'],
  ['$lte', '$gt'],
  ['$gt', '$lte'],
  ['$eq', '$ne'],
  ['$ne', '$eq'],
  ['$in', '$nin'],
  ['$nin', '$in'],
]);

interface ConditionOptions {
  readonly room: SelectorRoom;
  /** Reads the nested selectors. */
  readonly parseSelector: ParseSelector;
}

/** Parses a condition. Fails with 400 `invalid_operator`, `bad_arg` and `invalid_selector`. */
export function parseCondition(
  name: string,
  argument: unknown,
  isNegated: boolean,
  { room, parseSelector }: ConditionOptions,
): Condition {
  room.addCondition();
  if (!isOperator(name)) {
    const known = Object.keys(ARGUMENTS).join(' ');
    throw queryError('invalid_operator', `Invalid operator: ${excerpt(name)}. There are ${known} $and $or $nor $not.`);
  }
  const remedy = ARGUMENTS[name](argument);
  if (remedy !== undefined) throw badArgument(name, argument, remedy);
  if (Array.isArray(argument)) room.addValues(argument.length);
  if (name === '$exists') return { operator: name, argument: argument !== isNegated, isNegated: false };
  const opposite = isNegated ? OPPOSITES.get(name) : undefined;
  if (opposite !== undefined) return { operator: opposite, argument, isNegated: false };
  if (name === '$regex') {
    return { operator: name, argument, isNegated, pattern: parsePattern(`${argument}`, room.patterns) };
  }
  if (!isNesting(name)) return { operator: name, argument, isNegated };
  return { operator: name, argument, isNegated, nested: parseSelector(argument) };
}

/** Returns whether it is a list of a divisor, which is not 0, and a remainder. */
export function isDivision(argument: unknown): argument is readonly [number, number] {
  if (!Array.isArray(argument) || argument.length !== 2) return false;
  const [divisor, remainder]: readonly unknown[] = argument;
  return isInteger(divisor) && divisor !== 0 && isInteger(remainder);
}

export function isInteger(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value);
}

function isOperator(name: string): name is Operator {
  return Object.hasOwn(ARGUMENTS, name);
}

function isNesting(name: Operator): boolean {
  return name === '$elemMatch' || name === '$allMatch' || name === '$keyMapMatch';
}
