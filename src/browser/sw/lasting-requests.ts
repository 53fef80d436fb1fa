/**
 * Requests that outlive their page: `fetch` with `keepalive`, and beacons. Mostly their page is being left, and with it goes the owner of the
 * storage that has just got the request. Nobody is there to send it again, so this is done here, with the next owner or the core of this
 * service worker, until there is an answer.
 *
 * A write whose outcome is unknown is sent again only where a second one changes nothing if the first was stored: the document is named and the
 * edit builds on one revision, so that the second is a conflict. A document without an id gets one here. All else, such as an update function,
 * is sent once.
 *
 * What is sent by one page in this order is carried out in this order: each waits for those before it.
 */

import { pause } from '../../base/shared/clock.ts';
import type { PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import { isStream } from '../bridge/wire/wire-codec.ts';

/** Pauses before each time that a request is sent again; the last one counts for all later ones. */
const PAUSES_MS: readonly number[] = [50, 100, 250, 500, 1000];

/** Firefox ends a service worker 60 s after the event. */
const PATIENCE_MS = 45_000;

/** Databases whose names begin as no other database's may. */
const SYSTEM_DATABASE = /^_(users|replicator|global_changes)$/;

/** Paths below a database at which functions of documents answer, as they like. */
const OF_FUNCTIONS = /\/(_update|_rewrite)(\/|$)/;

export class LastingRequests {
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
    // A refusal may come from this request itself, stored at the first attempt.
    return answer.status >= 400 ? first : answer;
  }

  /** Undefined for what must not be sent twice. */
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

/** The request with an id for the document that has none; undefined where it can't be told which documents it has. */
async function withIds(request: PlainRequest, kind: 'document' | 'documents'): Promise<PlainRequest | undefined> {
  const text = await textOf(request.body);
  const json = parsed(text);
  if (kind === 'documents') {
    const docs: unknown = Object(json).docs;
    return Array.isArray(docs) && docs.every(hasId) ? request : undefined;
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  if (hasId(json)) return request;
  // Cut into the text, since numbers and the order of members would not survive being written again.
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

/** Of the answer, for a page: small, as that of a write is. */
export async function wholeBody(body: PlainResponse['body']): Promise<null | string | Uint8Array> {
  if (!isStream(body)) return body;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for (let chunk = await body.pull(); chunk !== undefined; chunk = await body.pull())
    chunks.push(new Uint8Array(chunk));
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
