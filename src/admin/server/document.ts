/** One document: its text, its revisions and its attachments. */
import { ask, exchange, type JsonObject, parseResponse, pathOf } from './client.ts';
import { isMissingEndpoint } from './session.ts';

export interface StoredDocument {
  readonly id: string;
  readonly rev: string;
  /** The members except `_rev`, `_conflicts` and `_revisions`, with indentation. */
  readonly text: string;
  readonly body: JsonObject;
  /** Revisions that lost against this one, and are not deleted. */
  readonly conflicts: readonly string[];
}

/** Undefined if there is none, or it is deleted. */
export async function readDocument(
  database: string,
  id: string,
  signal?: AbortSignal,
): Promise<StoredDocument | undefined> {
  const request = { method: 'GET', path: `${pathOf(database, id)}?conflicts=true` };
  const response = await exchange(request, signal === undefined ? {} : { signal });
  if (response.status === 404) return undefined;
  return toStored(id, parseResponse<JsonObject>(response, request));
}

export function toStored(id: string, members: JsonObject): StoredDocument {
  const { _rev, _conflicts, _revisions, ...body } = members;
  const conflicts = Array.isArray(_conflicts) ? _conflicts.map(String) : [];
  return { id, rev: `${_rev}`, body, text: JSON.stringify(body, null, 2), conflicts };
}

/** Returns an id for a new document. */
export async function newId(): Promise<string> {
  try {
    const { uuids } = await ask<{ readonly uuids: readonly string[] }>('GET', '_uuids', { quiet: true });
    return uuids[0] ?? madeId();
  } catch (failure) {
    if (!isMissingEndpoint(failure)) throw failure;
    return madeId();
  }
}

/** As servers make them. */
function madeId(): string {
  return crypto.randomUUID().replaceAll('-', '');
}
