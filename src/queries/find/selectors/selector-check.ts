/** Turns a parsed selector into a check of values, and that into a test of documents. */
import { type CompareKeys, createKeyOrder } from '../../../base/collation/key-order.ts';
import { parseInTurns } from '../../../base/json/parse-in-steps.ts';
import { must } from '../../../base/shared/assert.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { type CooperativeTask, isThreadUsedUp, LONG_STEP, runCooperatively } from '../../../base/shared/turn.ts';
import { type Check, Effort, type StepBudget } from '../effort.ts';
import {
  AllCheck,
  ContentCheck,
  elementsOf,
  FieldCheck,
  InListCheck,
  JunctionCheck,
  NotCheck,
  namesOf,
  SimpleCheck,
} from './checks.ts';
import { ComparisonCheck } from './comparison.ts';
import { type FieldPath, fieldOf } from './field-path.ts';
import { type Equality, ListedCheck, ListedValues } from './listed-values.ts';
import type { Condition, FieldCondition, Junction, Operator, Selector } from './selector.ts';
import { isDivision, isInteger } from './selector-parser.ts';

/** If a field has this many equality conditions or more, their values are looked up together. */
const MANY_EQUALITIES = 8;
/** Characters of a prefix that are compared in the time of a step. */
const PREFIX_CHARACTERS = 1_024;

type ReadField = (value: unknown, path: FieldPath) => unknown;

/** Creates a check. `compare` and `read` as for `createTest`. */
export function createCheck(selector: Selector, compare: CompareKeys, read: ReadField = fieldOf): Check {
  return new CheckMaker(compare, read).make(selector);
}

class CheckMaker {
  readonly #compare: CompareKeys;
  readonly #compareIds = createKeyOrder('raw');
  readonly #read: ReadField;

  constructor(compare: CompareKeys, read: ReadField) {
    this.#compare = compare;
    this.#read = read;
  }

  make(selector: Selector): Check {
    return selector.kind === 'field' ? this.#field(selector) : this.#junction(selector);
  }

  #junction({ kind, parts }: Junction): Check {
    if (parts.length === 0) return new SimpleCheck(() => true);
    const alike = equalitiesOf(kind, parts);
    const checks: Check[] = [];
    for (const equalities of alike.values()) checks.push(this.#equalities(kind, equalities));
    for (const part of parts) {
      if (!isEquality(kind, part) || !alike.has(part.path.text)) checks.push(this.make(part));
    }
    return checks.length === 1 ? must(checks[0]) : new JunctionCheck(kind, checks);
  }

