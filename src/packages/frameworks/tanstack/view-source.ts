import { pause } from '../../../base/shared/clock.ts';
import type { Database } from '../../database-client/contract.ts';
import type { Stored } from '../../interface/documents.ts';
import type { ViewRange } from './contract.ts';
import { type AnySelector, MAX_DOCUMENTS, type Page, SelectorSource, type Source } from './sources.ts';

/** Rows of a view without documents, of one request. */
const MAX_VIEW_ROWS = 5_000;

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
interface ViewPosition {
  readonly startkey: unknown;
  readonly startkey_docid: string;
  readonly read: number;
}

interface RangePosition {
  readonly index: number;
  readonly at: ViewPosition | undefined;
}

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
    const { index, at: from } = (at as RangePosition | undefined) ?? { index: 0, at: undefined };
    const range = this.#ranges[index];
    if (range === undefined) return { documents: [], next: undefined };
    const { rows, next } = await this.rows(range, from, MAX_DOCUMENTS);
    const isLast = next === undefined && index + 1 === this.#ranges.length;
    return {
      documents: await this.documents(idsOf(rows), range),
      next: isLast ? undefined : { index: next === undefined ? index + 1 : index, at: next },
    };
  }

  /** Reads all rows. Then it rests as long as that took, so that steady changes leave half of the time to others. */
  async among(ids: readonly string[]): Promise<readonly Stored<T>[]> {
    await pause(Math.max(0, this.#restUntil - performance.now()));
    const began = performance.now();
    const asked = new Set(ids);
    const documents: Stored<T>[] = [];
    for (const range of this.#ranges) {
      const found = await this.#readAmong(asked, range);
      for (const { _id } of found) asked.delete(_id);
      documents.push(...found);
      if (asked.size === 0) break;
    }
    const ended = performance.now();
    this.#restUntil = 2 * ended - began;
    return documents;
  }

  async #readAmong(asked: ReadonlySet<string>, range: KeyRange): Promise<Stored<T>[]> {
    const found = new Set<string>();
    let at: ViewPosition | undefined;
    do {
      const { rows, next } = await this.rows(range, at, MAX_VIEW_ROWS);
      for (const { id } of rows) if (asked.has(id)) found.add(id);
      at = next;
    } while (at !== undefined);
    return this.documents([...found], range);
  }

  /** Rows that match, of up to `limit`. Backwards from the end of the range if they are `descending`. */
  async rows(
    { bounds, matches }: KeyRange,
    at: ViewPosition | undefined,
    limit: number,
    descending = false,
  ): Promise<{ readonly rows: readonly ViewRow[]; readonly next: ViewPosition | undefined }> {
    const { startkey, endkey } = bounds;
    const backwards = descending && { startkey: endkey, endkey: startkey, descending };
    const { database, view } = this.#options;
    const { read = 0, ...from } = at ?? {};
    const most = limit + read;
    const { rows } = await database.view(view, { ...bounds, ...backwards, ...from, limit: most });
    // Not by `skip`: the row may be gone by now, and the one after it would be passed over.
    const others = at ? rows.slice(0, read).findIndex((row) => !isAt(row, at)) : 0;
    const added = rows.slice(others < 0 ? read : others);
    const next = rows.length < most ? undefined : positionAfter(rows);
    return { rows: matches ? added.filter(({ key }) => matches(key)) : added, next };
  }

  async documents(ids: readonly string[], { rest = {} }: KeyRange): Promise<Stored<T>[]> {
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
