/** Reads the body of a request to `_find` or `_explain` (docs/http/find.md#find), checks it and fills in the defaults. */

import { isObject } from '../../base/json/objects.ts';
import { type CooperativeTask, mapInSteps } from '../../base/shared/turn.ts';
import { excerpt, queryError } from './query-error.ts';
import { type FieldPath, parseFieldPath } from './selectors/field-path.ts';
import type { Selector } from './selectors/selector.ts';
import { parseSelector } from './selectors/selector-parser.ts';

/** The index that a query names in `use_index`: any index of a design document, or a specific one. */
export interface NamedIndex {
  /** With `_design/`. */
  readonly design: string;
  readonly name: string | undefined;
}

export interface SortField {
  /** The field's path, not parsed yet. */
  readonly field: string;
  readonly direction: 'asc' | 'desc';
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
  /** Whether another index may be used if the named one can't be. */
  readonly allowFallback: boolean;
  /** From an earlier response; undefined for the beginning. */
  readonly bookmark: string | undefined;
  /** Whether documents have `_conflicts`. */
  readonly conflicts: boolean;
  /** Whether the index is updated before it is read. */
  readonly update: boolean;
  readonly stable: boolean;
  /** A number of copies on other nodes. There are none here, so it is only shown in `_explain`. */
  readonly r: number;
  readonly executionStats: boolean;
}

const DEFAULT_LIMIT = 25;
/** Fields that a query returns or sorts by, and that an index has. */
const MAX_FIELDS = 1_000;
/** The bookmark of a response without documents. */
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

/**
 * Parses a query. `body` must not be nested too deeply for recursion. Optional members that are null count as absent. Fails with
 * 400 and an error name for each mistake.
 */
export function* parseFindQuery(body: Readonly<Record<string, unknown>>): CooperativeTask<FindQuery> {
  const unknownName = Object.keys(body).find((name) => !MEMBERS.has(name));
  if (unknownName !== undefined) {
    const reason = `Invalid key ${unknownName} for this request. Use ${[...MEMBERS].join(', ')}.`;
    throw queryError('invalid_key', reason);
  }
  if (!Object.hasOwn(body, 'selector')) throw queryError('missing_required_key', 'Missing required key: selector');
  const { stale, bookmark } = body;
  return {
    selector: parseSelector(body['selector']),
    limit: parseCount('limit', body['limit'], DEFAULT_LIMIT),
    skip: parseCount('skip', body['skip'], 0),
    sort: yield* parseSort(body['sort'] ?? []),
    fields: yield* parseFields(body['fields']),
    namedIndex: parseNamedIndex(body['use_index']),
    allowFallback: parseFlag('allow_fallback', body['allow_fallback'], true),
    bookmark: isAbsent(bookmark) || bookmark === NO_BOOKMARK || bookmark === '' ? undefined : parseText(bookmark),
    conflicts: parseFlag('conflicts', body['conflicts'], false),
    update: parseStale(stale) ? false : parseFlag('update', body['update'], true),
    stable: parseFlag('stable', body['stable'], false),
    r: parseCount('r', body['r'], 1),
    executionStats: parseFlag('execution_stats', body['execution_stats'], false),
  };
}

/** Returns undefined for all fields. Fails with `invalid_fields`, `invalid_field`. */
export function* parseFields(value: unknown): CooperativeTask<readonly FieldPath[] | undefined> {
  if (isAbsent(value) || value === 'all_fields') return undefined;
  if (!Array.isArray(value)) {
    throw queryError('invalid_fields', `Fields must be an array of strings, not: ${excerpt(value)}`);
  }
  if (value.length > MAX_FIELDS) {
    const reason = `A query returns ${MAX_FIELDS} fields at most, and this one names ${value.length}. Leave "fields" out for whole documents.`;
    throw queryError('invalid_fields', reason);
  }
  const fields = yield* mapInSteps(value, (field: unknown) => {
    if (typeof field === 'string') return parseFieldPath(field);
    throw queryError(
      'invalid_field',
      `Invalid JSON for field spec: ${excerpt(field)}. Give the path of a field as a string.`,
    );
  });
  return fields.length === 0 ? undefined : fields;
}

