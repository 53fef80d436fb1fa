/**
 * Selectors as they are stored in memory after parsing (docs/http/find.md#selectors): conditions on single fields, joined by `and` and
 * `or`. Negation is moved inwards to the conditions, so there is no `not`. A missing field fulfils
 * no condition except `$exists: false`, negated or not.
 */

import type { FieldPath } from './field-path.ts';
import type { Pattern } from './pattern.ts';

export type Selector = Junction | FieldCondition;

export interface Junction {
  /** Without parts, every document fulfils both. */
  readonly kind: 'and' | 'or';
  readonly parts: readonly Selector[];
}

export interface FieldCondition {
  readonly kind: 'field';
  readonly path: FieldPath;
  readonly condition: Condition;
}

export interface Condition {
  readonly operator: Operator;
  readonly argument: unknown;
  /** Whether it holds when the operator does not. Only for operators that have no opposite operator. */
  readonly isNegated: boolean;
  /** The selector of `$elemMatch` and `$allMatch` for elements, and of `$keyMapMatch` for names. */
  readonly nested?: Selector;
  /** The parsed pattern of `$regex`. */
  readonly pattern?: Pattern;
}

export type Operator =
  | '$lt'
  | '$lte'
  | '$eq'
  | '$ne'
  | '$gte'
  | '$gt'
  | '$exists'
  | '$type'
  | '$in'
  | '$nin'
  | '$size'
  | '$mod'
  | '$regex'
  | '$beginsWith'
  | '$all'
  | '$elemMatch'
  | '$allMatch'
  | '$keyMapMatch';

/** Fulfilled by every document. */
export const EVERYTHING: Selector = { kind: 'and', parts: [] };

/** Returns the selectors that every document that fulfils this one fulfils: the parts of its outermost `and`. */
export function conjunctsOf(selector: Selector): readonly Selector[] {
  const found: Selector[] = [];
  collectConjuncts(selector, found);
  return found;
}

function collectConjuncts(selector: Selector, found: Selector[]): void {
  if (selector.kind !== 'and') found.push(selector);
  else for (const part of selector.parts) collectConjuncts(part, found);
}

/** Returns the fields that every document that fulfils the selector has. */
export function requiredFields(selector: Selector): ReadonlySet<string> {
  const fields = new Set<string>();
  collectRequired(selector, fields);
  return fields;
}

function collectRequired(selector: Selector, fields: Set<string>): void {
  if (selector.kind === 'field') {
    const { operator, argument } = selector.condition;
    if (operator !== '$exists' || argument !== false) fields.add(selector.path.text);
  } else if (selector.kind === 'and') {
    for (const part of selector.parts) collectRequired(part, fields);
  } else {
    for (const field of requiredByAll(selector.parts)) fields.add(field);
  }
}

function requiredByAll([first, ...others]: readonly Selector[]): ReadonlySet<string> {
  let common = first === undefined ? new Set<string>() : requiredFields(first);
  for (const other of others) {
    if (common.size === 0) break;
    const fields = requiredFields(other);
    const [small, large] = fields.size < common.size ? [fields, common] : [common, fields];
    common = new Set([...small].filter((field) => large.has(field)));
  }
  return common;
}

type Json = Readonly<Record<string, unknown>>;

/** Writes a selector as JSON in its normal form, from which the same selector is parsed. */
export function selectorJson(selector: Selector): Json {
  const isEverything = selector.kind !== 'field' && selector.parts.length === 0;
  return isEverything ? {} : partJson(selector);
}

/** Writes a part of a selector, in which `{}` would be a value to compare with: so a junction without parts is written as a junction. */
function partJson(selector: Selector): Json {
  if (selector.kind !== 'field') return { [`$${selector.kind}`]: selector.parts.map(partJson) };
  // A condition on an element or a name itself has no path.
  const condition = conditionJson(selector.condition);
  return selector.path.text === '' ? condition : { [selector.path.text]: condition };
}

function conditionJson({ operator, argument, isNegated, nested }: Condition): Json {
  const condition = { [operator]: nested === undefined ? argument : partJson(nested) };
  return isNegated ? { $not: condition } : condition;
}
