/**
 * Requests that outlive their page: `fetch` with `keepalive`, and beacons. Usually their page is being left, and the owner of the
 * storage that has just received the request goes with it. No one else would send it again, so this code does, to the next owner or the core of
 * this service worker, until there is a response.
 *
 * A write whose outcome is unknown is sent again only if a second one changes nothing when the first was stored: the document is named and the
 * edit builds on one revision, so that the second is a conflict. A document without an id gets one here. Everything else, such as an update
 * function, is sent once.
 *
 * Requests of one page are carried out in the order in which they were sent: each waits for those before it.
 */

import { pause } from '../../base/shared/clock.ts';
import type { PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import { isStream } from '../bridge/wire-codec.ts';

/** Pauses before each retry; the last one applies to all later ones. */
const PAUSES_MS: readonly number[] = [50, 100, 250, 500, 1000];

/** Firefox ends a service worker 60 s after the event. */
const PATIENCE_MS = 45_000;

/** Databases whose names begin as no other database's may. */
const SYSTEM_DATABASE = /^_(users|replicator|global_changes)$/;

/** Paths below a database at which functions of documents answer as they choose. */
const OF_FUNCTIONS = /\/(_update|_rewrite)(\/|$)/;

export class KeepaliveRequests {
  readonly #base: string;
  readonly #send: (request: PlainRequest) => Promise<PlainResponse>;
  #last: Promise<unknown> = Promise.resolve();

  /** `send` never rejects. */
  constructor(base: string, send: (request: PlainRequest) => Promise<PlainResponse>) {
    this.#base = base;
    this.#send = send;
  }

  handle(request: PlainRequest): Promise<PlainResponse> {
    const kind = this.#kindOf(request);
    if (kind === undefined) return this.#send(request);
    const answer = this.#last.then(async () => {
      const named = kind === 'edit' ? request : await withIds(request, kind);
      return named === undefined ? this.#send(request) : this.#sendUntilAnswered(named);
    });
    this.#last = answer.catch(() => {});
    return answer;
  }

  async #sendUntilAnswered(request: PlainRequest): Promise<PlainResponse> {
    const deadline = Date.now() + PATIENCE_MS;
    const first = await this.#send(request);
    let answer = first;
    for (let attempt = 0; answer.status === 503 && Date.now() < deadline; attempt++) {
      await pause(PAUSES_MS[attempt] ?? 1000);
      answer = await this.#send(request);
    }
    // A refusal may result from this request itself, stored at the first attempt.
    return answer.status >= 400 ? first : answer;
  }

  /** Undefined for requests that must not be sent twice. */
  #kindOf({ method, url, headers, body }: PlainRequest): 'edit' | 'document' | 'documents' | undefined {
    if (isStream(body) || headers['x-http-method-override'] !== undefined) return undefined;
    const [path = ''] = url.slice(this.#base.length).split(/[?#]/, 1);
    const [database = '', ...below] = path.split('/').filter(Boolean);
    if (database.startsWith('_') && !SYSTEM_DATABASE.test(database)) return undefined;
    if (method === 'POST') {
      if (below.length === 0) return 'document';
      return below.join('/') === '_bulk_docs' ? 'documents' : undefined;
    }
    // A database that is deleted twice may be another one by then.
    if (below.length === 0) return method === 'PUT' ? 'edit' : undefined;
    return OF_FUNCTIONS.test(path) ? undefined : 'edit';
  }
}

/** Returns the request with an id for the document that has none; undefined if it is unknown which documents it has. */
async function withIds(request: PlainRequest, kind: 'document' | 'documents'): Promise<PlainRequest | undefined> {
  const text = await textOf(request.body);
  const json = parsed(text);
  if (kind === 'documents') {
    const docs: unknown = Object(json).docs;
    return Array.isArray(docs) && docs.every(hasId) ? request : undefined;
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  if (hasId(json)) return request;
  // Inserted into the text, since numbers and the order of members would not survive being serialized again.
  const rest = text.trimStart().slice(1);
  const separator = Object.keys(json).length > 0 ? ',' : '';
  return { ...request, body: `{"_id":"${crypto.randomUUID()}"${separator}${rest}` };
}

function hasId(json: unknown): boolean {
  return typeof json === 'object' && json !== null && typeof Reflect.get(json, '_id') === 'string';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function textOf(body: PlainRequest['body']): Promise<string> {
  if (typeof body === 'string') return body;
  if (body instanceof Blob) return body.text();
  return body instanceof Uint8Array ? new TextDecoder().decode(body) : '';
}

/** The body of the response, for a page: small, like that of a write. */
export async function wholeBody(body: PlainResponse['body']): Promise<null | string | Uint8Array> {
  if (!isStream(body)) return body;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for (let chunk = await body.pull(); chunk !== undefined; chunk = await body.pull())
    chunks.push(new Uint8Array(chunk));
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
