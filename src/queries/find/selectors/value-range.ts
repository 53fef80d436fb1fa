/**
 * The range of values that the conditions on one field allow. A range may be too wide, never too narrow, because everything
 * that is found in it is tested again.
 */
import type { CompareKeys } from '../../../base/collation/key-order.ts';
import type { FieldCondition } from './selector.ts';

export interface Bound {
  readonly value: unknown;
  readonly isInclusive: boolean;
}

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
