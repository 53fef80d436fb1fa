/** Typed requests for documents. */
import type { Stored, Written } from '../interface/documents.ts';
import type { ViewOptions } from '../interface/lists.ts';
import type { Database, Fetch } from './contract.ts';
import { followChanges } from './follow-changes.ts';
import { type Ask, conflictAsValue, createAsk, isRefusal, pathOf, queryOf } from './requests.ts';

/**
 * The database at that address, such as `/db/notes`, with documents of the type `T`. Sends no request before a method is called.
 *
 * @param fetch `settee.fetch`, or any other
 */
export function database<T extends object = Record<string, unknown>>(fetch: Fetch, address: string): Database<T> {
  const ask = createAsk(fetch, address);
  const get = (id: string, options?: object) => read<Stored<T>>(ask, pathOf(id) + queryOf(options));
  const put = (id: string, body: object) => conflictAsValue(id, ask<Written>('PUT', pathOf(id), { body }));
  return {
    fetch,
    address,
    create: () => create(ask),
    get,
    put: (document) => put(document._id, document),
    post: (body) => conflictAsValue(body._id ?? '', ask<Written>('POST', '', { body })),
    remove: ({ _id, _rev }) => conflictAsValue(_id, ask<Written>('DELETE', pathOf(_id) + queryOf({ rev: _rev }))),
    update: async (id, change, { retries = 10 } = {}) => {
      for (let retry = 0; ; retry++) {
        const current = await get(id);
        const changed: object = await change(current);
        const result = await put(id, { ...changed, _id: id, _rev: current?._rev });
        if (result.ok || retry >= retries) return result;
      }
    },
    find: (body) => ask('POST', '/_find', { body }),
    view: (name: string, options: ViewOptions = {}) => {
      const [design = '', view = ''] = name.split('/');
      const isReduced = options.reduce ?? (options.group || options.group_level !== undefined);
      const path = `${pathOf(`_design/${design}`)}/_view/${encodeURIComponent(view)}`;
      return list<never>(ask, path, isReduced ? options : { ...options, reduce: false });
    },
    all: (options) => list(ask, '/_all_docs', options ?? {}),
    changes: (options = {}) => followChanges(ask, options),
    bulk: (docs, options) => ask('POST', '/_bulk_docs', { body: { ...options, docs } }),
  };
}

/** Other CouchDB-compatible servers do not know `if-missing` (docs/http/databases.md#creating-a-database). */
export async function create(ask: Ask): ReturnType<Database<object>['create']> {
  try {
    return await ask('PUT', '?if-missing=true');
  } catch (error) {
    if (isRefusal(error, 412)) return { ok: true, existed: true };
    throw error;
  }
}

async function read<Answer>(ask: Ask, path: string): Promise<Answer | undefined> {
  try {
    return await ask<Answer>('GET', path);
  } catch (error) {
    // If the database itself is missing, the reason says so.
    if (isRefusal(error, 404) && /^(missing|deleted)$/.test(String(error.reason))) return undefined;
    throw error;
  }
}

/** Keys may be too many for an address. */
function list<Answer>(ask: Ask, path: string, { keys, ...options }: ViewOptions): Promise<Answer> {
  const address = path + queryOf(options);
  return keys ? ask('POST', address, { body: { keys } }) : ask('GET', address);
}
