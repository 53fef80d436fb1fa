/**
 * The parameters of lists of rows (docs/http/bulk.md#list-parameters), from a query string or from a JSON object, with
 * the error texts of docs/http/bulk.md#parameter-errors. Unknown parameters are ignored. The last value of a repeated parameter
 * counts.
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { RowRange } from '../../database/store/contract.ts';
import { parseBody } from './bodies.ts';
import type { Context } from './context.ts';
import { parseBoolean, parseCount, parseError, shortText } from './parameter-values.ts';

export interface ListParameters {
  /** Rows for just these keys, in this order. */
  readonly keys: readonly unknown[] | undefined;
  /** Where the walk begins: at the larger end if it descends. Undefined: open. */
  readonly startKey: unknown;
  readonly startKeyDocId: string | undefined;
  readonly endKey: unknown;
  readonly endKeyDocId: string | undefined;
  /** Whether both ends are the key of `key`, which is included regardless of `inclusiveEnd`. */
  readonly isOneKey: boolean;
  readonly inclusiveEnd: boolean;
  readonly descending: boolean;
  readonly skip: number;
  readonly limit: number | undefined;
  readonly includeDocs: boolean;
  readonly conflicts: boolean;
  readonly attachments: boolean;
  readonly attEncodingInfo: boolean;
  readonly updateSeq: boolean;
}

type Draft = { -readonly [Name in keyof ListParameters]: ListParameters[Name] };

const DEFAULTS: ListParameters = {
  keys: undefined,
  startKey: undefined,
  startKeyDocId: undefined,
  endKey: undefined,
  endKeyDocId: undefined,
  isOneKey: false,
  inclusiveEnd: true,
  descending: false,
  skip: 0,
  limit: undefined,
  includeDocs: false,
  conflicts: false,
  attachments: false,
  attEncodingInfo: false,
  updateSeq: false,
};

type Read = (draft: Draft, value: unknown) => void;

const READERS: ReadonlyMap<string, Read> = new Map<string, Read>([
  ['keys', into('keys', toKeys)],
  ['key', setBoth],
  ['startkey', setStart],
  ['start_key', setStart],
  ['startkey_docid', into('startKeyDocId', shortText)],
  ['start_key_doc_id', into('startKeyDocId', shortText)],
  ['endkey', setEnd],
  ['end_key', setEnd],
  ['endkey_docid', into('endKeyDocId', shortText)],
  ['end_key_doc_id', into('endKeyDocId', shortText)],
  ['inclusive_end', into('inclusiveEnd', parseBoolean)],
  ['descending', into('descending', parseBoolean)],
  ['skip', into('skip', parseCount)],
  ['limit', into('limit', parseCount)],
  ['include_docs', into('includeDocs', parseBoolean)],
  ['conflicts', into('conflicts', parseBoolean)],
  ['attachments', into('attachments', parseBoolean)],
  ['att_encoding_info', into('attEncodingInfo', parseBoolean)],
  ['update_seq', into('updateSeq', parseBoolean)],
  // These have no effect on a list of documents, but their values are checked.
  ['stale', checked(checkStale)],
  ['count', checked(refuseCount)],
]);

/** Names whose value in a query string is JSON. */
export const JSON_PARAMETERS: ReadonlySet<string> = new Set([
  'keys',
  'key',
  'startkey',
  'start_key',
  'endkey',
  'end_key',
]);

/** Reads the parameters of the address. Fails as `parseListParameters` and `readQueryValues` do. */
export function readListQuery(context: Context): MaybePromise<ListParameters> {
  return whenReady(readQueryValues(context), parseListParameters);
}

/**
 * Reads values that are JSON already, or texts. `key` stands for both bounds, so the last of several bounds counts. Fails with
 * `query_parse_error`, and with `bad_request` if `keys` is not a list.
 */
