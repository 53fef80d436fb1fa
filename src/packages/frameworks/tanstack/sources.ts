import type { Database } from '../../database-client/contract.ts';
import type { Stored } from '../../interface/documents.ts';
import type { FindAnswer } from '../../interface/selectors.ts';

/** Documents of one request, so that no response is large. */
export const MAX_DOCUMENTS = 500;

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

/** All documents of a source, page by page. */
export async function* pagesOf<T>(source: Source<T>): AsyncGenerator<readonly Stored<T>[], void, void> {
  let at: unknown;
  do {
    const page = await source.page(at);
    yield page.documents;
    at = page.next;
  } while (at !== undefined);
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
