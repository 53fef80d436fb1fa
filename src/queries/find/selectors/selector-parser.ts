/**
 * Reads selectors as clients write them (docs/http/find.md#selectors) into the form of selector.ts: their conditions with the arguments
 * that the operators take, and the opposites of negated operators.
 */
import { isObject } from '../../../base/json/objects.ts';
import { badArgument, excerpt, queryError } from '../query-error.ts';
import { EMPTY_PATH, type FieldPath, joinPaths, parseFieldPath } from './field-path.ts';
import { parsePattern } from './pattern.ts';
import {
  type Condition,
  EVERYTHING,
  type FieldCondition,
  type Junction,
  type Operator,
  type Selector,
} from './selector.ts';
import { SelectorRoom } from './selector-room.ts';

/** Parses a selector. Fails with 400 `invalid_selector_json`, `invalid_operator`, `bad_arg`, `invalid_field_name`, `invalid_selector`. */
export function parseSelector(value: unknown): Selector {
  if (!isObject(value)) {
    throw queryError('invalid_selector_json', `Selector must be a JSON object, not: ${excerpt(value)}`);
  }
  if (Object.keys(value).length === 0) return EVERYTHING;
  const selector = new SelectorParser().parse(value, EMPTY_PATH, false);
  checkFieldNames(selector);
  return selector;
}

class SelectorParser {
  readonly #needs = {
    room: new SelectorRoom(),
    parseSelector: (value: unknown) => this.parse(value, EMPTY_PATH, false),
  };

  /** Reads what a selector has for the field at `path`: operators, fields within it, or a value that it must have. */
  parse(value: unknown, path: FieldPath, isNegated: boolean): Selector {
    if (!isObject(value)) return this.#condition(path, '$eq', value, isNegated);
    const entries = Object.entries(value);
    const [first, second] = entries;
    if (first === undefined) return this.#condition(path, '$eq', value, isNegated);
    if (second === undefined) return this.#entry(first, path, isNegated);
    const parts = entries.map((entry) => this.#entry(entry, path, isNegated));
    return { kind: isNegated ? 'or' : 'and', parts };
  }

  #entry([name, value]: readonly [string, unknown], path: FieldPath, isNegated: boolean): Selector {
    if (name === '$not') return this.parse(requireObject(name, value), path, !isNegated);
    if (name === '$and' || name === '$or') return this.#junction(name, value, path, isNegated);
    // `$nor` is the negation of `$or`.
    if (name === '$nor') return this.#junction('$or', requireList(name, value), path, !isNegated);
    if (name.startsWith('$')) return this.#condition(path, name, value, isNegated);
    const inner = name === '' && path === EMPTY_PATH ? EMPTY_PATH : joinPaths(path, parseFieldPath(name));
    return this.parse(value, inner, isNegated);
  }

  #junction(name: '$and' | '$or', value: unknown, path: FieldPath, isNegated: boolean): Junction {
    const parts = requireList(name, value).map((part) => this.parse(part, path, isNegated));
    return { kind: (name === '$and') === isNegated ? 'or' : 'and', parts };
  }

  #condition(path: FieldPath, operator: string, argument: unknown, isNegated: boolean): FieldCondition {
    return { kind: 'field', path, condition: parseCondition(operator, argument, isNegated, this.#needs) };
  }
}

function requireList(operator: string, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw queryError('bad_arg', `Bad argument for operator ${operator}: ${excerpt(value)}. Give a list of selectors.`);
}

function requireObject(operator: string, value: unknown): unknown {
  if (isObject(value)) return value;
  throw queryError('bad_arg', `Bad argument for operator ${operator}: ${excerpt(value)}. Give a selector.`);
}

/** Outside of `$elemMatch`, `$allMatch` and `$keyMapMatch` every condition must have a field. */
function checkFieldNames(selector: Selector): void {
  if (selector.kind !== 'field') {
    for (const part of selector.parts) checkFieldNames(part);
  } else if (selector.path.names.length === 0) {
    throw queryError(
      'invalid_selector',
      'One or more conditions is missing a field name. Put each condition into the object of its field: {"age": {"$gt": 18}}.',
    );
  }
}

type ParseSelector = (value: unknown) => Selector;

/** Returns undefined if an operator takes the argument, else a sentence that says which it takes. */
type ArgumentCheck = (argument: unknown) => string | undefined;

const takesAnything: ArgumentCheck = () => undefined;
const takesList: ArgumentCheck = (argument) => (Array.isArray(argument) ? undefined : 'Give a list.');
const takesText: ArgumentCheck = (argument) => (typeof argument === 'string' ? undefined : 'Give a string.');
const takesSelector: ArgumentCheck = (argument) => (isObject(argument) ? undefined : 'Give a selector.');

const ARGUMENTS: Readonly<Record<Operator, ArgumentCheck>> = {
  $lt: takesAnything,
  $lte: takesAnything,
  $eq: takesAnything,
  $ne: takesAnything,
  $gte: takesAnything,
  $gt: takesAnything,
  $exists: (argument) => (typeof argument === 'boolean' ? undefined : 'Give true or false.'),
  $type: takesText,
  $in: takesList,
  $nin: takesList,
  $size: (argument) => (isInteger(argument) && argument >= 0 ? undefined : 'Give a whole number, 0 or larger.'),
  $mod: (argument) => (isDivision(argument) ? undefined : 'Give a list of a divisor, not 0, and a remainder.'),
  $regex: takesText,
  $beginsWith: takesText,
  $all: takesList,
  $elemMatch: takesSelector,
  $allMatch: takesSelector,
  $keyMapMatch: takesSelector,
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
function parseCondition(
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
