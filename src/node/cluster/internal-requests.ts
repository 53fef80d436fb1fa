/** What servers of a cluster ask of the one that owns the list of databases, and that no client can: requests that only links carry. */
import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { Handle, PlainRequest, PlainResponse, RequestBody } from '../../base/shared/message.ts';
import type { Registry } from '../../database/registry/contract.ts';
import { isStream } from '../../http/request/bodies.ts';
import { readOnlyError } from '../../storage/paging/page-errors.ts';

const NOTES = '/_settee/notes/';
const UPDATES = '/_settee/updates';
const CHANGED = 'Another server has changed this at the same time. Send the request again.';
/** Changes are reported together. */
const REPORT_MS = 20;

type ToOwner = (request: PlainRequest) => MaybePromise<PlainResponse> | undefined;

/** See `Registry.keepNote`. */
export function keepNoteBy(owner: () => Handle | undefined): Registry['keepNote'] {
  return async (name, text, former) => {
    const url = `${NOTES}${encodeURIComponent(name)}`;
    const plain = { method: text === undefined ? 'DELETE' : 'PUT', body: text ?? null };
    const asked =
      former === undefined ? plain : { method: 'POST', body: JSON.stringify({ text, former: former.text }) };
    const response = await owner()?.({ ...asked, url, headers: {} });
    if (response?.status === 409) throw new DatabaseError('conflict', CHANGED);
    if (response?.status !== 200) throw readOnlyError('the list of databases');
  };
}

/** Tells the owner of the list which databases were changed here, for `_db_updates` and for feeds that wait there. What is lost with a link is not repeated. */
export class UpdateReports {
  readonly #send: ToOwner;
  readonly #names = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(send: ToOwner) {
    this.#send = send;
  }

  add(name: string): void {
    this.#names.add(name);
    this.#timer ??= setTimeout(() => this.#report(), REPORT_MS);
  }

  #report(): void {
    this.#timer = undefined;
    const body = JSON.stringify([...this.#names]);
    this.#names.clear();
    void Promise.resolve(this.#send({ method: 'POST', url: UPDATES, headers: {}, body })).catch(() => undefined);
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}

/** Answers such requests, and passes on all others. `list`: undefined at a server that does not own the list of databases. */
export function answerInternally(list: () => ListOwner | undefined, next: Handle): Handle {
  return (request) => {
    const { hops = 0, url } = request;
    if (!(url.startsWith(NOTES) || url === UPDATES)) return next(request);
    // What a client sends must not be passed on: the next server would take it for this one's.
    return hops === 0 ? refuse(request) : answer(list(), request);
  };
}

type ListOwner = Pick<Registry, 'keepNote' | 'noteUpdate'>;

async function refuse({ body }: PlainRequest): Promise<PlainResponse> {
  if (isStream(body)) await body.cancel();
  return respond(404, { error: 'not_found', reason: 'missing' });
}

async function answer(list: ListOwner | undefined, { method, url, body }: PlainRequest): Promise<PlainResponse> {
  const text = await textOf(body);
  if (list === undefined) return respond(503);
  if (url === UPDATES) {
    const names: unknown = JSON.parse(text);
    if (Array.isArray(names)) for (const name of names) list.noteUpdate?.(String(name));
    return respond(200);
  }
  const name = decodeURIComponent(url.slice(NOTES.length));
  if (method === 'POST') return replaceNote(list, name, text);
  await list.keepNote(name, method === 'DELETE' ? undefined : text);
  return respond(200);
}

async function replaceNote(list: ListOwner, name: string, request: string): Promise<PlainResponse> {
  const { text, former } = JSON.parse(request) as { readonly text?: string; readonly former?: string };
  try {
    await list.keepNote(name, text, { text: former });
  } catch (error) {
    if (!isDatabaseError(error, 'conflict')) throw error;
    return respond(409);
  }
  return respond(200);
}

/** A long text comes as a stream. */
async function textOf(body: RequestBody): Promise<string> {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  if (!isStream(body)) return '';
  const pieces: Uint8Array[] = [];
  for (let piece = await body.pull(); piece !== undefined; piece = await body.pull()) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

function respond(status: number, said: Readonly<Record<string, string>> = {}): PlainResponse {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  return { status, headers, body: `${JSON.stringify(said)}\n` };
}
