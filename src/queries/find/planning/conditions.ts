import { type CompareKeys, createKeyOrder } from '../../../base/collation/key-order.ts';
import type { FindQuery } from '../find-query.ts';
import {
  conjunctsOf,
  type FieldCondition,
  type Junction,
  requiredFields,
  type Selector,
} from '../selectors/selector.ts';

/** Values, one of which the field has. */
export interface ListedField {
  readonly values: readonly unknown[];
  /** Whether an array that contains one of them also fulfils the condition. */
  readonly inArrays: boolean;
}

/** The conditions of a query that every found document fulfils, by field. */
export class Conditions {
  readonly #byField = new Map<string, FieldCondition[]>();
  readonly #compare: CompareKeys;
  readonly #listed = new Map<string, ListedField>();
  /** The ranges that were already requested. */
  readonly #ranges = new Map<string, ValueRange | undefined>();
  /** The fields that every found document has. */
  readonly required: ReadonlySet<string>;

  constructor({ selector }: Pick<FindQuery, 'selector'>, compare: CompareKeys) {
    this.#compare = compare;
    this.required = requiredFields(selector);
    for (const part of conjunctsOf(selector)) {
      this.#addListed(part);
      if (part.kind !== 'field') continue;
      const known = this.#byField.get(part.path.text);
      if (known === undefined) this.#byField.set(part.path.text, [part]);
      else known.push(part);
    }
  }

  #addListed(part: Selector): void {
    const first = part.kind === 'field' ? part : part.parts[0];
    if (first?.kind !== 'field') return;
    const field = first.path.text;
    const listed = part.kind === 'field' ? listOf(part) : alternativesOf(part, field);
    const known = this.#listed.get(field);
    if (listed === undefined || (known !== undefined && known.values.length <= listed.values.length)) return;
    this.#listed.set(field, listed);
  }

  /** Returns the shortest list that contains the field's value in all found documents. */
  listed(field: string): ListedField | undefined {
    return this.#listed.get(field);
  }

  of(field: string): readonly FieldCondition[] {
    return this.#byField.get(field) ?? [];
  }

  /**
   * Returns the range of a field in the order of collation, which is that of indexes. Conditions on ids follow another order, so
   * ids have a range only if they allow a single value.
   */
  range(field: string): ValueRange | undefined {
    if (!this.#ranges.has(field)) this.#ranges.set(field, this.#findRange(field));
    return this.#ranges.get(field);
  }

  #findRange(field: string): ValueRange | undefined {
    const range = valueRange(this.of(field), field === '_id' ? createKeyOrder('raw') : this.#compare);
    return field === '_id' && range?.isSingle === false ? undefined : range;
  }

  /** Returns whether the field has the same value in all found documents. */
  isConstant(field: string): boolean {
    return this.range(field)?.isSingle === true;
  }

  /** Returns fields whose conditions an index could narrow down, those with a single value first. */
  indexable(): readonly string[] {
    const fields = [...this.#byField.keys()].filter((field) => this.range(field) !== undefined);
    return [...fields.filter((field) => this.isConstant(field)), ...fields.filter((field) => !this.isConstant(field))];
  }

  get compare(): CompareKeys {
    return this.#compare;
  }
}

function listOf({ condition: { operator, argument } }: FieldCondition): ListedField | undefined {
  return operator === '$in' && Array.isArray(argument) ? { values: argument, inArrays: true } : undefined;
}

/** Returns the values if each of the alternatives is a value of that field. */
function alternativesOf({ kind, parts }: Junction, field: string): ListedField | undefined {
  const values: unknown[] = [];
  for (const part of parts) {
    if (part.kind !== 'field' || part.path.text !== field || part.condition.operator !== '$eq') return undefined;
    values.push(part.condition.argument);
  }
  return kind === 'or' ? { values, inArrays: false } : undefined;
}

export interface Bound {
  readonly value: unknown;
  readonly isInclusive: boolean;
}

/**
 * The range of values that the conditions on one field allow. It may be too wide, never too narrow, because everything
 * that is found in it is tested again.
 */
export interface ValueRange {
  readonly low: Bound | undefined;
  readonly high: Bound | undefined;
  /** Whether no value is in it. */
  readonly isEmpty: boolean;
  /** Whether both bounds are the same value, so that all values in it are equal. */
  readonly isSingle: boolean;
}

type Bounds = Pick<ValueRange, 'low' | 'high'>;

/** Sorts after every string that does not begin with it, because collation gives U+FFFF the highest weight. */
const HIGHEST = '\uffff'.repeat(4);
/** An ASCII character at the end, which collation never joins with the next character into one letter. */
const ENDS_IN_ASCII = /[ -~]$/;

/** Returns undefined if none of the conditions, which are all on one field, bounds the values. */
export function valueRange(conditions: readonly FieldCondition[], compare: CompareKeys): ValueRange | undefined {
  let low: Bound | undefined;
  let high: Bound | undefined;
  for (const condition of conditions) {
    const bounds = boundsOf(condition);
    if (bounds === undefined) continue;
    low = tighter(low, bounds.low, compare, 1);
    high = tighter(high, bounds.high, compare, -1);
  }
  if (low === undefined && high === undefined) return undefined;
  const order = low === undefined || high === undefined ? -1 : compare(low.value, high.value);
  const isClosed = low?.isInclusive === true && high?.isInclusive === true;
  return { low, high, isEmpty: order > 0 || (order === 0 && !isClosed), isSingle: order === 0 && isClosed };
}

function boundsOf({ condition, path }: FieldCondition): Bounds | undefined {
  const { operator, argument: value, isNegated } = condition;
  if (isNegated) return undefined;
  const [inclusive, exclusive] = [
    { value, isInclusive: true },
    { value, isInclusive: false },
  ];
  switch (operator) {
    case '$eq':
      return { low: inclusive, high: inclusive };
    case '$gt':
      return { low: exclusive, high: undefined };
    case '$gte':
      return { low: inclusive, high: undefined };
    case '$lt':
      return { low: undefined, high: exclusive };
    case '$lte':
      return { low: undefined, high: inclusive };
    case '$beginsWith':
      return prefixBounds(`${value}`, path.text === '_id');
    default:
      return undefined;
  }
}

/** Returns the bounds of a prefix. Ids are ordered by code point, other fields by collation, in which a text may sort before its prefix. */
function prefixBounds(prefix: string, isId: boolean): Bounds {
  const low = { value: prefix, isInclusive: true };
  if (isId) return { low, high: { value: prefix + '\u{10ffff}'.repeat(4), isInclusive: true } };
  if (ENDS_IN_ASCII.test(prefix)) return { low, high: { value: prefix + HIGHEST, isInclusive: true } };
  // All strings: lists sort after them.
  return { low: { value: '', isInclusive: true }, high: { value: [], isInclusive: false } };
}

/** Returns the tighter bound. `side` is 1 if the larger bound is the tighter one, else -1. */
function tighter(
  known: Bound | undefined,
  other: Bound | undefined,
  compare: CompareKeys,
  side: 1 | -1,
): Bound | undefined {
  if (known === undefined || other === undefined) return known ?? other;
  const order = compare(known.value, other.value) * side;
  if (order === 0) return known.isInclusive ? other : known;
  return order > 0 ? known : other;
}
