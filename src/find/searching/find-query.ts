/** What `_find` and `_explain` are asked (completion 23): read from a request's body, checked, with the defaults. */

import { refusal, shown } from '../find-error.ts';
import { parseSort, type SortField } from '../planning/sort.ts';
import { type FieldPath, isObject, parseFieldPath } from '../selectors/field-path.ts';
import { parseSelector, type Selector } from '../selectors/selector.ts';

/** The index that a query asks for: all of a design document, or one of them. */
export interface NamedIndex {
  /** With `_design/`. */
  readonly design: string;
  readonly name: string | undefined;
}

export interface FindQuery {
  readonly selector: Selector;
  /** Default 25. */
  readonly limit: number;
  readonly skip: number;
  readonly sort: readonly SortField[];
  /** Undefined: whole documents. */
  readonly fields: readonly FieldPath[] | undefined;
  readonly namedIndex: NamedIndex | undefined;
  /** False: fails where the named index can't be used. */
  readonly allowFallback: boolean;
  /** As an earlier answer had it; undefined at the beginning. */
  readonly bookmark: string | undefined;
  /** `_conflicts` in the documents. */
  readonly conflicts: boolean;
  /** False: the index is read as it is. */
  readonly update: boolean;
  readonly stable: boolean;
  /** Asked of copies on other nodes, of which there are none here. */
  readonly r: number;
  readonly executionStats: boolean;
}

const DEFAULT_LIMIT = 25;
/** What an answer without documents has for a bookmark. */
export const NO_BOOKMARK = 'nil';

const MEMBERS: ReadonlySet<string> = new Set([
  'selector',
  'limit',
  'skip',
  'sort',
  'fields',
  'use_index',
  'allow_fallback',
  'bookmark',
  'conflicts',
  'partition',
  'r',
  'update',
  'stable',
  'stale',
  'execution_stats',
]);

/** `body` is JSON that is nested no deeper than a stack holds. Fails with 400, and a word for each mistake. */
export function parseFindQuery(body: Readonly<Record<string, unknown>>): FindQuery {
  const unknownName = Object.keys(body).find((name) => !MEMBERS.has(name));
  if (unknownName !== undefined) {
    const reason = `Invalid key ${unknownName} for this request. There are ${[...MEMBERS].join(', ')}.`;
    throw refusal('invalid_key', reason);
  }
  if (!Object.hasOwn(body, 'selector')) throw refusal('missing_required_key', 'Missing required key: selector');
  const { stale, bookmark } = body;
  return {
    selector: parseSelector(body['selector']),
    limit: parseCount('limit', body['limit'], DEFAULT_LIMIT),
    skip: parseCount('skip', body['skip'], 0),
    // Both forms have been in use for none.
    sort: isObject(body['sort']) && isEmpty(body['sort']) ? [] : parseSort(body['sort'] ?? []),
    fields: parseFields(body['fields']),
    namedIndex: parseNamedIndex(body['use_index']),
    allowFallback: parseFlag('allow_fallback', body['allow_fallback'], true),
    bookmark: bookmark === undefined || bookmark === NO_BOOKMARK || bookmark === '' ? undefined : parseText(bookmark),
    conflicts: parseFlag('conflicts', body['conflicts'], false),
    update: parseStale(stale) ? false : parseFlag('update', body['update'], true),
    stable: parseFlag('stable', body['stable'], false),
    r: parseCount('r', body['r'], 1),
    executionStats: parseFlag('execution_stats', body['execution_stats'], false),
  };
}

function parseFields(value: unknown): readonly FieldPath[] | undefined {
  if (value === undefined || value === null || value === 'all_fields') return undefined;
  if (!Array.isArray(value)) {
    throw refusal('invalid_fields', `Fields must be an array of strings, not: ${shown(value)}`);
  }
  const fields = value.map((field: unknown) => {
    if (typeof field === 'string') return parseFieldPath(field);
    throw refusal('invalid_field', `Invalid JSON for field spec: ${shown(field)}`);
  });
  return fields.length === 0 ? undefined : fields;
}

/** `"design"`, `"design/name"` or `["design", "name"]`, the design document with `_design/` or without. */
function parseNamedIndex(value: unknown): NamedIndex | undefined {
  if (value === undefined) return undefined;
  const given: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (given.length === 0) return undefined;
  const parts = given.length === 1 ? splitName(given[0]) : given;
  const [design, name] = parts;
  if (parts.length > 2 || typeof design !== 'string' || (name !== undefined && typeof name !== 'string')) {
    throw refusal('invalid_index_name', `Invalid index name: ${shown(value)}. Give ["design document", "index"].`);
  }
  return { design: toDesignId(design), name };
}

/** Also the form `_design/x/name`. */
function splitName(value: unknown): readonly unknown[] {
  if (typeof value !== 'string') return [value];
  const [first = '', second, third] = value.replace(/^_design\//, '').split('/');
  return third === undefined ? [first, second] : [value];
}

export function toDesignId(name: string): string {
  return name.startsWith('_design/') ? name : `_design/${name}`;
}

/** `stale` is the older way of saying `update: false`. */
function parseStale(value: unknown): boolean {
  if (value === undefined || value === false || value === 'false') return false;
  if (value === 'ok') return true;
  throw refusal('invalid_value', `Invalid value for stale: ${shown(value)}. There is "ok".`);
}

function parseText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw refusal('invalid_string', `Invalid string: ${shown(value)}`);
}

function parseFlag(name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value === 'boolean') return value;
  throw refusal('invalid_boolean', `Invalid boolean value: ${shown(value)}, given for ${name}.`);
}

function parseCount(name: string, value: unknown, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  const reason = `${shown(value)} is not an integer greater than or equal to zero, which ${name} must be.`;
  throw refusal('invalid_non_neg_integer', reason);
}

function isEmpty(object: object): boolean {
  return Object.keys(object).length === 0;
}
