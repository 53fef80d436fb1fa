import { pause } from '../../../base/shared/clock.ts';
import type { Database } from '../../database-client/contract.ts';
import type { Stored } from '../../interface/documents.ts';
import type { FindAnswer } from '../../interface/selectors.ts';
import type { ViewRange } from './contract.ts';

/** Documents of one request, so that no response is large. */
export const MAX_DOCUMENTS = 500;
/** Rows of a view without documents, of one request. */
const MAX_VIEW_ROWS = 5_000;

export interface Page<T> {
  readonly documents: readonly Stored<T>[];
  /** Where the next page begins; undefined after the last one. */
  readonly next: unknown;
}

/** A set of documents that a collection follows. */
export interface Source<T> {
  /** How many ids one call of `among` takes. */
  readonly maxIds: number;
  /** @param at `next` of the page before; undefined for the first one */
  page(at: unknown): Promise<Page<T>>;
  /** Those of the documents with these ids that are in the set. */
  among(ids: readonly string[]): Promise<readonly Stored<T>[]>;
}

export type AnySelector = Readonly<Record<string, unknown>>;

/** With a query that is made here, whose types the compiler can't check. */
export function findWhole<T extends object>(database: Database<T>, query: object): Promise<FindAnswer<Stored<T>>> {
  return database.find(query as never) as Promise<FindAnswer<never>>;
}

export class SelectorSource<T extends object> implements Source<T> {
  readonly maxIds = MAX_DOCUMENTS;
  readonly #database: Database<T>;
  readonly #selector: AnySelector;
  readonly #conflicts: boolean;

  constructor(database: Database<T>, selector: AnySelector, conflicts: boolean) {
    this.#database = database;
    this.#selector = selector;
    this.#conflicts = conflicts;
  }

  async page(at: unknown): Promise<Page<T>> {
    const { docs, bookmark } = await this.#find(this.#selector, { ...(typeof at === 'string' && { bookmark: at }) });
    return { documents: docs, next: docs.length < MAX_DOCUMENTS ? undefined : bookmark };
  }

  /** The second condition never holds. It keeps an index of the selector, which has many documents, from being preferred to the ids. */
  async among(ids: readonly string[]): Promise<readonly Stored<T>[]> {
    const ofIds = { _id: { $in: ids } };
    const isAll = Object.keys(this.#selector).length === 0;
    const selector = isAll ? ofIds : { $and: [ofIds, { $or: [this.#selector, { _id: null }] }] };
    return (await this.#find(selector)).docs;
  }

  #find(selector: AnySelector, options: object = {}): Promise<FindAnswer<Stored<T>>> {
    const conflicts = this.#conflicts && { conflicts: true };
    return findWhole(this.#database, { selector, limit: MAX_DOCUMENTS, ...conflicts, ...options });
  }
}

/** Where to read on: at the last row, behind the rows that equal it. */
interface ViewPosition {
  readonly startkey?: unknown;
  readonly startkey_docid?: string;
  readonly skip: number;
}

/** The documents for which a view has a row in a range of keys. */
export class ViewSource<T extends object> implements Source<T> {
  readonly maxIds = Number.POSITIVE_INFINITY;
  readonly #database: Database<T>;
  readonly #name: string;
  readonly #range: ViewRange;
  readonly #conflicts: boolean;
  #restUntil = 0;

  constructor(database: Database<T>, name: string, range: ViewRange, conflicts: boolean) {
    this.#database = database;
    this.#name = name;
    const { key, ...others } = range;
    this.#range = key === undefined ? others : { startkey: key, endkey: key };
    this.#conflicts = conflicts;
  }

  async page(at: unknown): Promise<Page<T>> {
    const { ids, next } = await this.#ids(at as ViewPosition | undefined, MAX_DOCUMENTS);
    return { documents: await this.#documents(ids), next };
  }

  /** Reads all rows. Then it rests as long as that took, so that steady changes leave half of the time to others. */
  async among(ids: readonly string[]): Promise<readonly Stored<T>[]> {
    await pause(Math.max(0, this.#restUntil - performance.now()));
    const began = performance.now();
    const asked = new Set(ids);
    const found = new Set<string>();
    let at: ViewPosition | undefined;
    do {
      const page = await this.#ids(at, MAX_VIEW_ROWS);
      for (const id of page.ids) if (asked.has(id)) found.add(id);
      at = page.next;
    } while (at !== undefined);
    const documents: Stored<T>[] = [];
    const list = [...found];
    for (let from = 0; from < list.length; from += MAX_DOCUMENTS) {
      documents.push(...(await this.#documents(list.slice(from, from + MAX_DOCUMENTS))));
    }
    const ended = performance.now();
    this.#restUntil = 2 * ended - began;
    return documents;
  }

  async #ids(at: ViewPosition | undefined, limit: number) {
    const { rows } = await this.#database.view(this.#name, { ...this.#range, ...at, limit });
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return { ids: rows.map(({ id }) => id), next: undefined };
    const key = JSON.stringify(last.key);
    const isLast = (row: typeof last) => row.id === last.id && JSON.stringify(row.key) === key;
    const others = rows.findLastIndex((row) => !isLast(row));
    const isContinued = others < 0 && at?.startkey_docid === last.id && JSON.stringify(at.startkey) === key;
    const skip = rows.length - 1 - others + (isContinued ? at.skip : 0);
    return { ids: rows.map(({ id }) => id), next: { startkey: last.key, startkey_docid: last.id, skip } };
  }

  async #documents(ids: readonly string[]): Promise<readonly Stored<T>[]> {
    if (ids.length === 0) return [];
    const conflicts = this.#conflicts && { conflicts: true };
    const { rows } = await this.#database.all({ keys: [...new Set(ids)], include_docs: true, ...conflicts });
    return rows.flatMap((row) => (row.doc ? [row.doc] : []));
  }
}
