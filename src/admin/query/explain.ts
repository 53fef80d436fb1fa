/** What `_explain` returns, in words. */
import { ask, type Json, type JsonObject, pathOf, ServerError } from '../server/client.ts';
import type { IndexDefinition } from './selector-query.ts';

export interface Explanation {
  /** Which index is read. */
  readonly index: string;
  /** Which part of it. */
  readonly range: string;
  /** What is checked on each document that was read: conditions as JSON. */
  readonly filtered: readonly string[];
  /** The index alone is enough: no document is read. */
  readonly isCovering: boolean;
  /** All documents are read. */
  readonly readsAll: boolean;
  readonly others: readonly { readonly name: string; readonly why: string }[];
  readonly suggested: IndexDefinition | undefined;
}

interface IndexMembers {
  readonly ddoc: string | null;
  readonly name: string;
  readonly type: string;
  readonly def?: { readonly fields?: readonly Json[] };
}

interface ExplainMembers {
  readonly index: IndexMembers;
  readonly selector: JsonObject;
  readonly covering?: boolean;
  readonly mrargs?: JsonObject;
  readonly index_candidates?: readonly {
    readonly index: IndexMembers;
    readonly analysis: { readonly chosen?: boolean; readonly reasons?: readonly JsonObject[] };
  }[];
  readonly selector_hints?: readonly { readonly indexable_fields?: readonly string[] }[];
  readonly suggested_index?: { readonly index?: IndexDefinition };
}

/** Returns undefined if the server has no `_explain`. */
export async function explain(
  database: string,
  query: JsonObject,
  signal: AbortSignal,
): Promise<Explanation | undefined> {
  try {
    const found = await ask<ExplainMembers>('POST', pathOf(database, '_explain'), { json: query, signal });
    return toExplanation(found);
  } catch (failure) {
    if (failure instanceof ServerError && [404, 405, 501].includes(failure.status)) return undefined;
    throw failure;
  }
}

export function toExplanation(found: ExplainMembers): Explanation {
  const { index, selector, covering = false, mrargs = {}, index_candidates = [] } = found;
  const fields = fieldsOf(index);
  const conditions = conditionsOf(selector);
  const bounds = boundsOf(fields, mrargs, conditions);
  const readsAll = index.type === 'special' && bounds.served.size === 0 && mrargs.keys === undefined;
  return {
    index: conditions.length === 0 && readsAll ? NO_CONDITIONS : indexText(index, fields, readsAll),
    range: readsAll ? '' : bounds.text,
    filtered: conditions.filter((one) => !isServed(one, bounds.served, fields)).map((one) => JSON.stringify(one)),
    isCovering: covering,
    readsAll,
    others: index_candidates
      .filter(({ analysis }) => analysis.chosen !== true)
      .map((one) => ({ name: nameOf(one.index), why: (one.analysis.reasons ?? []).map(reasonText).join(' ') })),
    suggested: found.suggested_index?.index ?? (readsAll ? hinted(found) : undefined),
  };
}

/** Servers that suggest nothing say at least which fields an index could have. */
function hinted({ selector_hints: hints = [] }: ExplainMembers): IndexDefinition | undefined {
  const fields = hints.flatMap(({ indexable_fields = [] }) => indexable_fields).filter((field) => field !== '_id');
  return fields.length === 0 ? undefined : { fields };
}

const NO_CONDITIONS = 'The selector has no conditions: documents are read by their ids until the page is full.';

function indexText(index: IndexMembers, fields: readonly string[], readsAll: boolean): string {
  if (readsAll) return 'Reads all documents: no index can be used.';
  if (index.type === 'special') return 'Reads documents by their ids.';
  return `Reads the index ${nameOf(index)}, which is sorted by ${fields.join(', ')}.`;
}

function nameOf({ ddoc, name, type }: IndexMembers): string {
  return type === 'special' ? 'All documents' : `${name} of ${ddoc}`;
}

/** `[{"author": "asc"}]` and `["author"]` both have the field `author`. */
export function fieldNames(fields: readonly Json[]): readonly string[] {
  return fields.map((field) =>
    typeof field === 'object' && field !== null ? (Object.keys(field)[0] ?? '') : `${field}`,
  );
}

function fieldsOf(index: IndexMembers): readonly string[] {
  return fieldNames(index.def?.fields ?? []);
}

interface Bounds {
  readonly text: string;
  /** Fields whose conditions choose the range. */
  readonly served: ReadonlySet<string>;
}

