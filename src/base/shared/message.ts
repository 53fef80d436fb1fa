import type { ByteLease } from './byte-budget.ts';
import type { MaybePromise } from './maybe-promise.ts';

/**
 * The one door (src/README.md#one-door): it takes a plain request and returns a plain response. Header names are lower case, one line
 * per header; `set-cookie` has one for each cookie. Everything but streams and signals is structured-cloneable.
 */
export type PlainHeaders = Readonly<Record<string, string>>;

/**
 * A pull-based stream of bytes: it produces nothing before the reader asks for it.
 * `pull` returns the next chunk, or undefined at the end; it is never called again before its promise has settled.
 * `cancel` says that no one will read further; calling it after the end does nothing.
 */
export interface ByteStream {
  /** Total bytes, if known in advance. */
  readonly length?: number;
  /** Only the puller holds the chunks: their memory may be moved to another thread. */
  readonly isMovable?: boolean;
  pull(): Promise<Uint8Array | undefined>;
  /** Replaces `pull` if the stream is made of text: returns the next chunk before it becomes bytes. */
  pullText?(): Promise<string | undefined>;
  cancel(reason?: unknown): Promise<void>;
  /** Registers `act`, called if the stream breaks off because its reader is too slow: what is on its way to it should be dropped. */
  onBreak?(act: () => void): void;
  /** Headers after the last byte (RFC 9112, 7.1.2), if the host passes them on; known when that byte was pulled. */
  readonly trailers?: PlainHeaders | undefined;
}

export type RequestBody = null | string | Uint8Array | Blob | ByteStream;
export type ResponseBody = null | string | Uint8Array | ByteStream;

/** What a host wants to know of a request, and what it knows of the trace to which the request belongs. */
export interface ObservedRequest {
  /** `traceparent`, and `tracestate` if there is one (W3C Trace Context), for requests that are sent to other servers on account of this one. */
  readonly trace?: PlainHeaders | undefined;
  /** Whose request it was; null for an anonymous client. Set when it is answered. */
  user?: string | null | undefined;
}

export interface PlainRequest {
  readonly method: string;
  /** Absolute, or a path beginning with `/`; still percent-encoded as the client sent it. */
  readonly url: string;
  readonly headers: PlainHeaders;
  readonly body: RequestBody;
  /** The IP address of the sender, if the request came over a network and from outside this process. */
  readonly peer?: string | undefined;
  /** `https` if the request came by that; the `url` need not say so. */
  readonly scheme?: 'https' | undefined;
  readonly signal?: AbortSignal;
  /** What the host has counted for the request body. The code that answers the request gives it back. */
  readonly held?: ByteLease | undefined;
  /** Whether the host gives back what a response without a stream holds (`PlainResponse.held`) after it was sent. */
  readonly returnsHeld?: boolean;
  /** Whose rights the request has, if it is made inside the service. Hosts never set it: a request's headers say who sent it. */
  readonly user?: RequestUser | undefined;
  /** How many servers have passed the request on to another one. Default: 0. Hosts never take it from a header. */
  readonly hops?: number | undefined;
  /** Only if the host observes the request. */
  readonly observed?: ObservedRequest | undefined;
  /** Returns the current state of that user, for long responses; undefined if the user has no rights any more. Without it the user stays the same. */
  readonly recheckUser?: (() => MaybePromise<RequestUser | undefined>) | undefined;
}

export interface RequestUser {
  readonly name: string | null;
  readonly roles: readonly string[];
}

export interface PlainResponse {
  readonly status: number;
  readonly headers: PlainHeaders;
  readonly body: ResponseBody;
  /**
   * The code of the `DatabaseError` that the core answered with, even if the body does not show it, as for HEAD. For code that runs the
   * core in the same process: it is not sent to the client.
   */
  readonly errorCode?: string;
  /** What is counted for a body that is not a stream: the host gives it back after sending. Only if the request says that the host does. */
  readonly held?: ByteLease | undefined;
}

/** Answers in the same turn if all that it needs is available. */
export type Handle = (request: PlainRequest) => MaybePromise<PlainResponse>;

const SET_COOKIE = 'set-cookie';

/** Returns the headers as the web's classes take them: a `Set-Cookie` of several cookies, one on each line, becomes several headers. */
export function headerLines(headers: PlainHeaders): PlainHeaders | [string, string][] {
  const cookies = headers[SET_COOKIE];
  if (cookies === undefined || !cookies.includes('\n')) return headers;
  const others = Object.entries(headers).filter(([name]) => name !== SET_COOKIE);
  return [...others, ...cookies.split('\n').map((cookie): [string, string] => [SET_COOKIE, cookie])];
}
