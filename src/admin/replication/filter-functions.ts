import { ask, type JsonObject, pathOf, withQuery } from '../server/client.ts';
import { objectOf } from '../server/replications.ts';

/** Design documents in which filter functions are looked for. */
const MAX_DESIGN_DOCUMENTS = 100;

/** The filter functions of a database, as `design/name`. Empty if it has none, or the user can't read it. */
export async function filterFunctions(database: string, signal: AbortSignal): Promise<readonly string[]> {
  if (database === '') return [];
  const range = { startkey: '_design/', endkey: '_design0', include_docs: true, limit: MAX_DESIGN_DOCUMENTS };
  type Response = { readonly rows: readonly { readonly doc?: JsonObject | null }[] };
  const path = withQuery(pathOf(database, '_all_docs'), range);
  // The name may be half typed, or that of a database that does not exist yet.
  const { rows } = await ask<Response>('GET', path, { signal, quiet: true }).catch((): Response => ({ rows: [] }));
  return rows.flatMap(({ doc }) => {
    const name = `${doc?._id}`.replace(/^_design\//, '');
    return Object.keys(objectOf(doc?.filters)).map((filter) => `${name}/${filter}`);
  });
}
