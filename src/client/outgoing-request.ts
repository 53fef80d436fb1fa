/**
 * Turns the arguments of `fetch` into a plain request. Text and Blobs never become a `Request`, which would cost more than the rest of
 * the way; what only the web's own classes can tell (forms, odd methods) is asked of them.
 */
import type { WireResponse } from '../bridge/wire/wire.ts';
import type { MaybePromise } from '../shared/maybe-promise.ts';
import type { PlainHeaders } from '../shared/message.ts';

export interface Outgoing {
  readonly method: string;
  readonly url: string;
  readonly headers: PlainHeaders;
  readonly body: null | string | Uint8Array | Blob | ReadableStream<unknown>;
  readonly signal: AbortSignal | null | undefined;
  readonly redirect: RequestRedirect;
}

const PLAIN_METHOD = /^(GET|HEAD|POST|PUT|DELETE|OPTIONS|COPY)$/;
const BODILESS_METHOD = /^(GET|HEAD)$/;

/**
 * Paths and queries that the parser of URLs leaves as they are. What it joins, takes out or writes in another way in any engine (dots,
 * backslashes, white space, fragments, quotes and the like) is left to it.
 */
const PLAIN_PATH = /^\/(?![./])(?:[\w!$&()*+,.:;=?@~-]|%(?!2e)|\/(?!\.))*$/i;

/** The absolute address of what is asked for, without a fragment. `origin` is that of the base. */
export function toAddress(input: Request | URL | string, origin: string): string {
  const { baseURI } = document;
  if (typeof input === 'string') {
    const isAbsolute = input.startsWith(origin);
    const path = isAbsolute ? input.slice(origin.length) : input;
    if ((isAbsolute || baseURI.startsWith(`${origin}/`)) && PLAIN_PATH.test(path)) return origin + path;
  }
  const url = new URL(input instanceof Request ? input.url : input, baseURI);
  url.hash = '';
  return url.href;
}

/**
 * `url` is what `input` names, absolute. Fails with a TypeError for what `fetch` rejects with one. Takes what the caller may change later
 * before it returns.
 */
export function toOutgoing(url: string, input: Request | URL | string, init: RequestInit = {}): MaybePromise<Outgoing> {
  if (input instanceof Request) return fromRequest(url, new Request(input, init), init.body);
  const { headers, body = null, signal, redirect = 'follow', credentials } = init;
  let { method = 'GET' } = init;
  // Spelled in another way, not a method at all, or without a right to a body: `Request` knows, and throws.
  if (!PLAIN_METHOD.test(method) || (body !== null && BODILESS_METHOD.test(method))) {
    ({ method } = new Request(url, { method, body: body && '' }));
  }
  // A message carries no objects that only look like a string.
  const outgoing = {
    method: `${method}`,
    url,
    headers: toHeaders(headers, body, credentials),
    body: null,
    signal,
    redirect,
  };
  if (body === null) return outgoing;
  if (typeof body === 'string' || body instanceof Blob || body instanceof ReadableStream) return { ...outgoing, body };
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return { ...outgoing, body: copyOf(body) };
  return encode(outgoing, new Response(body));
}

/** What `fetch` makes of forms and parameters, and what it calls them (Fetch, 5.2). */
async function encode(outgoing: Outgoing, encoded: Response): Promise<Outgoing> {
  const type = encoded.headers.get('content-type') ?? '';
  return { ...outgoing, headers: { 'content-type': type, ...outgoing.headers }, body: await encoded.blob() };
}

/** A stream is taken from `init` itself, and without one the body as a Blob: Firefox has no streams in requests. */
async function fromRequest(url: string, request: Request, given: unknown): Promise<Outgoing> {
  const { method, headers, signal, redirect, credentials } = request;
  let body: BodyInit | null | undefined = given instanceof ReadableStream ? given : request.body;
  if (body === undefined && !BODILESS_METHOD.test(method)) body = await request.blob();
  return toOutgoing(url, url, { method, headers, signal, redirect, credentials, body: body ?? null });
}

/** The caller may change its bytes while ours wait; and cloning a view would clone all that it is a view of. */
function copyOf(body: ArrayBuffer | ArrayBufferView): Uint8Array {
  return (
    ArrayBuffer.isView(body) ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength) : new Uint8Array(body)
  ).slice();
}

/** What `fetch` adds where the caller says nothing: any type is welcome (Fetch, 4.1), and what a body is (5.2). */
function toHeaders(given: HeadersInit | undefined, body: unknown, credentials: string | undefined): PlainHeaders {
  const headers: Record<string, string> = { accept: '*/*' };
  if (typeof body === 'string') headers['content-type'] = 'text/plain;charset=UTF-8';
  else if (body instanceof Blob && body.type) headers['content-type'] = body.type;
  if (credentials === 'omit') headers['settee-credentials'] = credentials;
  if (given) for (const [name, value] of new Headers(given)) headers[name] = value;
  return headers;
}

/** The request that an answer leads on to (Fetch, 4.4); undefined when it is the last. */
export function nextOf(request: Outgoing, { status, headers }: WireResponse): Outgoing | undefined {
  const { location } = headers;
  const { method, body, redirect } = request;
  if (!location || ![301, 302, 303, 307, 308].includes(status) || redirect === 'manual') return undefined;
  if (redirect === 'error' || body instanceof ReadableStream) throw new TypeError(`Redirected to ${location}`);
  const url = new URL(location, request.url).href;
  const isLookedUp = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST';
  return isLookedUp ? { ...request, url, method: 'GET', body: null } : { ...request, url };
}
