/** Where the rows of a filter come from: lists of ids, selector queries, the changes of the database. */
import { ask, type Json, type JsonObject, pathOf, ServerError, withQuery } from '../../server/client.ts';
import { infoOf } from '../../server/databases.ts';
import { documentPage, toRead } from '../../server/documents.ts';
import { conflictSource } from './conflict-source.ts';
import { type Filter, idRange } from './filter.ts';
import type { PageWish, RowSource, SourcePage } from './row-source.ts';

export function sourceOf(database: string, filter: Filter): RowSource {
  if (filter.kind === 'selector') return selectorSource(database, filter.selector);
  if (filter.kind === 'conflicts') return conflictSource(database);
  return filter.kind === 'deleted' ? deletedSource(database) : new IdSource(database, idRange(filter) ?? {});
}

/** All documents, or those of a range of ids. */
class IdSource implements RowSource {
  readonly isRandom = true;
  readonly #database: string;
  readonly #range: { readonly startkey?: string; readonly endkey?: string };
  /** How many the range has, from the page at its beginning on. */
  #counted: number | undefined;

  constructor(database: string, range: { readonly startkey?: string; readonly endkey?: string }) {
    this.#database = database;
    this.#range = range;
  }

  async read({ limit, withDocs, skip = 0, cursor }: PageWish, signal: AbortSignal): Promise<SourcePage> {
    const at = cursor === undefined ? { skip } : { startkey: cursor, skip: 1 };
    const request = { ...this.#range, ...at, limit, includeDocs: withDocs, withConflicts: withDocs };
    const { rows, total, offset } = await documentPage(this.#database, request, signal);
    const next = rows.length === limit ? rows.at(-1)?.id : undefined;
    if (this.#range.startkey === undefined) return { rows, next, total };
    if (cursor === undefined && skip === 0) this.#counted = await this.#count(rows.length, next, offset, signal);
    return { rows, next, total: this.#counted };
  }

  /** Undefined if the server does not say how many documents come before an id. */
  async #count(found: number, next: string | undefined, offset: number | undefined, signal: AbortSignal) {
    if (next === undefined) return found;
    if (offset === undefined || this.#range.endkey === undefined) return undefined;
    const { offset: end } = await documentPage(this.#database, { startkey: this.#range.endkey, limit: 1 }, signal);
    return end === undefined || end - offset < found ? undefined : end - offset;
  }
}

/** Bookmarks lead from page to page. */
function selectorSource(database: string, selector: JsonObject): RowSource {
  return {
    isRandom: false,
    async read({ limit, withDocs, cursor }, signal) {
      const json = {
        selector,
        limit,
        ...(withDocs ? { conflicts: true } : { fields: ['_id', '_rev'] }),
        ...(cursor !== undefined && { bookmark: cursor }),
      };
      type Response = { readonly docs: readonly JsonObject[]; readonly bookmark?: string };
      const asked = ask<Response>('POST', pathOf(database, '_find'), { json, signal });
      const { docs, bookmark } = await asked.catch(explainMissing('selector queries (_find)'));
      const rows = docs.map((doc) => ({
        id: `${doc._id}`,
        rev: `${doc._rev}`,
        ...toRead(withDocs ? doc : undefined, withDocs),
      }));
      const next = rows.length === limit ? bookmark : undefined;
      return { rows, next, total: cursor === undefined && next === undefined ? rows.length : undefined };
    },
  };
}

/** Deleted documents are only in the feed of changes, in the order of their deletion. */
function deletedSource(database: string): RowSource {
  return {
    isRandom: false,
    async read({ limit, withDocs, cursor }, signal) {
      const since = cursor ?? '0';
      const query = { filter: '_selector', limit, since, include_docs: withDocs || undefined };
      const path = withQuery(pathOf(database, '_changes'), query);
      type Change = {
        readonly id: string;
        readonly changes: readonly { readonly rev: string }[];
        readonly doc?: JsonObject;
      };
      type Response = { readonly results: readonly Change[]; readonly last_seq: Json };
      const json = { selector: { _deleted: true } };
      const [{ results, last_seq }, info] = await Promise.all([
        ask<Response>('POST', path, { json, signal }).catch(
          explainMissing('a list of what was deleted (filter=_selector)'),
        ),
        cursor === undefined ? infoOf(database, signal) : undefined,
      ]);
      const rows = results.map(({ id, changes, doc }) => ({ id, rev: changes[0]?.rev ?? '', doc }));
      return { rows, next: rows.length === limit ? `${last_seq}` : undefined, total: info?.deleted };
    },
  };
}

/** Servers of the family need not have everything that Settee has. */
function explainMissing(what: string): (failure: unknown) => never {
  return (failure) => {
    const isMissing = failure instanceof ServerError && [404, 405, 501].includes(failure.status);
    if (isMissing && !/database|no_db_file/i.test(`${failure.code} ${failure.reason}`)) {
      throw new Error(`This server has no ${what}.`);
    }
    throw failure;
  };
}
