/**
 * Chooses the plan of a query. An index can be used if it has every document that the query may find (they have all of
 * its fields, and it has no filter, unless the query names it), and if it is in the order of the sort. Among these, the one
 * with the most leading fields given is chosen, then the one with the narrower range, then the one with fewer fields, then the
 * first by name.
 */
import type { CompareKeys } from '../../../base/collation/key-order.ts';
import { bookmarkName } from '../bookmark.ts';
import type { FindQuery, NamedIndex } from '../find-query.ts';
import { hasFilter, type JsonIndex, type StoredIndex } from '../index-definition.ts';
import { queryError } from '../query-error.ts';
import { Conditions } from './conditions.ts';
import { type IndexPlan, type Plan, planDocuments, planIndex } from './plan.ts';

/** Why an index was not chosen, in the words of `_explain` (docs/http/find.md#explain). */
export type Reason =
  | 'is_partial'
  | 'field_mismatch'
  | 'empty_selector'
  | 'sort_order_mismatch'
  | 'excluded_by_user'
  | 'less_overlap'
  | 'too_many_fields'
  | 'alphabetically_comes_after'
  | 'unfavored_type';

export interface Candidate {
  /** Undefined for the documents by id. */
  readonly index: JsonIndex | undefined;
  readonly plan: Plan;
  /** Empty for the chosen one. */
  readonly reasons: readonly Reason[];
  readonly isUsable: boolean;
}

export interface Choice {
  readonly plan: Plan;
  /** The chosen one, then the others that can be used, then those that can't. */
  readonly candidates: readonly Candidate[];
  /** The index that the query names, if it can't be used. */
  readonly unusableIndex: NamedIndex | undefined;
  /** An index that would help more; undefined if none would. */
  readonly suggestion: IndexSuggestion | undefined;
}

/** Chooses a plan. Fails with 400 `no_usable_index` if no index has the order of the sort. */
export function choosePlan(query: FindQuery, stored: readonly StoredIndex[], compare: CompareKeys): Choice {
  const conditions = new Conditions(query, compare);
  const descending = query.sort[0]?.direction === 'desc';
  const suggestion = suggestIndex(query, conditions);
  const sorted = new Set(query.sort.map(({ field }) => field));
  const assessed = [
    ...stored.map((one) => assessIndex(query, conditions, sorted, planIndex(one, conditions, descending))),
    assessDocuments(query, planDocuments(conditions, descending)),
  ];
  const usable = assessed.filter(({ isUsable }) => isUsable).sort(compareCandidates);
  const named = query.namedIndex === undefined ? [] : usable.filter(({ index }) => isNamed(index, query.namedIndex));
  const unusableIndex = named.length === 0 ? query.namedIndex : undefined;
  if (unusableIndex !== undefined && !query.allowFallback) {
    throw queryError('no_usable_index', `There is no index available for this selector.${remedy(suggestion)}`);
  }
  const chosen = bookmarked(query, named) ?? named[0] ?? bookmarked(query, usable) ?? usable[0];
  if (chosen === undefined) {
    const reason = 'No index exists for this sort, try indexing by the sort fields.';
    throw queryError('no_usable_index', `${reason}${remedy(suggestion)}`);
  }
  const others = usable.filter((candidate) => candidate !== chosen);
  const explained = others.map((candidate) => ({ ...candidate, reasons: [reasonAgainst(candidate, chosen, named)] }));
  return {
    plan: chosen.plan,
    candidates: [chosen, ...explained, ...assessed.filter(({ isUsable }) => !isUsable)],
    unusableIndex,
    suggestion: isUsedBy(chosen.plan, suggestion) ? undefined : suggestion,
  };
}

/** A sentence about the suggested index for an error, with a space in front; empty without a suggestion. */
function remedy(suggestion: IndexSuggestion | undefined): string {
  if (suggestion === undefined) return '';
  return ` POST this to _index: ${JSON.stringify({ index: { fields: suggestion.fields } })}`;
}

/** Returns whether the plan already uses such an index. */
function isUsedBy(plan: Plan, suggestion: IndexSuggestion | undefined): boolean {
  const columns = plan.kind === 'index' ? plan.stored.index.columns.map(({ field }) => field) : [];
  return suggestion?.fields.every((field, position) => field === columns[position]) === true;
}

/** The name of a plan in bookmarks, which can only be used in the same order. */
export function planName(plan: Plan): string {
  return plan.kind === 'documents' ? '' : `${plan.stored.index.design}/${plan.stored.index.name}`;
}

