/** Where the documents that a selector asks for are looked for. */
import { compareCodePoints } from '../../collation/code-points.ts';
import type { CompareKeys } from '../../collation/key-order.ts';
import type { RowRange } from '../../database/contract.ts';
import type { ViewRange } from '../../views/contract.ts';
import type { StoredIndex } from '../indexes/index-catalog.ts';
import type { FindQuery } from '../searching/find-query.ts';
import { conjunctsOf, type FieldCondition } from '../selectors/selector.ts';
import { compareIds } from '../selectors/selector-test.ts';
import { type Bound, type ValueRange, valueRange } from '../selectors/value-range.ts';

export type Plan = IndexPlan | DocumentsPlan;

interface PlanBase {
  /** Nothing can be found. */
  readonly isEmpty: boolean;
  /** Leading columns whose value is given. */
  readonly equalities: number;
  /** What else narrows the walk: 0 for nothing, 2 for a range with two ends. */
  readonly narrowness: number;
  readonly descending: boolean;
}

/** A walk over an index. */
export interface IndexPlan extends PlanBase {
  readonly kind: 'index';
  readonly stored: StoredIndex;
  readonly range: ViewRange;
}

/** A walk over the database's documents by id, or a look at some of them. */
export interface DocumentsPlan extends PlanBase {
  readonly kind: 'documents';
  readonly range: RowRange;
  /** In the order of the walk. */
  readonly ids: readonly string[] | undefined;
}

/** Sorts behind whatever an element of a key is. */
const BEHIND_ALL = { ['\uffff'.repeat(4)]: null };

/** The conditions that hold for every document which is found, by their fields. */
export class Conditions {
  readonly #byField = new Map<string, FieldCondition[]>();
  readonly #compare: CompareKeys;

  constructor({ selector }: Pick<FindQuery, 'selector'>, compare: CompareKeys) {
    this.#compare = compare;
    for (const part of conjunctsOf(selector)) {
      if (part.kind !== 'field') continue;
      const known = this.#byField.get(part.path.text);
      if (known === undefined) this.#byField.set(part.path.text, [part]);
      else known.push(part);
    }
  }

  of(field: string): readonly FieldCondition[] {
    return this.#byField.get(field) ?? [];
  }

  /** In the order of collation; ids apart, whose conditions follow another order. */
  range(field: string): ValueRange | undefined {
    const range = valueRange(this.of(field), field === '_id' ? compareIds(this.#compare) : this.#compare);
    return field === '_id' && range?.isSingle === false ? undefined : range;
  }

  /** Whether all documents that are found have the same value there. */
  isConstant(field: string): boolean {
    return this.range(field)?.isSingle === true;
  }

  /** Fields of which something is asked that an index could answer, those with one value first. */
  indexable(): readonly string[] {
    const fields = [...this.#byField.keys()].filter((field) => this.range(field) !== undefined);
    return [...fields.filter((field) => this.isConstant(field)), ...fields.filter((field) => !this.isConstant(field))];
  }

  get compare(): CompareKeys {
    return this.#compare;
  }
}

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
  const low = lowKey(prefix, range?.low);
  const high = highKey(prefix, range?.high);
  return {
    kind: 'index',
    stored,
    isEmpty,
    equalities: prefix.length,
    narrowness: narrowness(range),
    descending,
    range: descending ? { start: high, end: low, descending } : { start: low, end: high },
  };
}

export function planDocuments(conditions: Conditions, descending: boolean): DocumentsPlan {
  const compare = compareIds(conditions.compare);
  const range = valueRange(conditions.of('_id'), compare);
  const start = idBound(range?.low, compare);
  const end = idBound(range?.high, compare);
  const ids = listedIds(conditions.of('_id'), descending);
  return {
    kind: 'documents',
    isEmpty: range?.isEmpty === true || start === ABOVE_IDS || end === BELOW_IDS,
    // One document: nothing can be better.
    equalities: range?.isSingle === true ? Number.POSITIVE_INFINITY : Number(ids !== undefined),
    narrowness: (typeof start === 'string' ? 1 : 0) + (typeof end === 'string' ? 1 : 0),
    descending,
    ids,
    range: {
      start: typeof start === 'string' ? start : undefined,
      end: typeof end === 'string' ? end : undefined,
      startInclusive: range?.low?.isInclusive ?? true,
      endInclusive: range?.high?.isInclusive ?? true,
      descending,
    },
  };
}

/** A shorter list sorts before those that it begins, and so before all rows whose keys have its elements first. */
function lowKey(prefix: readonly unknown[], low: Bound | undefined): unknown {
  if (low === undefined) return prefix.length === 0 ? undefined : prefix;
  return low.isInclusive ? [...prefix, low.value] : [...prefix, low.value, BEHIND_ALL];
}

function highKey(prefix: readonly unknown[], high: Bound | undefined): unknown {
  if (high === undefined) return prefix.length === 0 ? undefined : [...prefix, BEHIND_ALL];
  return high.isInclusive ? [...prefix, high.value, BEHIND_ALL] : [...prefix, high.value];
}

/** That a field is larger than null says little more than that it is there. */
function narrowness(range: ValueRange | undefined): number {
  if (range === undefined) return 0;
  const low = range.low === undefined || range.low.value === null ? 0 : 1;
  return low + (range.high === undefined ? 0 : 1);
}

const BELOW_IDS = Symbol('below all ids');
const ABOVE_IDS = Symbol('above all ids');

/** Ids are strings: values of other types lie below all of them or above. */
function idBound(
  bound: Bound | undefined,
  compare: CompareKeys,
): string | typeof BELOW_IDS | typeof ABOVE_IDS | undefined {
  if (bound === undefined) return undefined;
  if (typeof bound.value === 'string') return bound.value;
  return compare(bound.value, '') < 0 ? BELOW_IDS : ABOVE_IDS;
}

/** The ids that `$in` lists, each once. */
function listedIds(conditions: readonly FieldCondition[], descending: boolean): readonly string[] | undefined {
  const listing = conditions.find(({ condition }) => condition.operator === '$in');
  if (listing === undefined || !Array.isArray(listing.condition.argument)) return undefined;
  const listed: readonly unknown[] = listing.condition.argument;
  const ids = [...new Set(listed.filter((id) => typeof id === 'string'))].sort(compareCodePoints);
  return descending ? ids.reverse() : ids;
}
