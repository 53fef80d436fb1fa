import type { ByteLease } from './byte-budget.ts';
import type { MaybePromise } from './maybe-promise.ts';

/**
 * The one door (src/README.md#one-door): a plain request goes in, a plain response comes out. Header names are lower case, one line
 * per header; `set-cookie` has one for each cookie. Everything but streams and signals is structured-cloneable.
 */
export type PlainHeaders = Readonly<Record<string, string>>;

/**
 * A pull-based stream of bytes: nothing is produced that was not asked for.
 * `pull` gives the next chunk, or undefined at the end; it is never called again before its promise settled.
 * `cancel` says that nobody will read on; calling it after the end does nothing.
 */
export interface ByteStream {
  /** Bytes in all, where known before. */
  readonly length?: number;
  /** Nobody but whoever pulls them has the chunks: their memory may be moved to another thread. */
  readonly isMovable?: boolean;
  pull(): Promise<Uint8Array | undefined>;
  /** In the place of `pull`, where the stream is made of text: the next chunk before it becomes bytes. */
  pullText?(): Promise<string | undefined>;
  cancel(reason?: unknown): Promise<void>;
  /** Has `act` called where the stream ends in its middle because its reader is too slow: what is under way to it should be dropped. */
  onBreak?(act: () => void): void;
  /** Headers that came behind the last byte (RFC 9112, 7.1.2), where the host hands them on; known when that was pulled. */
  readonly trailers?: PlainHeaders | undefined;
}

export type RequestBody = null | string | Uint8Array | Blob | ByteStream;
export type ResponseBody = null | string | Uint8Array | ByteStream;

export interface PlainRequest {
  readonly method: string;
  /** Absolute, or a path beginning with `/`; still percent-encoded as the client sent it. */
  readonly url: string;
  readonly headers: PlainHeaders;
  readonly body: RequestBody;
  /** The IP address of who sent the request, where it came over a network and from outside of this process. */
  readonly peer?: string | undefined;
  /** `https` where it came by that, and the `url` need not say it. */
  readonly scheme?: 'https' | undefined;
  readonly signal?: AbortSignal;
  /** What the host has counted of its body. Whoever answers the request gives it back. */
  readonly held?: ByteLease | undefined;
  /** The host gives back what an answer holds that is no stream (`PlainResponse.held`), when it was sent. */
  readonly returnsHeld?: boolean;
  /** Whose rights the request has, where it is made inside the service. Hosts never set it: who sent a request is for its headers to say. */
  readonly user?: RequestUser | undefined;
  /** That user as it is by now, for answers that last; undefined where it has no rights any more. Without it the user stays the same. */
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
   * The code of the `DatabaseError` that the core answered with, also where the body does not show it, as for HEAD. For whoever runs the
   * core in the same process: it is no part of what goes to the client.
   */
  readonly errorCode?: string;
  /** What is counted of a body that is no stream: for the host to give back when it was sent. Only where the request says that the host does. */
  readonly held?: ByteLease | undefined;
}

/** Answers in the same turn where all that it takes is at hand. */
export type Handle = (request: PlainRequest) => MaybePromise<PlainResponse>;

const SET_COOKIE = 'set-cookie';

/** The headers as the web's classes take them: a `Set-Cookie` of several cookies, one on each line, becomes several headers. */
export function headerLines(headers: PlainHeaders): PlainHeaders | [string, string][] {
  const cookies = headers[SET_COOKIE];
  if (cookies === undefined || !cookies.includes('\n')) return headers;
  const others = Object.entries(headers).filter(([name]) => name !== SET_COOKIE);
  return [...others, ...cookies.split('\n').map((cookie): [string, string] => [SET_COOKIE, cookie])];
}
