/**
 * What a view should answer, worked out the plain way: all rows, sorted and folded. Shares no code with the service; keys
 * are compared as docs/http/views.md#order-of-keys says, strings by the engine's own collator.
 */
import type { Json } from '../support/view-fixture.ts';

export interface ModelRow {
  readonly id: string;
  readonly number: number;
  readonly key: Json;
  readonly value: Json;
}

const { compare: collate } = new Intl.Collator('en');

function rank(value: Json): number {
  if (value === null) return 0;
  if (value === false) return 1;
  if (value === true) return 2;
  if (typeof value === 'number') return 3;
  if (typeof value === 'string') return 4;
  return Array.isArray(value) ? 5 : 6;
}

export function compareKeys(left: Json, right: Json): number {
  const order = rank(left) - rank(right);
  if (order !== 0) return order;
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left === 'string' && typeof right === 'string') return collate(left, right);
  if (Array.isArray(left) && Array.isArray(right)) return compareLists(left, right);
  if (typeof left !== 'object' || left === null || typeof right !== 'object' || right === null) return 0;
  const [leftList, rightList] = [Object.entries(left).flat(), Object.entries(right).flat()];
  return compareLists(leftList, rightList);
}

function compareLists(left: readonly Json[], right: readonly Json[]): number {
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const order = compareKeys(left[index] ?? null, right[index] ?? null);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function compareBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

function compareRows(left: ModelRow, right: ModelRow): number {
  return compareKeys(left.key, right.key) || compareBytes(left.id, right.id) || left.number - right.number;
}

/** `{k: […keys], v: …}` emits each key with the value. */
export function emittedRows(
  documents: ReadonlyMap<string, { readonly k: readonly Json[]; readonly v: Json }>,
): ModelRow[] {
  const rows: ModelRow[] = [];
  for (const [id, { k, v }] of documents)
    for (const [number, key] of k.entries()) rows.push({ id, number, key, value: v });
  return rows.sort(compareRows);
}

export interface ModelQuery {
  readonly start?: Json;
  readonly startDocId?: string;
  readonly end?: Json;
  readonly endDocId?: string;
  readonly inclusiveEnd?: boolean;
  readonly descending?: boolean;
  readonly keys?: readonly Json[];
  readonly skip?: number;
  readonly limit?: number;
}

/** All rows of the bounds, in the direction of the walk, before `skip` and `limit`. */
function boundedRows(all: readonly ModelRow[], query: ModelQuery): { rows: ModelRow[]; before: number } {
  const { descending = false, inclusiveEnd = true, start, end, startDocId, endDocId } = query;
  const walked = descending ? [...all].reverse() : [...all];
  const sign = descending ? -1 : 1;
  const beyond = (row: ModelRow, key: Json, id: string | undefined): number => {
    const order = sign * compareKeys(row.key, key);
    return order !== 0 || id === undefined ? order : sign * compareBytes(row.id, id);
  };
  const isBefore = (row: ModelRow) => start !== undefined && beyond(row, start, startDocId) < 0;
  const isBehind = (row: ModelRow) => {
    if (end === undefined) return false;
    const order = beyond(row, end, endDocId);
    return inclusiveEnd ? order > 0 : order >= 0;
  };
  const before = walked.filter(isBefore).length;
  return { rows: walked.slice(before).filter((row) => !isBehind(row)), before };
}

/** The bounds of one of the query's keys. */
function keyBounds({ startDocId, endDocId, descending = false }: ModelQuery, key: Json): ModelQuery {
  return {
    start: key,
    end: key,
    descending,
    ...(startDocId === undefined ? {} : { startDocId }),
    ...(endDocId === undefined ? {} : { endDocId }),
  };
}

export function queryRows(all: readonly ModelRow[], query: ModelQuery): { rows: ModelRow[]; offset: number } {
  const { skip = 0, limit = Number.POSITIVE_INFINITY, keys, descending = false } = query;
  if (keys === undefined) {
    const { rows, before } = boundedRows(all, query);
    return { rows: rows.slice(skip, skip + limit), offset: Math.min(all.length, before + skip) };
  }
  const wanted = descending ? [...keys].reverse() : keys;
  const parts = wanted.map((key) => boundedRows(all, keyBounds(query, key)));
  const rows = parts.flatMap((part) => part.rows);
  return { rows: rows.slice(skip, skip + limit), offset: Math.min(all.length, (parts[0]?.before ?? 0) + skip) };
}

export type Fold = (rows: readonly ModelRow[]) => Json;

export const folds: Readonly<Record<'sum' | 'count' | 'stats' | 'own' | 'first' | 'last' | 'top', Fold>> = {
  sum: (rows) => rows.reduce((sum, { value }) => sum + Number(value), 0),
  count: (rows) => rows.length,
  stats: (rows) => {
    const values = rows.map(({ value }) => Number(value));
    const sum = values.reduce((total, value) => total + value, 0);
    const sumsqr = values.reduce((total, value) => total + value * value, 0);
    return { sum, count: values.length, min: Math.min(...values), max: Math.max(...values), sumsqr };
  },
  own: (rows) => ({ max: Math.max(...rows.map(({ value }) => Number(value))), ids: rows.length }),
  first: (rows) => rows[0]?.value ?? null,
  last: (rows) => rows.at(-1)?.value ?? null,
  top: (rows) =>
    rows
      .map(({ value }) => Number(value))
      .sort((left, right) => right - left)
      .slice(0, 3),
};

/** Groups in the direction of the walk. */
export function queryGroups(
  all: readonly ModelRow[],
  query: ModelQuery & { readonly groupLevel?: number | 'exact' },
  fold: Fold,
): [Json, Json][] {
  const { skip = 0, limit = Number.POSITIVE_INFINITY, groupLevel = 0, keys, descending = false } = query;
  const cut = (key: Json): Json => {
    if (groupLevel === 0) return null;
    return groupLevel !== 'exact' && Array.isArray(key) ? key.slice(0, groupLevel) : key;
  };
  const groups: { key: Json; rows: ModelRow[] }[] = [];
  const parts =
    keys === undefined
      ? [boundedRows(all, query).rows]
      : (descending ? [...keys].reverse() : keys).map((key) => boundedRows(all, keyBounds(query, key)).rows);
  for (const rows of parts) {
    let open: { key: Json; rows: ModelRow[] } | undefined;
    for (const row of rows) {
      const key = cut(row.key);
      if (open === undefined || compareKeys(open.key, key) !== 0) {
        open = { key, rows: [] };
        groups.push(open);
      }
      open.rows.push(row);
    }
  }
  return groups
    .map(({ key, rows }): [Json, Json] => [key, fold(descending ? [...rows].reverse() : rows)])
    .slice(skip, skip + limit);
}
