/** Sends requests to the server that this page belongs to, and keeps them for the console. */
import { signal } from '@preact/signals';
import type { Json, JsonObject } from './json.ts';
import { isBrowser } from './where.ts';

export type { Json, JsonObject } from './json.ts';

export interface ServerRequest {
  readonly method: string;
  /** Below the base, without a slash at its beginning: `library/_all_docs?limit=10`. */
  readonly path: string;
  /** The text of a JSON body. */
  readonly json?: string | undefined;
  /** Any other body. */
  readonly body?: Blob | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface ServerResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface LoggedRequest extends ServerRequest {
  /** Counts the requests of this page. */
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly tookMs: number;
  /** 0: there was no response. */
  readonly status: number;
  /** The first characters of the response. */
  readonly response: string;
}

/** A request failed: the server refused it, or did not respond (status 0). */
export class ServerError extends Error {
  readonly status: number;
  /** The server's code, such as `conflict`; `unreachable` if there was no response. */
  readonly code: string;
  readonly reason: string;
  readonly request: ServerRequest;

  constructor(status: number, code: string, reason: string, request: ServerRequest) {
    super(`${request.method} /${request.path}: ${code}: ${reason}`);
    this.name = 'ServerError';
    this.status = status;
    this.code = code;
    this.reason = reason;
    this.request = request;
  }
}

/** The address of the server: the page is at `<base>/_utils/`. */
export const base = new URL('../', document.baseURI);

const LOGGED = 300;
const LOGGED_CHARACTERS = 20_000;

/** What the page requested, newest first. */
export const requestLog = signal<readonly LoggedRequest[]>([]);
/** False after a request without a response, until the next response. */
export const isReachable = signal(true);

let lastNumber = 0;

/** Sends the request. Fails with a `ServerError` only if there is no response. */
export async function exchange(request: ServerRequest, init: RequestInit = {}): Promise<ServerResponse> {
  const began = performance.now();
  const at = Date.now();
  try {
    const response = await send(request, init);
    const text = await response.text();
    isReachable.value = true;
    note({ ...request, at, tookMs: performance.now() - began, status: response.status, response: text });
    return { status: response.status, headers: response.headers, text };
  } catch (cause) {
    if (init.signal?.aborted !== true) {
      isReachable.value = false;
      note({ ...request, at, tookMs: performance.now() - began, status: 0, response: `${cause}` });
    }
    throw unreachable(request, cause);
  }
}

/** Sends the request and returns the JSON of the response. Fails with a `ServerError` if the status is not 2xx. */
export async function ask<T = JsonObject>(method: string, path: string, options: AskOptions = {}): Promise<T> {
  const { json, signal: abortSignal, headers, quiet, parse } = options;
  const request: ServerRequest = { method, path, headers, json: json === undefined ? undefined : JSON.stringify(json) };
  const init: RequestInit = { ...(abortSignal && { signal: abortSignal }) };
  const response = quiet === true ? await exchangeQuietly(request, init) : await exchange(request, init);
  return parseResponse<T>(response, request, parse);
}

export interface AskOptions {
  /** The value of a JSON body. */
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Leaves the request out of the log: for what the page asks again every few seconds. */
  readonly quiet?: boolean;
  /** Reads the JSON of the response. Default: `JSON.parse`. */
  readonly parse?: ((text: string) => unknown) | undefined;
}

/** Returns the response as it comes, for feeds. Not logged. */
export async function open(request: ServerRequest, abortSignal: AbortSignal): Promise<Response> {
  const response = await send(request, { signal: abortSignal }).catch((cause: unknown) => {
    if (!abortSignal.aborted) isReachable.value = false;
    throw unreachable(request, cause);
  });
  isReachable.value = true;
  if (!response.ok) throw toError(response.status, await response.text(), request);
  return response;
}

export function parseResponse<T>(
  { status, text }: ServerResponse,
  request: ServerRequest,
  parse: (text: string) => unknown = JSON.parse,
): T {
  if (status < 200 || status > 299) throw toError(status, text, request);
  return parse(text) as T;
}

/** The path of a database, a document or an attachment: each part is escaped, slashes in the names of design and local documents stay. */
export function pathOf(database: string, docId?: string, ...rest: readonly string[]): string {
  const parts = [encodeURIComponent(database)];
  if (docId !== undefined) parts.push(encodeURIComponent(docId).replace(/^(_design|_local)%2F/, '$1/'));
  return [...parts, ...rest.map(encodeURIComponent)].join('/');
}

/** Returns `path?name=value&…` with the values as JSON, or as they are for those in `plain`. Undefined values are left out. */
export function withQuery(path: string, parameters: Readonly<Record<string, Json | undefined>>): string {
  const pairs = Object.entries(parameters)
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) =>
        `${name}=${encodeURIComponent(JSON_PARAMETERS.has(name) ? JSON.stringify(value) : `${value}`)}`,
    );
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}

const JSON_PARAMETERS = new Set(['key', 'keys', 'startkey', 'endkey', 'start_key', 'end_key', 'doc_ids', 'open_revs']);

async function exchangeQuietly(request: ServerRequest, init: RequestInit): Promise<ServerResponse> {
  try {
    const response = await send(request, init);
    const text = await response.text();
    isReachable.value = true;
    return { status: response.status, headers: response.headers, text };
  } catch (cause) {
    if (init.signal?.aborted !== true) isReachable.value = false;
    throw unreachable(request, cause);
  }
}

/** Otherwise browsers ask for a password themselves, before the page can say what is missing. */
const NO_DIALOG = { 'x-svc-www-authenticate': 'Cookie', 'x-couchdb-www-authenticate': 'Cookie' };

function send({ method, path, json, body, headers }: ServerRequest, init: RequestInit): Promise<Response> {
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  return fetch(new URL(path, base), {
    ...init,
    method,
    headers: { accept: 'application/json', ...NO_DIALOG, ...type, ...headers },
    credentials: 'same-origin',
    ...(json === undefined ? body !== undefined && { body } : { body: json }),
  });
}

function note(entry: Omit<LoggedRequest, 'number'>): void {
  lastNumber += 1;
  const response = entry.response.slice(0, LOGGED_CHARACTERS);
  requestLog.value = [{ ...entry, response, number: lastNumber }, ...requestLog.value].slice(0, LOGGED);
}

function unreachable(request: ServerRequest, cause: unknown): ServerError {
  return new ServerError(
    0,
    'unreachable',
    `${isBrowser.value ? 'The database in this browser' : 'The server'} does not respond (${describeCause(cause)}).`,
    request,
  );
}

function describeCause(cause: unknown): string {
  return cause instanceof Error ? cause.message : `${cause}`;
}

function toError(status: number, text: string, request: ServerRequest): ServerError {
  try {
    const { error, reason } = JSON.parse(text);
    return new ServerError(status, `${error}`, `${reason ?? error}`, request);
  } catch {
    return new ServerError(status, `${status}`, text.slice(0, 500) || 'The response has no text.', request);
  }
}