function assessIndex(
  query: FindQuery,
  conditions: Conditions,
  sorted: ReadonlySet<string>,
  plan: IndexPlan,
): Candidate {
  const { index } = plan.stored;
  const reasons: Reason[] = [];
  if (hasFilter(index) && !isNamed(index, query.namedIndex)) reasons.push('is_partial');
  const { required } = conditions;
  const lacks = index.columns.some(({ field }) => {
    return !(required.has(field) || sorted.has(field) || field === '_id' || field === '_rev');
  });
  if (lacks) reasons.push(required.size === 0 ? 'empty_selector' : 'field_mismatch');
  const columns = index.columns.map(({ field }) => field);
  if (!hasOrder(columns, query, conditions)) reasons.push('sort_order_mismatch');
  return { index, plan, reasons, isUsable: reasons.length === 0 };
}

function assessDocuments(query: FindQuery, plan: Plan): Candidate {
  const isSorted = query.sort.every(({ field }) => field === '_id');
  return { index: undefined, plan, reasons: isSorted ? [] : ['sort_order_mismatch'], isUsable: isSorted };
}

/** Returns whether rows in the order of the columns are in the order of the sort. Columns with a single value make no difference. */
function hasOrder(columns: readonly string[], { sort }: FindQuery, conditions: Conditions): boolean {
  let matched = 0;
  for (const column of columns) {
    if (matched === sort.length) break;
    if (sort[matched]?.field === column) matched++;
    else if (!conditions.isConstant(column)) break;
  }
  return matched === sort.length;
}

function isNamed(index: JsonIndex | undefined, named: NamedIndex | undefined): boolean {
  if (index === undefined || named === undefined) return false;
  return index.design === named.design && (named.name === undefined || index.name === named.name);
}

/** Returns the candidate that the bookmark belongs to. It has to be used again, even if there is a better one by now. */
function bookmarked({ bookmark }: FindQuery, usable: readonly Candidate[]): Candidate | undefined {
  if (bookmark === undefined) return undefined;
  const name = bookmarkName(bookmark);
  return usable.find(({ plan }) => planName(plan) === name);
}

/** Orders the better candidate first. */
function compareCandidates(left: Candidate, right: Candidate): number {
  return (
    compareOverlap(left, right) || compareType(left, right) || compareSize(left, right) || compareNames(left, right)
  );
}

function compareOverlap({ plan: left }: Candidate, { plan: right }: Candidate): number {
  return right.equalities - left.equalities || right.narrowness - left.narrowness;
}

/** Orders an index first, because it has fewer documents than the database. */
function compareType(left: Candidate, right: Candidate): number {
  return Number(left.index === undefined) - Number(right.index === undefined);
}

function compareSize({ index: left }: Candidate, { index: right }: Candidate): number {
  return (left?.columns.length ?? 0) - (right?.columns.length ?? 0);
}

function compareNames({ plan: left }: Candidate, { plan: right }: Candidate): number {
  return planName(left) < planName(right) ? -1 : 1;
}

function reasonAgainst(candidate: Candidate, chosen: Candidate, named: readonly Candidate[]): Reason {
  if (named.length > 0 && !named.includes(candidate)) return 'excluded_by_user';
  if (compareOverlap(candidate, chosen) !== 0) return 'less_overlap';
  if (compareType(candidate, chosen) !== 0) return 'unfavored_type';
  return compareSize(candidate, chosen) !== 0 ? 'too_many_fields' : 'alphabetically_comes_after';
}

/** An index of more fields than that is not suggested. */
const MAX_SORTED = 100;

/** An index that would help a query, as `_index` takes it. */
export interface IndexSuggestion {
  readonly fields: readonly string[];
}

/**
 * Suggests the fields with a single value, then those of the sort, then one that has a range. If there is none of them, it
 * suggests a field that every found document has, because its index has fewer documents, and conditions can be tested on
 * its keys. Undefined if the selector has no conditions, if reading the documents by id is enough, or if the sort is too long.
 */
function suggestIndex({ sort }: FindQuery, conditions: Conditions): IndexSuggestion | undefined {
  const indexable = conditions.indexable().filter((field) => field !== '_id');
  const equal = indexable.filter((field) => conditions.isConstant(field));
  // No one makes an index of hundreds of fields, and a response that named them would be as long as the query.
  if (sort.length > MAX_SORTED) return undefined;
  const sorted = sort.map(({ field }) => field);
  const ranged = sorted.length > 0 ? [] : indexable.filter((field) => !conditions.isConstant(field)).slice(0, 1);
  const isById = sorted.every((field) => field === '_id');
  const inOrder = new Set(sorted);
  const fields = [...equal.filter((field) => !inOrder.has(field)), ...(isById ? [] : sorted), ...ranged];
  if (fields.length > 0) return { fields };
  const required = [...conditions.required].find((field) => field !== '_id' && field !== '_rev');
  return required === undefined ? undefined : { fields: [required] };
}
