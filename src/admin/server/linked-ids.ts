/** Which ids are those of documents. */
import { ask, pathOf } from './client.ts';

/** Returns those of `ids` that are ids of documents, in one request. */
export async function existingIds(
  database: string,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  type Row = { readonly id?: string; readonly error?: string; readonly value?: { readonly deleted?: boolean } | null };
  const path = `${pathOf(database, '_all_docs')}`;
  const { rows } = await ask<{ readonly rows: readonly Row[] }>('POST', path, {
    json: { keys: ids },
    signal,
    quiet: true,
  });
  return new Set(
    rows.flatMap(({ id, error, value }) =>
      id === undefined || error !== undefined || value?.deleted === true ? [] : [id],
    ),
  );
}
