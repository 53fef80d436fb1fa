/** Plans: the range of an index, or of the documents by id, that a query reads. */
import { compareCodePoints } from '../../../base/collation/code-points.ts';
import { createKeyOrder } from '../../../base/collation/key-order.ts';
import { sortInSteps } from '../../../base/shared/sort-in-steps.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import type { RowRange } from '../../../database/store/contract.ts';
import type { ViewRange } from '../../views/contract.ts';
import type { StoredIndex } from '../index-definition.ts';
import { type Bound, type Conditions, type ListedField, type ValueRange, valueRange } from './conditions.ts';

export type Plan = IndexPlan | DocumentsPlan;

interface PlanBase {
  /** Whether no document can be found. */
  readonly isEmpty: boolean;
  /** Leading columns whose value is given. */
  readonly equalities: number;
  /** How many bounds the range of the next column has: 0 to 2. */
  readonly narrowness: number;
  readonly descending: boolean;
}

/** Reads a range of an index. */
export interface IndexPlan extends PlanBase {
  readonly kind: 'index';
  readonly stored: StoredIndex;
  readonly range: ViewRange;
  /** The column that has one of the listed values; only these places of the range are read. */
  readonly listed: ListedColumn | undefined;
}

export interface ListedColumn extends ListedField {
  readonly column: number;
}

/** Reads a range of the documents by id, or certain documents. */
export interface DocumentsPlan extends PlanBase {
  readonly kind: 'documents';
  readonly range: RowRange;
  /** The ids that are read, in the order of the range; undefined: the whole range. */
  readonly ids: readonly string[] | undefined;
}

/** Sorts after everything that an element of a key may be. */
export const AFTER_ALL = { ['\uffff'.repeat(4)]: null };

export function planIndex(stored: StoredIndex, conditions: Conditions, descending: boolean): IndexPlan {
  const prefix: unknown[] = [];
  let isEmpty = false;
  let range: ValueRange | undefined;
  for (const { field } of stored.index.columns) {
    range = conditions.range(field);
    if (range?.isEmpty === true) isEmpty = true;
    if (range?.isSingle !== true) break;
    prefix.push(range.low?.value);
    range = undefined;
  }
  const listed = listedColumn(stored, conditions, prefix.length);
  const low = lowKey(prefix, range?.low);
  const high = highKey(prefix, range?.high);
  return {
    kind: 'index',
    stored,
    isEmpty,
    equalities: prefix.length,
    narrowness: listed === undefined ? narrowness(range) : 2,
    descending,
    listed,
    range: descending ? { start: high, end: low, descending } : { start: low, end: high },
  };
}

export function planDocuments(conditions: Conditions, descending: boolean): DocumentsPlan {
  const range = valueRange(conditions.of('_id'), createKeyOrder('raw'));
  const start = idBound(range?.low);
  const end = idBound(range?.high);
  const ids = listedIds(conditions.listed('_id'));
  return {
    kind: 'documents',
    isEmpty: range?.isEmpty === true || (range?.high !== undefined && end === undefined),
    // A single document: no other plan reads less.
    equalities: range?.isSingle === true ? Number.POSITIVE_INFINITY : Number(ids !== undefined),
    narrowness: (start === undefined ? 0 : 1) + (end === undefined ? 0 : 1),
    descending,
    ids,
    range: {
      start,
      end,
      startInclusive: range?.low?.isInclusive ?? true,
      endInclusive: range?.high?.isInclusive ?? true,
      descending,
    },
  };
}

function listedColumn(stored: StoredIndex, conditions: Conditions, column: number): ListedColumn | undefined {
  const { field } = stored.index.columns[column] ?? {};
  const listed = field === undefined ? undefined : conditions.listed(field);
  return listed === undefined ? undefined : { ...listed, column };
}

/** Returns the lower bound: a list sorts before all longer lists that begin with its elements, and so before all rows with such keys. */
function lowKey(prefix: readonly unknown[], low: Bound | undefined): unknown {
  if (low === undefined) return prefix.length === 0 ? undefined : prefix;
  return low.isInclusive ? [...prefix, low.value] : [...prefix, low.value, AFTER_ALL];
}

function highKey(prefix: readonly unknown[], high: Bound | undefined): unknown {
  if (high === undefined) return prefix.length === 0 ? undefined : [...prefix, AFTER_ALL];
  return high.isInclusive ? [...prefix, high.value, AFTER_ALL] : [...prefix, high.value];
}

/** Counts the bounds. A lower bound of null does not count, because it says little more than that the field exists. */
function narrowness(range: ValueRange | undefined): number {
  if (range === undefined) return 0;
  const low = range.low === undefined || range.low.value === null ? 0 : 1;
  return low + (range.high === undefined ? 0 : 1);
}

/** Returns undefined for a bound that is not a string: ids are strings, and in raw order all other values are below them. */
function idBound(bound: Bound | undefined): string | undefined {
  return typeof bound?.value === 'string' ? bound.value : undefined;
}

/** Returns the listed values that may be ids, each once. */
function listedIds(listed: ListedField | undefined): readonly string[] | undefined {
  return listed === undefined ? undefined : [...new Set(listed.values.filter((id) => typeof id === 'string'))];
}

/** Returns the plan's ids in its order. */
export function* sortIds({ ids = [], descending }: DocumentsPlan): CooperativeTask<readonly string[]> {
  return yield* sortInSteps(ids, descending ? (one, other) => compareCodePoints(other, one) : compareCodePoints);
}
