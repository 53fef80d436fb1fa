/** Pages of the rows of a view. Reading them never builds the index. */
import { ask, type Json, type JsonObject, pathOf, withQuery } from '../server/client.ts';

export interface ViewRow {
  readonly key: Json;
  readonly value: Json;
  /** The document that emitted it; undefined if it is a reduction. */
  readonly id: string | undefined;
}

export interface RowQuery {
  readonly isReduced: boolean;
  /** With a reduction: `all` for one row, `key` for a row per key, a number for a row per beginning of that many elements. */
  readonly group: 'all' | 'key' | number;
  readonly isDescending: boolean;
  readonly startkey: Json | undefined;
  readonly endkey: Json | undefined;
}

/** Where a page begins. */
export interface Place {
  readonly startkey?: Json;
  readonly startkey_docid?: string;
  readonly skip?: number;
}

export interface RowPage {
  /** Rows of the whole view; undefined for reductions. */
  readonly total: number | undefined;
  readonly rows: readonly ViewRow[];
  /** The sequence of the database up to which the rows reflect it; undefined if the server does not say. */
  readonly updateSeq: Json | undefined;
  /** Undefined: it is the last page. */
  readonly next: Place | undefined;
}

export const PER_PAGE = 100;

interface Response {
  readonly total_rows?: number;
  readonly update_seq?: Json;
  readonly rows: readonly { readonly id?: string; readonly key: Json; readonly value: Json }[];
}

export async function viewRows(
  database: string,
  name: string,
  view: string,
  { query, place }: { readonly query: RowQuery; readonly place: Place },
  signal?: AbortSignal,
): Promise<RowPage> {
  const path = withQuery(pathOf(database, `_design/${name}`, '_view', view), {
    update: false,
    update_seq: true,
    ...parametersOf(query),
    ...place,
    limit: PER_PAGE + 1,
  });
  return toPage(await ask<Response>('GET', path, { signal }), query, place);
}

/** Parameters of a request that differ from what servers assume. */
export function parametersOf({ isReduced, group, isDescending, startkey, endkey }: RowQuery): JsonObject {
  return {
    reduce: isReduced ? undefined : false,
    group: isReduced && group === 'key' ? true : undefined,
    group_level: isReduced && typeof group === 'number' ? group : undefined,
    descending: isDescending || undefined,
    startkey,
    endkey,
  };
}

export function toPage({ total_rows, update_seq, rows }: Response, { isReduced }: RowQuery, place: Place): RowPage {
  const shown = rows.slice(0, PER_PAGE).map(({ id, key, value }) => ({ id, key, value }));
  const more = rows[PER_PAGE];
  return {
    total: total_rows,
    rows: shown,
    updateSeq: update_seq,
    next: more === undefined ? undefined : placeOf(more, shown, isReduced, place),
  };
}

/** Reductions have no documents to begin at, so they are counted. */
function placeOf(
  { id, key }: Response['rows'][number],
  shown: readonly ViewRow[],
  isReduced: boolean,
  place: Place,
): Place {
  if (isReduced || id === undefined) return { ...place, skip: (place.skip ?? 0) + shown.length };
  // One document may emit a key often: its rows that were shown are skipped.
  const text = JSON.stringify(key);
  let same = 0;
  while (same < shown.length && isSame(shown[shown.length - 1 - same], id, text)) same += 1;
  const before = same === shown.length ? (place.skip ?? 0) : 0;
  return { startkey: key, startkey_docid: id, skip: same + before };
}

function isSame(row: ViewRow | undefined, id: string, keyText: string): boolean {
  return row !== undefined && row.id === id && JSON.stringify(row.key) === keyText;
}
