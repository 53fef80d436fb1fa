import { pause } from '../../../base/shared/clock.ts';
import type { Database } from '../../database-client/contract.ts';
import type { Stored } from '../../interface/documents.ts';
import type { ViewOptions } from '../../interface/lists.ts';
import type { ViewRange } from './contract.ts';
import { type AnySelector, MAX_DOCUMENTS, type Page, SelectorSource, type Source } from './sources.ts';
import { EVERYTHING } from './where.ts';

/** Rows of a view without documents, of one request. */
const MAX_VIEW_ROWS = 5_000;
/** Of each range in a request for several of them. */
const MIN_ROWS = 5;

/** Rows of a view, and which of their documents are meant. */
export interface KeyRange {
  readonly bounds: Omit<ViewRange, 'key'>;
  /** Whether a row with this key is meant. Default: all of the range. */
  matches?(key: unknown): boolean;
  /** What is asked of the documents besides. Default: nothing. */
  readonly rest?: AnySelector;
}

interface ViewRow {
  readonly id: string;
  readonly key: unknown;
}

/** Where to read on: at the last row, behind the rows that equal it, as many as have been read. */
export interface ViewPosition {
  readonly startkey: unknown;
  readonly startkey_docid: string;
  readonly read: number;
}

/** A range of which nothing, or the beginning, has been read. */
interface Reading {
  readonly range: KeyRange;
  readonly at?: ViewPosition | undefined;
}

export interface Rows {
  readonly rows: readonly ViewRow[];
  readonly next: ViewPosition | undefined;
}

interface RangeRows extends Rows {
  readonly range: KeyRange;
}

/** Documents to be read, by what is asked of them besides. */
type Found = Map<AnySelector, Set<string>>;

export interface ViewSourceOptions<T extends object> {
  readonly database: Database<T>;
  /** `design/name` */
  readonly view: string;
  readonly conflicts: boolean;
}

/** The documents for which a view has a row in one of several ranges. */
export class ViewSource<T extends object> implements Source<T> {
  readonly maxIds = Number.POSITIVE_INFINITY;
  readonly #options: ViewSourceOptions<T>;
  readonly #ranges: readonly KeyRange[];
  #restUntil = 0;

  constructor(options: ViewSourceOptions<T>, ranges: readonly KeyRange[]) {
    this.#options = options;
    this.#ranges = ranges;
  }

  async page(at: unknown): Promise<Page<T>> {
    const found: Found = new Map();
    const left = await this.#readOn((at as readonly Reading[] | undefined) ?? this.#begin(), MAX_DOCUMENTS, found);
    return { documents: await this.#documentsOf(found), next: left.length > 0 ? left : undefined };
  }

  /** Reads all rows. Then it rests as long as that took, so that steady changes leave half of the time to others. */
  async among(ids: readonly string[]): Promise<readonly Stored<T>[]> {
    await pause(Math.max(0, this.#restUntil - performance.now()));
    const began = performance.now();
    const found: Found = new Map();
    const asked = new Set(ids);
    for (let left = this.#begin(); left.length > 0 && found.get(EVERYTHING)?.size !== asked.size; ) {
      left = await this.#readOn(left, MAX_VIEW_ROWS, found, asked);
    }
    const documents = await this.#documentsOf(found);
    const ended = performance.now();
    this.#restUntil = 2 * ended - began;
    return documents;
  }

  #begin(): readonly Reading[] {
    return this.#ranges.map((range) => ({ range }));
  }

  /**
   * Reads on with one request in as many ranges as it can have, each up to its share of the limit. What has more is left for the end, when fewer
   * share the limit. Returns what is left.
   *
   * @param found where ids are added
   * @param asked no others are added
   */
  async #readOn(
    readings: readonly Reading[],
    limit: number,
    found: Found,
    asked?: ReadonlySet<string>,
  ): Promise<readonly Reading[]> {
    const current = readings.slice(0, limit / MIN_ROWS);
    const parts = await this.#ask(current, Math.floor(limit / current.length));
    const more = parts.flatMap(({ range, rows, next }) => {
      const { rest = EVERYTHING } = range;
      const ids = found.get(rest) ?? new Set();
      found.set(rest, ids);
      for (const { id } of rows) if (asked?.has(id) ?? true) ids.add(id);
      return next ? [{ range, at: next }] : [];
    });
    return [...readings.slice(current.length), ...more];
  }

  async #documentsOf(found: Found): Promise<Stored<T>[]> {
    const documents = new Map<string, Stored<T>>();
    for (const [rest, ids] of found) {
      const missing = [...ids].filter((id) => !documents.has(id));
      for (const document of await this.documents(missing, rest)) documents.set(document._id, document);
    }
    return [...documents.values()];
  }