  /** Returns a check of whether the field equals one of the values, or none of them. */
  #equalities(kind: Junction['kind'], equalities: Equalities): Check {
    const { path, values } = equalities;
    const listed = new ListedCheck(new ListedValues(values, this.#equality(path)));
    return new FieldCheck(path, kind === 'or' ? listed : new NotCheck(listed), this.#read);
  }

  #field({ path, condition }: FieldCondition): Check {
    const { operator, argument } = condition;
    if (operator === '$exists') return new SimpleCheck((value) => (this.#read(value, path) !== undefined) === argument);
    const check = this.#condition(condition, this.#equality(path));
    return new FieldCheck(path, condition.isNegated ? new NotCheck(check) : check, this.#read);
  }

  #equality({ text }: FieldPath): Equality {
    return text === '_id' ? { compare: this.#compareIds, isExact: true } : { compare: this.#compare, isExact: false };
  }

  #condition(condition: Condition, equality: Equality): Check {
    const { operator, argument, pattern } = condition;
    const list: readonly unknown[] = Array.isArray(argument) ? argument : [];
    const passes = ORDERS.get(operator);
    if (passes !== undefined) return new ComparisonCheck(equality.compare, argument, passes);
    switch (operator) {
      case '$in':
        return new InListCheck(list, equality);
      case '$nin':
        return new NotCheck(new InListCheck(list, equality));
      case '$all':
        return new AllCheck(list, equality);
      case '$regex':
        return must(pattern);
      case '$elemMatch':
        return new ContentCheck('one', elementsOf, this.#nested(condition));
      case '$allMatch':
        return new ContentCheck('each', elementsOf, this.#nested(condition));
      case '$keyMapMatch':
        return new ContentCheck('one', namesOf, this.#nested(condition));
      default:
        return simpleCheck(condition);
    }
  }

  /** Creates a nested check. It reads its paths in the elements and names, wherever the outer paths are read. */
  #nested({ nested }: Condition): Check {
    return new CheckMaker(this.#compare, fieldOf).make(must(nested));
  }
}

const ORDERS: ReadonlyMap<Operator, (order: number) => boolean> = new Map([
  ['$lt', (order: number) => order < 0],
  ['$lte', (order: number) => order <= 0],
  ['$eq', (order: number) => order === 0],
  ['$ne', (order: number) => order !== 0],
  ['$gte', (order: number) => order >= 0],
  ['$gt', (order: number) => order > 0],
]);

function simpleCheck({ operator, argument }: Condition): Check {
  switch (operator) {
    case '$type':
      return new SimpleCheck((value) => typeOf(value) === argument);
    case '$size':
      return new SimpleCheck((value) => Array.isArray(value) && value.length === argument);
    case '$mod':
      return remainderCheck(argument);
    case '$beginsWith': {
      const beginning = `${argument}`;
      const cost = 1 + Math.floor(beginning.length / PREFIX_CHARACTERS);
      return new SimpleCheck((value) => typeof value === 'string' && value.startsWith(beginning), cost);
    }
    default:
      throw new Error(`there is no check for ${operator}`);
  }
}

function remainderCheck(argument: unknown): Check {
  if (!isDivision(argument)) return new SimpleCheck(() => false);
  const [divisor, remainder] = argument;
  return new SimpleCheck((value) => isInteger(value) && value % divisor === remainder);
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

interface Equalities {
  readonly path: FieldPath;
  readonly values: unknown[];
}

/** Returns by field, if there are many: the values that alternatives allow it to have, or that a conjunction excludes. */
function equalitiesOf(kind: Junction['kind'], parts: readonly Selector[]): ReadonlyMap<string, Equalities> {
  const byField = new Map<string, Equalities>();
  for (const part of parts) {
    if (!isEquality(kind, part)) continue;
    const { path, condition } = part;
    const known = byField.get(path.text);
    if (known === undefined) byField.set(path.text, { path, values: [condition.argument] });
    else known.values.push(condition.argument);
  }
  for (const [field, { values }] of byField) if (values.length < MANY_EQUALITIES) byField.delete(field);
  return byField;
}

function isEquality(kind: Junction['kind'], part: Selector): part is FieldCondition {
  return part.kind === 'field' && part.condition.operator === (kind === 'or' ? '$eq' : '$ne');
}

/**
 * Returns whether a value, as `JSON.parse` returns it, passes: at once if that takes no more steps than one go has, otherwise it yields
 * to other work meanwhile. Fails with 400 `too_many_steps`.
 */
export type Test = (value: unknown) => MaybePromise<boolean>;

/** Like `Test`, for the value's JSON text. */
export type TextTest = (text: string) => MaybePromise<boolean>;

interface TestOptions {
  /** Reads the field of a value at a path; undefined if there is none. */
  readonly read?: typeof fieldOf;
  /** The budget from which all tests of a request take. */
  readonly budget?: StepBudget | undefined;
}

/** Creates a test. `compare` is the order of view keys, and decides which values are equal. Ids are compared in raw order instead. */
export function createTest(
  selector: Selector,
  compare: CompareKeys,
  { read = fieldOf, budget }: TestOptions = {},
): Test {
  const check = createCheck(selector, compare, read);
  // Most values take one go, and need no effort of their own.
  const shared = new Effort(budget);
  return (value) => shared.begin(check, value) ?? runCooperatively(longTest(check, value, new Effort(budget)));
}

/** Creates a test of JSON texts, like `createTest`. */
export function createTextTest(selector: Selector, compare: CompareKeys, options: TestOptions = {}): TextTest {
  const test = createTest(selector, compare, options);
  return (text) => {
    const value = parseInTurns(text);
    return value instanceof Promise ? value.then(test) : test(value);
  };
}

function* longTest(check: Check, value: unknown, effort: Effort): CooperativeTask<boolean> {
  // The abandoned go has used up time of a turn that many others may share.
  if (isThreadUsedUp()) yield LONG_STEP;
  return yield* check.inSteps(value, effort);
}
