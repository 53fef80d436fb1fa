/** A database on the network, accessed with `fetch`. */

import { type Sent, sendOn } from './redirections.ts';
import type { AnswerBody, Transport, TransportAnswer, TransportRequest } from './transport.ts';
import { unreachableCause } from './unreachable.ts';

export interface NetworkTransportOptions {
  /** The URL of the database, without credentials and without a slash at its end. */
  readonly url: string;
  readonly fetch: typeof globalThis.fetch;
  readonly isBrowserFetch: boolean;
  /** See `ReplicatorHost`. */
  readonly isOnline?: (() => boolean) | undefined;
  /** The browser adds the cookies that it has of the peer. Redirects are then not followed: it would add those of other servers. */
  readonly sendsCookies?: boolean | undefined;
  /** For other servers, to which the database redirects; undefined if the host's own rules are enough. */
  readonly elsewhere?: OtherServers | undefined;
}

export interface OtherServers {
  readonly fetch: typeof globalThis.fetch;
  /** Whether it leads to this service. */
  isOwn(url: string): Promise<boolean>;
}

/** If a browser's `fetch` can't stream a body, its chunks are joined to Blobs of this size, which the browser keeps on disk. */
const BLOB_BYTES = 4_194_304;
/** Node's types have neither: Node has no cache, and keeps no credentials. */
const OF_BROWSERS: object = { cache: 'no-store', credentials: 'omit' };
/**
 * `duplex`: the only mode, which has to be named. The others say that the body is not needed twice, for following a redirect or
 * for asking for a password: otherwise Node keeps a copy of all that was sent (the Fetch Standard's "HTTP-network-or-cache fetch", step 8).
 */
const STREAMED: object = { duplex: 'half', redirect: 'error', window: null };
const UNREADABLE: object = { mode: 'no-cors' };
const WITH_COOKIES: object = { credentials: 'include' };
const OFFLINE = 'this device is offline';
const WITHHELD = "the connection was cut off, or the server's settings do not permit the origin of this page (CORS)";
const WITHHELD_SESSION =
  "the connection was cut off, the server's settings do not permit the origin of this page with credentials (CORS), or it redirects, which requests with the user's session don't follow";
const WITHHELD_CREDENTIALS =
  "the connection was cut off, the server's settings do not permit the origin of this page (CORS), or it redirects, which requests with a token or with headers don't follow";
const BEARER = /^bearer /i;
const NO_ANSWER = 'no server responds there';
/** A session needs one. */
const MAX_COOKIES = 50;
const IS_OWN = 'that is this server itself, to which no other server may redirect';
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

export class NetworkTransport implements Transport {
  readonly name: string;
  readonly isLocal = false;
  readonly isSlow: boolean;
  readonly #options: NetworkTransportOptions;

  constructor(options: NetworkTransportOptions) {
    this.name = options.url;
    this.isSlow = !LOOPBACK.test(new URL(options.url).hostname);
    this.#options = options;
  }

  async send(request: TransportRequest): Promise<TransportAnswer> {
    const { signal } = request;
    const response = await this.#ask(request).catch((failure: unknown) => this.#explain(failure, request));
    // Not from the peer: it stands for a network error, or for a redirect that is not followed (Fetch, 2.2.6).
    if (response.status === 0) throw new TypeError('there was no response');
    return {
      status: response.status,
      header: (name) => response.headers.get(name) ?? undefined,
      cookies: response.headers.getSetCookie?.().slice(0, MAX_COOKIES) ?? [],
      body: answerBody(response.body, signal),
    };
  }