  /** Rows of up to `limit` that match. Backwards from the end of the range if they are `descending`. */
  async rows(range: KeyRange, at: ViewPosition | undefined, limit: number, descending = false): Promise<Rows> {
    const [only] = await this.#ask([{ range, at }], limit, descending);
    return only ?? { rows: [], next: undefined };
  }

  /** Up to `limit` rows of each. */
  async #ask(readings: readonly Reading[], limit: number, descending = false): Promise<readonly RangeRows[]> {
    const queries = readings.map(({ range: { bounds }, at }) => {
      const { startkey, endkey } = bounds;
      const backwards = descending && { startkey: endkey, endkey: startkey, descending };
      const { read = 0, ...from } = at ?? {};
      return { ...bounds, ...backwards, ...from, limit: limit + read };
    });
    const lists = await listsOf(this.#options, queries);
    return readings.map(({ range, at }, index) => {
      const { read = 0 } = at ?? {};
      const rows = lists[index] ?? [];
      // Not by `skip`: the row may be gone by now, and the one after it would be passed over.
      const others = at ? rows.slice(0, read).findIndex((row) => !isAt(row, at)) : 0;
      const added = rows.slice(others < 0 ? read : others);
      const next = rows.length < limit + read ? undefined : positionAfter(rows);
      return { range, rows: added.filter(({ key }) => range.matches?.(key) ?? true), next };
    });
  }

  async documents(ids: readonly string[], rest: AnySelector = EVERYTHING): Promise<Stored<T>[]> {
    const { database, conflicts } = this.#options;
    const documents: Stored<T>[] = [];
    for (let from = 0; from < ids.length; from += MAX_DOCUMENTS) {
      const keys = ids.slice(from, from + MAX_DOCUMENTS);
      if (Object.keys(rest).length > 0) {
        documents.push(...(await new SelectorSource(database, rest, conflicts).among(keys)));
        continue;
      }
      const { rows } = await database.all({ keys, include_docs: true, ...(conflicts && { conflicts }) });
      for (const row of rows) if (row.doc) documents.push(row.doc);
    }
    return documents;
  }
}

/** One list for each query: with one request (docs/http/bulk.md#several-lists-at-once), or with several if that is refused. */
async function listsOf<T extends object>(
  { database, view }: ViewSourceOptions<T>,
  queries: readonly Omit<ViewOptions, 'reduce'>[],
): Promise<readonly (readonly ViewRow[])[]> {
  if (queries.length > 1) {
    const [design = '', name = ''] = view.split('/').map(encodeURIComponent);
    const address = `${database.address.replace(/\/+$/, '')}/_design/${design}/_view/${name}/queries`;
    const headers = { accept: 'application/json', 'content-type': 'application/json' };
    const body = JSON.stringify({ queries: queries.map((query) => ({ ...query, reduce: false })) });
    const response = await database.fetch(address, { method: 'POST', headers, body });
    if (response.ok) {
      const { results } = (await response.json()) as { readonly results: readonly { readonly rows: ViewRow[] }[] };
      return results.map(({ rows }) => rows);
    }
  }
  const lists: (readonly ViewRow[])[] = [];
  for (const query of queries) lists.push((await database.view(view, { ...query, reduce: false })).rows);
  return lists;
}

/** A document may have several rows. */
export function idsOf(rows: readonly ViewRow[]): string[] {
  return [...new Set(rows.map(({ id }) => id))];
}

function positionAfter(rows: readonly ViewRow[]): ViewPosition | undefined {
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  const at = { startkey: last.key, startkey_docid: last.id };
  return { ...at, read: rows.length - 1 - rows.findLastIndex((row) => !isAt(row, at)) };
}

function isAt({ id, key }: ViewRow, at: Omit<ViewPosition, 'read'>): boolean {
  return id === at.startkey_docid && JSON.stringify(key) === JSON.stringify(at.startkey);
}
