/** Peers that answer incorrectly: how a fault changes the responses of a peer, and how a run must handle that. */
import type { Core } from '../../../src/core/core.ts';
import { createFetch } from '../../../src/http/fetch-adapter.ts';
import { must } from '../../unit/replication/support.ts';
import { at } from '../conformance/json.ts';
import type { Fault, FaultyRequest } from './flaky-peer.ts';

/** Returns another response in place of the JSON response. */
export type Lie = (told: unknown, path: string) => unknown;

/** Replaces the JSON of all responses whose method and path match with the result of `lie`. */
export function lying(asked: RegExp, lie: Lie): Fault {
  return async ({ request, path, answer }: FaultyRequest) => {
    if (!asked.test(`${request.method} ${decodeURIComponent(path)}`)) return undefined;
    const response = await answer();
    if (response.status >= 300) return response;
    const value = lie(await response.json(), path);
    // JSON that can't be parsed is inserted as text.
    return value instanceof RawText ? new Response(value.text) : Response.json(value ?? null);
  };
}

/** A response that is exactly this text. */
export class RawText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Combines faults: the first that answers applies. */
export function all(...faults: readonly Fault[]): Fault {
  return async (asked) => {
    for (const fault of faults) {
      const response = await fault(asked);
      if (response !== undefined) return response;
    }
    return asked.answer();
  };
}

/**
 * Answers like CouchDB 3 to `GET doc?rev=…&latest=true`: with the winner, if that has attachments; for a document whose winner is deleted, with
 * 404. Everything else is unchanged.
 */
export function asCouchDB3(core: Core): Fault {
  return async ({ request }) => {
    const url = new URL(request.url);
    if (request.method !== 'GET' || !url.searchParams.has('rev') || !url.searchParams.has('latest')) return undefined;
    url.searchParams.delete('rev');
    url.searchParams.delete('latest');
    return createFetch(core.handle)(new Request(url, { headers: request.headers }));
  };
}

/** Bytes of attachments that travel after their document. */
export const LONG = 90_000;

export function attachment(length: number, seed: string, type = 'application/octet-stream') {
  return { content_type: type, data: Buffer.alloc(length, seed).toString('base64'), revpos: 2 };
}

/** Documents of all kinds: in conflict, deleted, with short and long attachments. Returns the number of leaves. */
export async function fillWithAllKinds(core: Core): Promise<number> {
  const docs = [
    { _id: 'plain', ...revision('p'), n: 1 },
    { _id: 'plain2', ...revision('p'), n: 2 },
    { _id: 'forked', ...revision('a'), n: 1 },
    { _id: 'forked', ...revision('b'), n: 2 },
    { _id: 'short', ...revision('s'), _attachments: { note: attachment(100, 'short') } },
    { _id: 'text', ...revision('t'), _attachments: { note: attachment(5_000, 'text', 'text/plain') } },
    { _id: 'long', ...revision('a'), _attachments: { big: attachment(LONG, 'loser') } },
    { _id: 'long', ...revision('b'), _attachments: { big: attachment(LONG, 'winner') } },
    {
      _id: 'long-text',
      ...revision('a'),
      _attachments: { big: attachment(LONG, 'words ', 'text/plain'), '7': attachment(9, 'x') },
    },
    { _id: 'gone', ...revision('d'), _deleted: true, _attachments: { big: attachment(LONG, 'gone') } },
  ];
  await must(core, 'POST /db/_bulk_docs', { new_edits: false, docs });
  return docs.length;
}

function revision(hash: string) {
  return { _rev: `2-${hash}`, _revisions: { start: 2, ids: [hash, 'root'] } };
}

/** The results of a `_bulk_get` with each document replaced. */
export function bulkGetWith(told: unknown, change: (document: object, id: string) => unknown): object {
  const results = Object(told).results.map(({ id, docs }: { id: string; docs: readonly object[] }) => ({
    id,
    docs: docs.map((one) => {
      const ok = at(one, 'ok');
      return ok === undefined ? one : { ok: change(Object(ok), id) };
    }),
  }));
  return { results };
}

/** The list of a response to `open_revs`, with each document replaced. */
export function openRevsWith(told: unknown, change: (document: object, id: string) => unknown): unknown {
  if (!Array.isArray(told)) return told;
  return told.map((one) => {
    const ok = at(one, 'ok');
    return ok === undefined ? one : { ok: change(Object(ok), String(at(ok, '_id'))) };
  });
}