  /**
   * A browser does not say why there is no response. It also withholds the responses of servers that don't permit the page's origin, so
   * another request, whose response can't be read, shows whether there is a server at all.
   */
  async #explain(failure: unknown, request: TransportRequest): Promise<never> {
    const { signal } = request;
    const { url, fetch, isBrowserFetch, isOnline } = this.#options;
    if (!isBrowserFetch || signal.aborted) throw failure;
    const isOffline = isOnline?.() === false;
    const init: RequestInit = { method: 'HEAD', signal };
    const answered = isOffline ? undefined : fetch(url, Object.assign(init, OF_BROWSERS, UNREADABLE));
    const responds = await answered?.then(
      () => true,
      () => false,
    );
    if (signal.aborted) throw failure;
    const withheld = this.#mayFollow(request) ? WITHHELD : WITHHELD_CREDENTIALS;
    const why = this.#options.sendsCookies === true ? WITHHELD_SESSION : withheld;
    if (responds === true) throw new TypeError('fetch failed', { cause: new Error(why) });
    throw new TypeError('fetch failed', { cause: unreachableCause(isOffline ? OFFLINE : NO_ANSWER) });
  }

  async #ask(request: TransportRequest): Promise<Response> {
    const { url, fetch, isBrowserFetch, sendsCookies = false, elsewhere } = this.#options;
    const { path, ofServer, signal, isConfidential = false, ownHeaders = {} } = request;
    const base = ofServer === true ? url.slice(0, url.lastIndexOf('/')) : url;
    const sent: Sent = {
      headers: request.headers,
      ownHeaders,
      method: request.method,
      ...(await this.#bodyOf(request.body)),
    };
    const inBrowsers = this.#mayFollow(request) ? 'follow' : 'error';
    const redirect = isBrowserFetch ? inBrowsers : 'manual';
    const sendBy = (by: typeof fetch, address: string, { headers, ownHeaders: own, ...more }: Sent) => {
      const init: RequestInit = { redirect, signal, ...more, headers: { ...headers, ...own } };
      return by(address, Object.assign(init, OF_BROWSERS, sendsCookies ? WITH_COOKIES : {}));
    };
    const send = (address: string, what: Sent) => sendBy(fetch, address, what);
    if (isBrowserFetch) return send(`${base}${path}`, sent);
    const sendElsewhere = async (address: string, what: Sent) => {
      if ((await elsewhere?.isOwn(address)) === true) throw new TypeError(IS_OWN);
      return sendBy(elsewhere?.fetch ?? fetch, address, what);
    };
    return sendOn(`${base}${path}`, sent, { send, sendElsewhere, isConfidential });
  }

  /**
   * Whether a browser may follow a redirect. It does not show where that leads, and takes all headers along but `Authorization`; browsers of before 2024 may take
   * that one, too. Names and passwords are sent as they always were; tokens are not risked.
   */
  #mayFollow({ isConfidential = false, ownHeaders = {} }: TransportRequest): boolean {
    if (isConfidential || this.#options.sendsCookies === true) return false;
    return Object.entries(ownHeaders).every(([name, value]) => name === 'authorization' && !BEARER.test(value));
  }

  async #bodyOf(body: TransportRequest['body']): Promise<Pick<Sent, 'body'>> {
    if (body === undefined) return {};
    if (typeof body === 'string' || body instanceof Uint8Array) return { body };
    if (this.#options.isBrowserFetch) return { body: await toBlob(body) };
    return Object.assign({ body: toReadable(body) }, STREAMED);
  }
}

function toReadable(source: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const step = await chunks.next();
        if (step.done === true) controller.close();
        else controller.enqueue(step.value);
      },
      cancel: async () => {
        await chunks.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

async function toBlob(source: AsyncIterable<Uint8Array>): Promise<Blob> {
  const parts: Blob[] = [];
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    chunks.push(chunk.slice());
    bytes += chunk.length;
    if (bytes < BLOB_BYTES) continue;
    parts.push(new Blob(chunks));
    chunks = [];
    bytes = 0;
  }
  return new Blob([...parts, ...chunks]);
}

function answerBody(stream: ReadableStream<Uint8Array> | null, signal: AbortSignal): AnswerBody {
  const reader = stream?.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  // Not awaited: if another reader has the same body, as a tool in between may, it lasts until that one is done.
  const end = () => {
    signal.removeEventListener('abort', end);
    reader?.cancel().catch(() => undefined);
  };
  // `fetch` itself ends the body then; a replacement may not.
  signal.addEventListener('abort', end, { once: true });
  const pull = async (): Promise<Uint8Array | undefined> => {
    const step = await reader?.read();
    signal.throwIfAborted();
    if (step !== undefined && !step.done) return step.value;
    signal.removeEventListener('abort', end);
    return undefined;
  };
  return {
    pull,
    pullText: async () => {
      const chunk = await pull();
      return chunk === undefined ? decoder.decode() || undefined : decoder.decode(chunk, { stream: true });
    },
    cancel: async () => end(),
  };
}
