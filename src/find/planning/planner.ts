/**
 * Chooses where to look for documents. An index is usable where every document that is found is in it (each has all its
 * fields, and it has no filter of its own, unless it was named), and where it has the order that is asked for. Of the
 * usable ones the one with most leading fields given is taken, then the one with the narrower range, then the one with
 * fewer fields, then the first by name.
 */
import type { CompareKeys } from '../../collation/key-order.ts';
import { refusal } from '../find-error.ts';
import type { StoredIndex } from '../indexes/index-catalog.ts';
import { hasFilter, type JsonIndex } from '../indexes/index-definition.ts';
import { bookmarkName } from '../searching/bookmark.ts';
import type { FindQuery, NamedIndex } from '../searching/find-query.ts';
import { requiredFields } from '../selectors/selector.ts';
import { Conditions, type IndexPlan, type Plan, planDocuments, planIndex } from './plan.ts';
import { type IndexSuggestion, suggestIndex } from './suggestion.ts';

/** Why an index was not taken; the words are those that `_explain` of this interface family has. */
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
  /** Undefined for the documents themselves. */
  readonly index: JsonIndex | undefined;
  readonly plan: Plan;
  /** Empty for the one that was taken. */
  readonly reasons: readonly Reason[];
  readonly isUsable: boolean;
}

export interface Choice {
  readonly plan: Plan;
  /** What was thought of, the best first; the chosen one among them. */
  readonly candidates: readonly Candidate[];
  /** The index that was asked for by name, and can't be used. */
  readonly unusableName: NamedIndex | undefined;
  /** What would help more; undefined where nothing would. */
  readonly suggestion: IndexSuggestion | undefined;
}

/** Fails with 400 `no_usable_index` where nothing has the order that is asked for. */
export function choosePlan(query: FindQuery, stored: readonly StoredIndex[], compare: CompareKeys): Choice {
  const conditions = new Conditions(query, compare);
  const descending = query.sort[0]?.direction === 'desc';
  const suggestion = suggestIndex(query, conditions);
  const judged = [
    ...stored.map((one) => judgeIndex(query, conditions, planIndex(one, conditions, descending))),
    judgeDocuments(query, planDocuments(conditions, descending)),
  ];
  const usable = judged.filter(({ isUsable }) => isUsable).sort(compareCandidates);
  const named = query.namedIndex === undefined ? [] : usable.filter(({ index }) => isNamed(index, query.namedIndex));
  const unusableName = named.length === 0 ? query.namedIndex : undefined;
  if (unusableName !== undefined && !query.allowFallback) {
    throw refusal('no_usable_index', `There is no index available for this selector.${remedy(suggestion)}`);
  }
  const chosen = continued(query, named) ?? named[0] ?? continued(query, usable) ?? usable[0];
  if (chosen === undefined) {
    const reason = 'No index exists for this sort, try indexing by the sort fields.';
    throw refusal('no_usable_index', `${reason}${remedy(suggestion)}`);
  }
  const others = usable.filter((candidate) => candidate !== chosen);
  const explained = others.map((candidate) => ({ ...candidate, reasons: [whyNot(candidate, chosen, named)] }));
  return {
    plan: chosen.plan,
    candidates: [chosen, ...explained, ...judged.filter(({ isUsable }) => !isUsable)],
    unusableName,
    suggestion: isMet(suggestion, chosen.plan) ? undefined : suggestion,
  };
}

/** What would help, within the text of an error or a warning, with a space in front; empty where nothing would. */
export function remedy(suggestion: IndexSuggestion | undefined): string {
  if (suggestion === undefined) return '';
  return ` POST this to _index: ${JSON.stringify({ index: { fields: suggestion.fields } })}`;
}

/** Whether the plan has such an index already. */
function isMet(suggestion: IndexSuggestion | undefined, plan: Plan): boolean {
  const columns = plan.kind === 'index' ? plan.stored.index.columns.map(({ field }) => field) : [];
  return suggestion?.fields.every((field, place) => field === columns[place]) === true;
}

/** What a plan is called in bookmarks: they hold for its order alone. */
export function planName(plan: Plan): string {
  return plan.kind === 'documents' ? '' : `${plan.stored.index.design}/${plan.stored.index.name}`;
}

function judgeIndex(query: FindQuery, conditions: Conditions, plan: IndexPlan): Candidate {
  const { index } = plan.stored;
  const reasons: Reason[] = [];
  if (hasFilter(index) && !isNamed(index, query.namedIndex)) reasons.push('is_partial');
  const sorted = new Set(query.sort.map(({ field }) => field));
  const required = requiredFields(query.selector);
  const lacks = index.columns.some(({ field }) => {
    return !(required.has(field) || sorted.has(field) || field === '_id' || field === '_rev');
  });
  if (lacks) reasons.push(required.size === 0 ? 'empty_selector' : 'field_mismatch');
  const columns = index.columns.map(({ field }) => field);
  if (!hasOrder(columns, query, conditions)) reasons.push('sort_order_mismatch');
  return { index, plan, reasons, isUsable: reasons.length === 0 };
}

function judgeDocuments(query: FindQuery, plan: Plan): Candidate {
  const isSorted = query.sort.every(({ field }) => field === '_id');
  return { index: undefined, plan, reasons: isSorted ? [] : ['sort_order_mismatch'], isUsable: isSorted };
}

/** Whether rows in the order of the columns are in the order that is asked for. Columns with one value don't count. */
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

/** Where a bookmark goes on, the same index has to be read, whatever others there are by now. */
function continued({ bookmark }: FindQuery, usable: readonly Candidate[]): Candidate | undefined {
  if (bookmark === undefined) return undefined;
  const name = bookmarkName(bookmark);
  return usable.find(({ plan }) => planName(plan) === name);
}

/** The better one first. */
function compareCandidates(left: Candidate, right: Candidate): number {
  return (
    compareOverlap(left, right) || compareType(left, right) || compareSize(left, right) || compareNames(left, right)
  );
}

function compareOverlap({ plan: left }: Candidate, { plan: right }: Candidate): number {
  return right.equalities - left.equalities || right.narrowness - left.narrowness;
}

/** An index has fewer documents than the database. */
function compareType(left: Candidate, right: Candidate): number {
  return Number(left.index === undefined) - Number(right.index === undefined);
}

function compareSize({ index: left }: Candidate, { index: right }: Candidate): number {
  return (left?.columns.length ?? 0) - (right?.columns.length ?? 0);
}

function compareNames({ plan: left }: Candidate, { plan: right }: Candidate): number {
  return planName(left) < planName(right) ? -1 : 1;
}

function whyNot(candidate: Candidate, chosen: Candidate, named: readonly Candidate[]): Reason {
  if (named.length > 0 && !named.includes(candidate)) return 'excluded_by_user';
  if (compareOverlap(candidate, chosen) !== 0) return 'less_overlap';
  if (compareType(candidate, chosen) !== 0) return 'unfavored_type';
  return compareSize(candidate, chosen) !== 0 ? 'too_many_fields' : 'alphabetically_comes_after';
}
