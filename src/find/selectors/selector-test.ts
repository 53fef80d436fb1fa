/** Makes functions that test whether a document fulfils a selector. */

import { type CompareKeys, createKeyOrder } from '../../collation/key-order.ts';
import { isObject } from '../../json/objects.ts';
import { must } from '../../shared/assert.ts';
import { isDivision, isInteger } from './condition-parser.ts';
import { type FieldPath, fieldOf } from './field-path.ts';
import type { Condition, FieldCondition, Selector } from './selector.ts';

/** Whether a value, as `JSON.parse` gives it, passes. */
export type Test = (value: unknown) => boolean;

/** Reads the field of a value at a path; undefined where there is none. */
type ReadField = (value: unknown, path: FieldPath) => unknown;

/** `compare` is the order of view keys, and decides which values are equal. Ids are compared in raw order instead. */
export function createTest(selector: Selector, compare: CompareKeys, read: ReadField = fieldOf): Test {
  if (selector.kind === 'field') return createFieldTest(selector, compare, read);
  const tests = selector.parts.map((part) => createTest(part, compare, read));
  const [first, second] = tests;
  if (first === undefined) return () => true;
  if (second === undefined) return first;
  if (selector.kind === 'and') return (value) => tests.every((test) => test(value));
  return (value) => tests.some((test) => test(value));
}

function createFieldTest({ path, condition }: FieldCondition, compare: CompareKeys, read: ReadField): Test {
  const { operator, argument } = condition;
  if (operator === '$exists') return (value) => (read(value, path) !== undefined) === argument;
  const test = createConditionTest(condition, path.text === '_id' ? createKeyOrder('raw') : compare);
  return (value) => {
    const field = read(value, path);
    return field !== undefined && test(field);
  };
}

function createConditionTest(condition: Condition, compare: CompareKeys): Test {
  const test = createOperatorTest(condition, compare);
  return condition.isNegated ? (value) => !test(value) : test;
}

function createOperatorTest(condition: Condition, compare: CompareKeys): Test {
  const { operator, argument } = condition;
  switch (operator) {
    case '$lt':
      return (value) => compare(value, argument) < 0;
    case '$lte':
      return (value) => compare(value, argument) <= 0;
    case '$eq':
      return (value) => compare(value, argument) === 0;
    case '$ne':
      return (value) => compare(value, argument) !== 0;
    case '$gte':
      return (value) => compare(value, argument) >= 0;
    case '$gt':
      return (value) => compare(value, argument) > 0;
    case '$exists':
      return (value) => (value !== undefined) === argument;
    default:
      return createStructureTest(condition, compare);
  }
}

function createStructureTest(condition: Condition, compare: CompareKeys): Test {
  const { operator, argument, pattern } = condition;
  switch (operator) {
    case '$in':
      return inListTest(argument, compare);
    case '$nin': {
      const isIn = inListTest(argument, compare);
      return (value) => !isIn(value);
    }
    case '$all':
      return allTest(argument, compare);
    case '$type':
      return (value) => typeOf(value) === argument;
    case '$size':
      return (value) => Array.isArray(value) && value.length === argument;
    case '$mod':
      return remainderTest(argument);
    case '$beginsWith':
      return (value) => typeof value === 'string' && value.startsWith(`${argument}`);
    case '$regex':
      return (value) => typeof value === 'string' && must(pattern).isIn(value);
    default:
      return createNestedTest(condition, compare);
  }
}

/** `$elemMatch`, `$allMatch`, `$keyMapMatch`. */
function createNestedTest({ operator, nested }: Condition, compare: CompareKeys): Test {
  const test = createTest(must(nested), compare);
  if (operator === '$elemMatch') return (value) => Array.isArray(value) && value.some(test);
  if (operator === '$allMatch') return (value) => Array.isArray(value) && value.length > 0 && value.every(test);
  return (value) => isObject(value) && Object.keys(value).some(test);
}

/** An array passes if one of its elements is listed. */
function inListTest(argument: unknown, compare: CompareKeys): Test {
  const listed = toList(argument);
  const isListed: Test = (value) => listed.some((item) => compare(value, item) === 0);
  return (value) => (Array.isArray(value) ? value.some(isListed) : isListed(value));
}

/** An array passes if it contains all listed values, or if it equals the only listed value. */
function allTest(argument: unknown, compare: CompareKeys): Test {
  const listed = toList(argument);
  const [only] = listed;
  return (value) => {
    if (!Array.isArray(value) || listed.length === 0) return false;
    if (listed.every((item) => value.some((element) => compare(element, item) === 0))) return true;
    return listed.length === 1 && Array.isArray(only) && compare(value, only) === 0;
  };
}

function remainderTest(argument: unknown): Test {
  if (!isDivision(argument)) return () => false;
  const [divisor, remainder] = argument;
  return (value) => isInteger(value) && value % divisor === remainder;
}

function toList(argument: unknown): readonly unknown[] {
  return Array.isArray(argument) ? argument : [];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
