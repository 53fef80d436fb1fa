/**
 * Turns the arguments of `fetch` into a plain request. Text and Blobs never become a `Request`, which would cost more than everything else
 * that a page does for a request. Forms and unusual methods are left to the web's own classes.
 */

import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { PlainHeaders } from '../../base/shared/message.ts';
import type { WireResponse } from '../bridge/wire.ts';

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
 * Matches paths and queries that the URL parser would leave unchanged, so that it need not be called: it takes ten times as long. Everything
 * that the parser of any browser joins, removes or rewrites (dots, backslashes, white space, fragments, quotes and the like) is left to it.
 */
const PLAIN_PATH = /^\/(?![./])(?:[\w!$&()*+,.:;=?@~-]|%(?!2e)|\/(?!\.))*$/i;

/** The absolute address of the request, without a fragment. `origin` is that of the base. */
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
 * `url` is what `input` names, absolute. Fails with a TypeError if `fetch` would reject with one. Copies what the caller may change later
 * before it returns.
 */
export function toOutgoing(url: string, input: Request | URL | string, init: RequestInit = {}): MaybePromise<Outgoing> {
  if (input instanceof Request) return fromRequest(url, new Request(input, init), init.body);
  const { headers, body = null, signal, redirect = 'follow', credentials } = init;
  let { method = 'GET' } = init;
  // `Request` normalizes the method, and throws if it is invalid or must have no body.
  if (!PLAIN_METHOD.test(method) || (body !== null && BODILESS_METHOD.test(method))) {
    ({ method } = new Request(url, { method, body: body && '' }));
  }
  // The method may be an object with a `toString`, which a message can't carry.
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
  if (body instanceof URLSearchParams) {
    const type = { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' };
    return { ...outgoing, headers: { ...type, ...outgoing.headers }, body: `${body}` };
  }
  return encode(outgoing, new Response(body));
}

/** Encodes forms and the like, and sets their type, as `fetch` does (Fetch, 5.2). */
async function encode(outgoing: Outgoing, encoded: Response): Promise<Outgoing> {
  const type = encoded.headers.get('content-type') ?? '';
  // Forms must say which page sent them: this one.
  const sender = type.startsWith('multipart/form-data') ? { referer: outgoing.url } : {};
  return { ...outgoing, headers: { 'content-type': type, ...sender, ...outgoing.headers }, body: await encoded.blob() };
}

/** A stream is taken from `init` itself. Firefox has no streams in requests, so that the body of a request is taken as a Blob there. */
function fromRequest(url: string, request: Request, given: unknown): MaybePromise<Outgoing> {
  const { method, headers, signal, redirect, credentials } = request;
  const from = (body: BodyInit | null) =>
    toOutgoing(url, url, { method, headers, signal, redirect, credentials, body });
  const body: BodyInit | null | undefined = given instanceof ReadableStream ? given : request.body;
  return body === undefined && !BODILESS_METHOD.test(method) ? request.blob().then(from) : from(body ?? null);
}

/** Copies the bytes since the caller may change them before they are sent, and since cloning a view would clone the whole buffer. */
function copyOf(body: ArrayBuffer | ArrayBufferView): Uint8Array {
  return (
    ArrayBuffer.isView(body) ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength) : new Uint8Array(body)
  ).slice();
}

/** Adds what `fetch` adds if the caller sets nothing: that any type is accepted (Fetch, 4.1), and the type of a body (5.2). */
function toHeaders(given: HeadersInit | undefined, body: unknown, credentials: string | undefined): PlainHeaders {
  const headers: Record<string, string> = { accept: '*/*' };
  if (typeof body === 'string') headers['content-type'] = 'text/plain;charset=UTF-8';
  else if (body instanceof Blob && body.type) headers['content-type'] = body.type;
  if (credentials === 'omit') headers['settee-credentials'] = credentials;
  if (given) for (const [name, value] of new Headers(given)) headers[name] = value;
  return headers;
}

/** The request that a response redirects to (Fetch, 4.4); undefined if it does not redirect. */
export function nextOf(request: Outgoing, { status, headers }: WireResponse): Outgoing | undefined {
  const { location } = headers;
  const { method, body, redirect } = request;
  if (!location || ![301, 302, 303, 307, 308].includes(status) || redirect === 'manual') return undefined;
  if (redirect === 'error' || body instanceof ReadableStream)
    throw new TypeError(`The response redirects to ${location}, which this request does not allow`);
  const url = new URL(location, request.url).href;
  const isLookedUp = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST';
  return isLookedUp ? { ...request, url, method: 'GET', body: null } : { ...request, url };
}
