/**
 * Selectors as they are stored in memory after parsing (docs/http.md#selectors): conditions on single fields, joined by `and` and
 * `or`. Negation is moved inwards to the conditions, so there is no `not`. A field that a document does not have fulfils
 * no condition but `$exists: false`, negated or not.
 */
import type { Pattern } from '../patterns/pattern.ts';
import type { FieldPath } from './field-path.ts';

export type Selector = Junction | FieldCondition;

export interface Junction {
  /** Without any parts both are fulfilled by every document. */
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
  /** Whether it holds where the operator does not. Only for operators that have no opposite operator. */
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

/** The selectors that every document fulfils which fulfils this one: the parts of its outermost `and`. */
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