/** Reads `"design"`, `"design/name"` or `["design", "name"]`, in which the design document may have `_design/` in front. */
function parseNamedIndex(value: unknown): NamedIndex | undefined {
  if (isAbsent(value)) return undefined;
  const given: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (given.length === 0) return undefined;
  const parts = given.length === 1 ? splitName(given[0]) : given;
  const [design, name] = parts;
  if (parts.length > 2 || typeof design !== 'string' || (name !== undefined && typeof name !== 'string')) {
    throw queryError('invalid_index_name', `Invalid index name: ${excerpt(value)}. Give ["design document", "index"].`);
  }
  return { design: toDesignId(design), name };
}

/** Splits `design/name`, also with `_design/` in front. */
function splitName(value: unknown): readonly unknown[] {
  if (typeof value !== 'string') return [value];
  const [first = '', second, third] = value.replace(/^_design\//, '').split('/');
  return third === undefined ? [first, second] : [value];
}

export function toDesignId(name: string): string {
  return name.startsWith('_design/') ? name : `_design/${name}`;
}

/** Reads `stale`, the older form of `update: false`. */
function parseStale(value: unknown): boolean {
  if (isAbsent(value) || value === false || value === 'false') return false;
  if (value === 'ok') return true;
  throw queryError('invalid_value', `Invalid value for stale: ${excerpt(value)}. Use "ok".`);
}

function parseText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw queryError(
    'invalid_string',
    `Invalid string: ${excerpt(value)}, given for bookmark. Give the bookmark of an earlier response.`,
  );
}

function parseFlag(name: string, value: unknown, fallback: boolean): boolean {
  if (isAbsent(value)) return fallback;
  if (typeof value === 'boolean') return value;
  throw queryError(
    'invalid_boolean',
    `Invalid boolean value: ${excerpt(value)}, given for ${name}. Give true or false.`,
  );
}

function parseCount(name: string, value: unknown, fallback: number): number {
  if (isAbsent(value)) return fallback;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  const reason = `${excerpt(value)} is not an integer greater than or equal to zero, which ${name} must be.`;
  throw queryError('invalid_non_neg_integer', reason);
}

function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/**
 * Reads a list such as `["a", {"b": "asc"}]`, the form of a query's `sort` and an index's `fields`. All fields have the same
 * direction. Fails with
 * 400 `invalid_sort_json`, `invalid_sort_field`, `invalid_sort_dir`, `unsupported_mixed_sort`, `invalid_field_name`.
 */
export function* parseSort(value: unknown): CooperativeTask<readonly SortField[]> {
  if (!Array.isArray(value)) {
    throw queryError('invalid_sort_json', `Sort must be an array of sort specs, not: ${excerpt(value)}`);
  }
  if (value.length > MAX_FIELDS) {
    const reason = `A sort has ${MAX_FIELDS} fields at most, and so has an index; this one has ${value.length}. Leave out fields that don't change the order.`;
    throw queryError('invalid_sort_json', reason);
  }
  const fields = yield* mapInSteps(value, parseSortField);
  const [first] = fields;
  if (fields.some(({ direction }) => direction !== first?.direction)) {
    const reason =
      'Sorts currently only support a single direction for all fields. Give all of them "asc", or all "desc".';
    throw queryError('unsupported_mixed_sort', reason);
  }
  return fields;
}

function parseSortField(item: unknown): SortField {
  if (typeof item === 'string') return { field: checkedField(item), direction: 'asc' };
  const [entry, other] = isObject(item) ? Object.entries(item) : [];
  if (entry === undefined || other !== undefined) {
    throw queryError('invalid_sort_field', `Invalid sort field: ${excerpt(item)}. Give a name, or {"name": "asc"}.`);
  }
  const [field, direction] = entry;
  if (direction !== 'asc' && direction !== 'desc') {
    throw queryError('invalid_sort_dir', `Invalid sort direction: ${excerpt(direction)}. Use "asc" or "desc".`);
  }
  return { field: checkedField(field), direction };
}

function checkedField(field: string): string {
  return parseFieldPath(field).text;
}