function boundsOf(fields: readonly string[], args: JsonObject, conditions: readonly JsonObject[]): Bounds {
  if (Array.isArray(args.keys)) return { text: `Looks up ${args.keys.length} ids.`, served: new Set(['_id']) };
  if (typeof args.lookups === 'number') {
    const [first = ''] = fields;
    return { text: `Looks up ${args.lookups} values of ${first}.`, served: new Set([first]) };
  }
  const starts = toArray(args.start_key);
  const ends = toArray(args.end_key);
  const served = new Set<string>();
  const parts: string[] = [];
  for (const [at, field] of fields.entries()) {
    const [start, end] = [starts[at], ends[at]];
    const [hasStart, hasEnd] = [isBound(start), isBound(end)];
    if (!hasStart && !hasEnd) break;
    served.add(field);
    const isFixed = hasStart && hasEnd && JSON.stringify(start) === JSON.stringify(end);
    parts.push(
      isFixed ? `${field} is ${JSON.stringify(start)}` : (wordsOf(field, conditions) ?? spanText(field, start, end)),
    );
    if (!isFixed) break;
  }
  const way = args.direction === 'rev' ? ', backwards' : '';
  const text = parts.length === 0 ? `Reads all of it${way}.` : `Reads the part where ${parts.join(' and ')}${way}.`;
  return { text, served };
}

const WORDS: Readonly<Record<string, string>> = {
  $eq: 'is',
  $gt: 'is above',
  $gte: 'is at least',
  $lt: 'is below',
  $lte: 'is at most',
  $beginsWith: 'begins with',
};

/** The bounds of a field as the selector has them: the keys of a range do not say whether a bound itself belongs to it. */
function wordsOf(field: string, conditions: readonly JsonObject[]): string | undefined {
  const words = conditions.flatMap((condition) =>
    Object.entries(membersOf(condition[field])).flatMap(([operator, value]) =>
      WORDS[operator] === undefined || value === null ? [] : [`${WORDS[operator]} ${JSON.stringify(value)}`],
    ),
  );
  return words.length === 0 ? undefined : `${field} ${words.join(' and ')}`;
}

function membersOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function spanText(field: string, start: Json | undefined, end: Json | undefined): string {
  if (!isBound(end)) return `${field} is ${JSON.stringify(start)} or more`;
  if (!isBound(start)) return `${field} is at most ${JSON.stringify(end)}`;
  return `${field} is between ${JSON.stringify(start)} and ${JSON.stringify(end)}`;
}

/** Null is below everything; objects and `<MAX>` stand for what is above everything. */
function isBound(key: Json | undefined): boolean {
  return key !== undefined && key !== null && key !== '<MAX>' && (typeof key !== 'object' || Array.isArray(key));
}

function toArray(key: Json | undefined): readonly Json[] {
  return Array.isArray(key) ? key : key === undefined ? [] : [key as Json];
}

/** The conditions that must all hold. */
function conditionsOf(selector: JsonObject): readonly JsonObject[] {
  return Object.entries(selector).flatMap(([name, value]): readonly JsonObject[] =>
    name === '$and' && Array.isArray(value)
      ? value.flatMap((one: Json) => (typeof one === 'object' && one !== null ? conditionsOf(one as JsonObject) : []))
      : [{ [name]: value }],
  );
}

const BY_RANGE = new Set(['$eq', '$gt', '$gte', '$lt', '$lte', '$in', '$beginsWith']);

function isServed(condition: JsonObject, served: ReadonlySet<string>, fields: readonly string[]): boolean {
  const [[field, value] = ['', null]] = Object.entries(condition);
  if (typeof value !== 'object' || value === null) return served.has(field);
  const operators = Object.keys(value);
  // `{"$gt": null}` only says that the field exists: what is in an index has its fields.
  if (JSON.stringify(value) === '{"$gt":null}') return fields.includes(field);
  return served.has(field) && operators.every((operator) => BY_RANGE.has(operator));
}

const REASONS: Readonly<Record<string, string>> = {
  is_partial: 'It has a filter of its own, so it is used only when a query names it.',
  field_mismatch: 'Documents that lack one of its fields are not in it, and the selector does not ask for all of them.',
  empty_selector: 'The selector has no conditions.',
  sort_order_mismatch: 'It does not have the order of the sort.',
  excluded_by_user: 'The query names another index.',
  less_overlap: 'The chosen one answers more of the selector.',
  unfavored_type: 'Another type of index is preferred.',
  too_many_fields: 'The chosen one has fewer fields.',
  alphabetically_comes_after: 'The chosen one is equally good, and its name comes first.',
};

function reasonText({ name, text }: JsonObject): string {
  return typeof text === 'string' ? text : (REASONS[`${name}`] ?? `${name}`);
}
