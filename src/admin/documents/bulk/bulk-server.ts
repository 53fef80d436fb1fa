/** The requests of a bulk change. */
import { ask, type JsonObject, pathOf, ServerError, withQuery } from '../../server/client.ts';
import type { CurrentDocument } from './change.ts';
import { parseExact } from './exact-json.ts';
import type { BulkServer, Judgement, ReadDocuments, Target, WriteOutcome } from './run.ts';

interface Row {
  readonly id?: string;
  readonly key: string;
  readonly value?: { readonly rev: string; readonly deleted?: boolean };
  readonly doc?: JsonObject | null;
}

export function bulkServerOf(database: string): BulkServer {
  return {
    read: (ids, signal) => readByIds(database, ids, true, signal),
    write: (docs) =>
      ask<readonly WriteOutcome[]>('POST', pathOf(database, '_bulk_docs'), { json: { docs }, quiet: true }),
    readWhole: ({ id, rev }, signal) => readWhole(database, { id, rev }, signal),
    judge,
  };
}

/** Returns the documents, or without `withDocs` their revisions, in the order of the ids. */
export async function readByIds(
  database: string,
  ids: readonly string[],
  withDocs: boolean,
  signal: AbortSignal,
): Promise<ReadDocuments> {
  let characters = 0;
  const parse = (text: string) => {
    characters = text.length;
    return parseExact(text);
  };
  const path = withQuery(pathOf(database, '_all_docs'), { include_docs: withDocs || undefined });
  const options = { json: { keys: ids }, signal, parse, quiet: true };
  const { rows } = await ask<{ readonly rows: readonly Row[] }>('POST', path, options);
  const documents = ids.map((id, index): CurrentDocument => {
    const { value, doc } = rows[index] ?? {};
    return { id, rev: value?.rev, doc: value?.deleted === true ? undefined : (doc ?? undefined) };
  });
  return { documents, characters };
}

/** Undefined for documents that are deleted or not there. */
export async function readRevisions(
  database: string,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<readonly (Target | undefined)[]> {
  const path = pathOf(database, '_all_docs');
  const { rows } = await ask<{ readonly rows: readonly Row[] }>('POST', path, {
    json: { keys: ids },
    signal,
    quiet: true,
  });
  return ids.map((id, index) => {
    const { value } = rows[index] ?? {};
    return value === undefined || value.deleted === true ? undefined : { id, rev: value.rev };
  });
}

function readWhole(database: string, { id, rev }: Target, signal: AbortSignal): Promise<JsonObject> {
  const path = withQuery(pathOf(database, id), { rev, attachments: true });
  return ask<JsonObject>('GET', path, { signal, parse: parseExact, quiet: true });
}

/** Statuses that say that one document of the request is not as it should be, or that all of them are too much. */
const MALFORMED = [400, 409, 412, 413, 417, 422];

function judge(failure: unknown): Judgement {
  if (!(failure instanceof ServerError)) return { kind: 'unknown', reason: `${failure}` };
  const { status, reason } = failure;
  if (MALFORMED.includes(status)) return { kind: 'malformed', reason };
  if (status >= 400 && status < 500) return { kind: 'stop', reason };
  return { kind: 'unknown', reason: `${reason} It may be stored, or not: look at the document.` };
}
