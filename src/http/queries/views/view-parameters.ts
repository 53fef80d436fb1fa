/**
 * The parameters of a view's query (docs/http/views.md#view-parameters): those of every list, and those that only views have.
 * The design document may name defaults in its `options`; the request overrides them.
 */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { isShallow } from '../../../base/json/nesting.ts';
import type { ReduceOptions, UpdateMode } from '../../../queries/views/contract.ts';
import { type ListParameters, parseListParameters } from '../../request/list-parameters.ts';
import { parseBoolean, parseCount, parseError } from '../../request/parameter-values.ts';

export interface ViewParameters extends ListParameters {
  /** Whether the response has reductions instead of rows. */
  readonly isReduced: boolean;
  /** 0: all is one group; n: array keys are cut to n elements; `exact`: each key is a group. */
  readonly groupLevel: number | 'exact';
  /** When the index is brought up to date. */
  readonly update: UpdateMode;
}

/** The properties of a view that its parameters depend on. */
export interface ViewTraits {
  readonly hasReduce: boolean;
  /** Default parameters; other options among them are ignored. */
  readonly defaults: Readonly<Record<string, unknown>>;
}

interface Own {
  reduce: boolean | undefined;
  groupLevel: number | 'exact' | undefined;
  update: UpdateMode;
}

type Entries = readonly (readonly [string, unknown])[];
type Read = (own: Own, value: unknown) => void;

const READERS: ReadonlyMap<string, Read> = new Map<string, Read>([
  ['reduce', (own, value) => assign(own, { reduce: parseBoolean(value) })],
  ['group', (own, value) => assign(own, { groupLevel: parseBoolean(value) ? 'exact' : 0 })],
  ['group_level', (own, value) => assign(own, { groupLevel: parseCount(value) })],
  ['stale', (own, value) => assign(own, { update: toStaleMode(value) })],
  ['update', (own, value) => assign(own, { update: toUpdateMode(value) })],
]);

/** Defaults that apply to one kind of query only, and are left out for the other. */
const FOR_ROWS: ReadonlySet<string> = new Set(['include_docs', 'conflicts', 'attachments', 'att_encoding_info']);
const FOR_GROUPS: ReadonlySet<string> = new Set(['group', 'group_level']);
/** Bounds, which replace each other: a request that names one overrides the default of any. */
const BOUNDS: ReadonlySet<string> = new Set(['keys', 'key', 'startkey', 'start_key', 'endkey', 'end_key']);

/**
 * `entries` are the request's parameters, in order: the last value of a name counts. Fails with `query_parse_error`, and
 * with `bad_request` if `keys` is not a list, or a key is nested too deeply.
 */
export function parseViewParameters(entries: Entries, { hasReduce, defaults }: ViewTraits): ViewParameters {
  const given = readOwn(entries);
  const isReduced = given.reduce ?? (hasReduce && readOwn(Object.entries(defaults)).reduce !== false);
  if (isReduced && !hasReduce) throw parseError('Reduce is invalid for map-only views.');
  const kept = suitableDefaults(defaults, entries, isReduced);
  const all = [...kept, ...entries];
  const list = parseListParameters(all);
  const { groupLevel, update } = readOwn(all);
  // The keys of a request were checked when it was parsed.
  for (const [, key] of kept) {
    if (!isShallow(key))
      throw new DatabaseError(
        'bad_request',
        'A key in the `options` of the view is nested too deeply. Give it fewer levels.',
      );
  }
  const parameters: ViewParameters = { ...list, isReduced, groupLevel: groupLevel ?? 0, update };
  if (isReduced) checkReduced(parameters);
  else if (groupLevel !== undefined && groupLevel !== 0) throw parseError('Invalid use of grouping on a map view.');
  return parameters;
}

/** What is requested of a view's index. */
export function toReduceOptions(parameters: ViewParameters): ReduceOptions {
  const { keys, startKey, startKeyDocId, endKey, endKeyDocId, isOneKey, inclusiveEnd } = parameters;
  const { descending, skip, limit, groupLevel } = parameters;
  return {
    start: startKey,
    startDocId: startKeyDocId,
    end: endKey,
    endDocId: endKeyDocId,
    inclusiveEnd: inclusiveEnd || isOneKey,
    descending,
    keys,
    skip,
    limit,
    groupLevel,
  };
}

function readOwn(entries: Entries): Own {
  const own: Own = { reduce: undefined, groupLevel: undefined, update: 'before' };
  for (const [name, value] of entries) READERS.get(name)?.(own, value);
  return own;
}

function assign(own: Own, change: Partial<Own>): void {
  Object.assign(own, change);
}

function suitableDefaults(defaults: ViewTraits['defaults'], entries: Entries, isReduced: boolean): Entries {
  const unsuitable = isReduced ? FOR_ROWS : FOR_GROUPS;
  const isBounded = entries.some(([name]) => BOUNDS.has(name));
  return Object.entries(defaults).filter(([name]) => !unsuitable.has(name) && !(isBounded && BOUNDS.has(name)));
}

function checkReduced({ includeDocs, conflicts, keys, groupLevel }: ViewParameters): void {
  if (includeDocs) throw parseError('`include_docs` is invalid for reduce');
  if (conflicts) throw parseError('`conflicts` is invalid for reduce views.');
  if (keys !== undefined && keys.length > 1 && groupLevel !== 'exact') {
    throw parseError('Multi-key fetchs for reduce views must use `group=true`');
  }
}

function toStaleMode(value: unknown): UpdateMode {
  if (value === 'ok') return 'never';
  if (value === 'update_after') return 'after';
  throw parseError('Invalid value for `stale`.');
}

/** `update` is the name that later versions use for `stale`. */
function toUpdateMode(value: unknown): UpdateMode {
  if (value === 'true' || value === true) return 'before';
  if (value === 'false' || value === false) return 'never';
  if (value === 'lazy') return 'after';
  throw parseError('Invalid value for `update`. Give true, false or lazy.');
}