export function parseListParameters(entries: Iterable<readonly [string, unknown]>): ListParameters {
  const draft: Draft = { ...DEFAULTS };
  for (const [name, value] of entries) READERS.get(name)?.(draft, value);
  const isBounded = draft.startKey !== undefined || draft.endKey !== undefined;
  if (isBounded && draft.keys !== undefined && draft.keys.length > 0) {
    throw parseError('`keys` is incompatible with `key`, `start_key` and `end_key`');
  }
  return draft;
}

/**
 * Returns the pairs of the address's query, with JSON values parsed, which counts as memory of the request. Synchronous if they are short.
 * Fails as `parseBody` does.
 */
export function readQueryValues(context: Context): MaybePromise<[string, unknown][]> {
  return context.query.isEmpty ? [] : readValues(context, context.query.entries()[Symbol.iterator](), []);
}

function readValues(
  context: Context,
  entries: Iterator<readonly [string, string]>,
  values: [string, unknown][],
): MaybePromise<[string, unknown][]> {
  for (let next = entries.next(); next.done !== true; next = entries.next()) {
    const [name, text] = next.value;
    const value = JSON_PARAMETERS.has(name) ? parseBody(context, text) : text;
    if (value instanceof Promise) {
      return value.then((parsed) => readValues(context, entries, [...values, [name, parsed]]));
    }
    values.push([name, value]);
  }
  return values;
}

function into<Name extends keyof Draft>(name: Name, convert: (value: unknown) => Draft[Name]): Read {
  return (draft, value) => {
    draft[name] = convert(value);
  };
}

function checked(check: (value: unknown) => unknown): Read {
  return (_draft, value) => {
    check(value);
  };
}

function setStart(draft: Draft, value: unknown): void {
  draft.startKey = value;
  draft.isOneKey = false;
}

function setEnd(draft: Draft, value: unknown): void {
  draft.endKey = value;
  draft.isOneKey = false;
}

function setBoth(draft: Draft, value: unknown): void {
  draft.startKey = value;
  draft.endKey = value;
  draft.isOneKey = true;
}

function toKeys(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new DatabaseError('bad_request', '`keys` member must be a array.');
}

function checkStale(value: unknown): void {
  if (value !== 'ok' && value !== 'update_after') throw parseError('Invalid value for `stale`.');
}

function refuseCount(): never {
  throw parseError('QS param `count` is not `limit`');
}

/** No row lies between the bounds, and the walk would begin before or after all rows. */
interface EmptyRange {
  readonly beginsBehindAll: boolean;
}

/**
 * Returns the range of ids that the keys describe. Ids are strings; among keys of all types strings sort above null, booleans
 * and numbers, and below lists and objects (docs/http/bulk.md#list-of-all-documents), so a bound of another type either is open or
 * matches nothing.
 */
export function toRowRange(parameters: ListParameters): RowRange | EmptyRange {
  const { descending, skip, inclusiveEnd, isOneKey } = parameters;
  const { startKey = parameters.startKeyDocId, endKey = parameters.endKeyDocId } = parameters;
  const start = boundOf(startKey);
  const end = boundOf(endKey);
  const [lower, upper]: readonly [Bound, Bound] = descending ? [end, start] : [start, end];
  if (lower === ABOVE || upper === BELOW) {
    return { beginsBehindAll: descending ? start === BELOW : start === ABOVE };
  }
  const endInclusive = inclusiveEnd || isOneKey;
  return {
    start: textOf(lower),
    end: textOf(upper),
    startInclusive: descending ? endInclusive : true,
    endInclusive: descending ? true : endInclusive,
    descending,
    skip,
  };
}

export function isEmptyRange(range: RowRange | EmptyRange): range is EmptyRange {
  return 'beginsBehindAll' in range;
}

/** All strings sort above, or below. */
const BELOW = Symbol('below');
const ABOVE = Symbol('above');

type Bound = string | undefined | typeof BELOW | typeof ABOVE;

function boundOf(key: unknown): Bound {
  if (key === undefined || typeof key === 'string') return key;
  return typeof key === 'object' && key !== null ? ABOVE : BELOW;
}

function textOf(bound: Bound): string | undefined {
  return typeof bound === 'string' ? bound : undefined;
}
