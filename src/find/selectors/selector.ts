/**
 * Selectors as they are understood (completion 23): fields with one condition each, joined by `and` and `or`. Negation is
 * worked inwards, so that it stands at single conditions only. A field that a document does not have fulfils nothing but
 * `$exists: false`, negated or not.
 */

import { refusal, shown } from '../find-error.ts';
import { EMPTY_PATH, type FieldPath, isObject, joinPaths, parseFieldPath } from './field-path.ts';
import { type Condition, parseCondition } from './selector-condition.ts';

export type Selector = Junction | FieldCondition;

export interface Junction {
  /** Without any parts both are fulfilled by everything. */
  readonly kind: 'and' | 'or';
  readonly parts: readonly Selector[];
}

export interface FieldCondition {
  readonly kind: 'field';
  readonly path: FieldPath;
  readonly condition: Condition;
}

/** What is fulfilled by every document. */
export const EVERYTHING: Selector = { kind: 'and', parts: [] };

/** Fails with 400 `invalid_selector_json`, `invalid_operator`, `bad_arg`, `invalid_field_name`, `invalid_selector`. */
export function parseSelector(value: unknown): Selector {
  if (!isObject(value)) {
    throw refusal('invalid_selector_json', `Selector must be a JSON object, not: ${shown(value)}`);
  }
  const selector = Object.keys(value).length === 0 ? EVERYTHING : parseWithin(value, EMPTY_PATH, false);
  checkFieldNames(selector);
  return selector;
}

/** What must hold for every document that fulfils the selector: the parts of its outermost `and`. */
export function conjunctsOf(selector: Selector): readonly Selector[] {
  if (selector.kind !== 'and') return [selector];
  return selector.parts.flatMap(conjunctsOf);
}

/** The fields that every document has which fulfils the selector. */
export function requiredFields(selector: Selector): ReadonlySet<string> {
  if (selector.kind === 'field') {
    const { operator, argument } = selector.condition;
    return new Set(operator === '$exists' && argument === false ? [] : [selector.path.text]);
  }
  const [first, ...others] = selector.parts.map(requiredFields);
  if (first === undefined) return new Set();
  if (selector.kind === 'and') return new Set([first, ...others].flatMap((fields) => [...fields]));
  return new Set([...first].filter((field) => others.every((fields) => fields.has(field))));
}

/** `value` stands at `path`: it is an operator, a field within, several of them, or a value that the field must have. */
function parseWithin(value: unknown, path: FieldPath, isNegated: boolean): Selector {
  if (!isObject(value)) return condition(path, '$eq', value, isNegated);
  const entries = Object.entries(value);
  const [first, second] = entries;
  if (first === undefined) return condition(path, '$eq', value, isNegated);
  if (second === undefined) return parseEntry(first, path, isNegated);
  const parts = entries.map((entry) => parseEntry(entry, path, isNegated));
  return { kind: isNegated ? 'or' : 'and', parts };
}

function parseEntry([name, value]: readonly [string, unknown], path: FieldPath, isNegated: boolean): Selector {
  if (name === '$not') return parseWithin(requireObject(name, value), path, !isNegated);
  if (name === '$and' || name === '$or') return junction(name, value, path, isNegated);
  // None of them: not one of them.
  if (name === '$nor') return junction('$or', requireList(name, value), path, !isNegated);
  if (name.startsWith('$')) return condition(path, name, value, isNegated);
  const inner = name === '' && path === EMPTY_PATH ? EMPTY_PATH : joinPaths(path, parseFieldPath(name));
  return parseWithin(value, inner, isNegated);
}

function junction(name: '$and' | '$or', value: unknown, path: FieldPath, isNegated: boolean): Junction {
  const parts = requireList(name, value).map((part) => parseWithin(part, path, isNegated));
  return { kind: (name === '$and') === isNegated ? 'or' : 'and', parts };
}

function condition(path: FieldPath, operator: string, argument: unknown, isNegated: boolean): FieldCondition {
  const parseNested = (value: unknown) => parseWithin(value, EMPTY_PATH, false);
  return { kind: 'field', path, condition: parseCondition(operator, argument, isNegated, parseNested) };
}

function requireList(operator: string, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw refusal('bad_arg', `Bad argument for operator ${operator}: ${shown(value)}. Give a list of selectors.`);
}

function requireObject(operator: string, value: unknown): unknown {
  if (isObject(value)) return value;
  throw refusal('bad_arg', `Bad argument for operator ${operator}: ${shown(value)}. Give a selector.`);
}

/** Outside of `$elemMatch` and its like every condition is one on a field. */
function checkFieldNames(selector: Selector): void {
  if (selector.kind !== 'field') {
    for (const part of selector.parts) checkFieldNames(part);
  } else if (selector.path.names.length === 0) {
    throw refusal('invalid_selector', 'One or more conditions is missing a field name.');
  }
}
