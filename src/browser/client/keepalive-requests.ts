/**
 * Requests that outlive the page (`keepalive` of Fetch; beacons). The page's worker ends with the page, so they go to the service worker, which
 * carries them out (`browser/sw/keepalive-requests.ts`): as plain requests with `keepalive`, which browsers send even when the page is gone. Firefox
 * sends these past the service worker, so that it gets them by a message. Chromium drops messages of a page that enters the back/forward
 * cache, when the next page is of another site.
 */
import { serviceUnavailable } from '../bridge/service-unavailable.ts';
import { type KeepaliveAnswer, type KeepaliveRequest, PROTOCOL, type WireResponse } from '../bridge/wire.ts';
import { withinDeadline } from './deadline.ts';
import { type Outgoing, toOutgoing } from './outgoing-request.ts';
import type { PageFetch } from './replaced-fetch.ts';

/** The limit for the bodies of all requests in progress in a page (Fetch, 4.6). */
const MAX_BYTES = 65_536;

/** The service worker gives up on a request some seconds earlier. */
const ANSWER_MS = 60_000;

const STREAM = 'keepalive allows no stream as the body: pass text, bytes or a Blob, or omit keepalive';
const TOO_LARGE =
  `The bodies of all requests with keepalive may have at most ${MAX_BYTES} bytes together: write in smaller parts, ` +
  'or omit keepalive and wait for the response before the page is left';
const NO_SERVICE_WORKER =
  'A write with keepalive is carried out by the service worker, and this page has none that answers: first wait until settee.controlled ' +
  'resolves to true; if it resolves to false, omit keepalive, and write as soon as something changes, not when the page is left';
const NOT_AT_HAND =
  "With keepalive, the body of a Request or of a form can't be read in time, because the page may be gone: pass fetch the address and, as the " +
  'body, text, bytes, a Blob or URLSearchParams';

const LEFT = 'The page was left during this request, which the service worker carries out: read before you write again';
const SILENT =
  'The service worker does not answer: the request may have been carried out or not; read before you write again';

export interface KeepaliveRequestsHost {
  /** The page's base, absolute. */
  readonly base: string;
  /** Whether the browser sends plain requests with `keepalive` past the service worker. */
  readonly isBypassed: boolean;
  /** The browser's `fetch`, whatever replaces it in the page. */
  readonly network: PageFetch;
  /** The service worker that answers below the base; undefined if there is none, or none yet. */
  serviceWorker(): ServiceWorker | undefined;
  /** Settles when it is known whether there is one. */
  whenControlled(): Promise<unknown>;
  respond(request: Outgoing, response: WireResponse): Response;
  /** Ends the listening. */
  readonly signal: AbortSignal;
}

interface PostedRequest {
  /** The response arrives on it. A response would throw a page out of the back/forward cache, so a page that is left has none. */
  readonly port: MessagePort;
  /** Whether the service worker has said that it has the request. */
  isTaken: boolean;
  resolve(response: WireResponse): void;
}

export class KeepaliveRequests {
  readonly #host: KeepaliveRequestsHost;
  /** What the service worker has received and not answered yet. */
  readonly #posted = new Set<PostedRequest>();
  #bytes = 0;
  #isLeft = false;

  constructor(host: KeepaliveRequestsHost) {
    this.#host = host;
    const { signal } = host;
    addEventListener('pagehide', () => this.#leave(), { signal });
    addEventListener('pageshow', () => this.#return(), { signal });
  }

  /**
   * Works as `fetch`, for a write to this address. Sent in the turn of the call. Rejects with a TypeError, which says what to do, if the write
   * can't be carried out this way. In Firefox a signal has no effect once the request was posted.
   */
  async fetch(url: string, input: Request | URL | string, init: RequestInit = {}): Promise<Response> {
    const { body } = init;
    if (body instanceof ReadableStream) throw new TypeError(STREAM);
    const bytes = sizeOf(body);
    if (this.#bytes + bytes > MAX_BYTES) throw new TypeError(TOO_LARGE);
    const serviceWorker = this.#host.serviceWorker() ?? (await this.#whenControlled());
    if (!this.#host.isBypassed) {
      const answer = this.#host.network(input, { ...init, keepalive: true });
      return this.#counted(bytes, answer);
    }
    const request = toOutgoing(url, input, init);
    // Browsers keep the body of a Request as a stream, or as a promise, whatever it was created from.
    if (request instanceof Promise || request.body instanceof ReadableStream) throw new TypeError(NOT_AT_HAND);
    request.signal?.throwIfAborted();
    return this.#host.respond(request, await this.#counted(bytes, this.#post(serviceWorker, request)));
  }

  /** Works as `navigator.sendBeacon`: false if the write can't be carried out this way; undefined for what it must do itself. */
  sendBeacon(url: string, body: BodyInit | null): boolean | undefined {
    const serviceWorker = this.#host.serviceWorker();
    if (!serviceWorker) return false;
    if (!this.#host.isBypassed) return undefined;
    const request = toOutgoing(url, url, { method: 'POST', body });
    const bytes = sizeOf(body);
    if (request instanceof Promise || this.#bytes + bytes > MAX_BYTES) return false;
    void this.#counted(bytes, this.#post(serviceWorker, request));
    return true;
  }

  #counted<T>(bytes: number, answer: Promise<T>): Promise<T> {
    this.#bytes += bytes;
    return answer.finally(() => {
      this.#bytes -= bytes;
    });
  }

  async #whenControlled(): Promise<ServiceWorker> {
    if (!this.#isLeft) await this.#host.whenControlled().catch(() => {});
    const serviceWorker = this.#host.serviceWorker();
    if (!serviceWorker) throw new TypeError(NO_SERVICE_WORKER);
    return serviceWorker;
  }

  #post(serviceWorker: ServiceWorker, request: Outgoing): Promise<WireResponse> {
    const { method, url, headers, body } = request;
    const wire = { method, url, headers, body: body instanceof ReadableStream ? null : body };
    const message: KeepaliveRequest = {
      type: 'SETTEE_LASTING',
      base: this.#host.base,
      protocol: PROTOCOL,
      request: wire,
    };
    const { port1: port, port2 } = new MessageChannel();
    serviceWorker.postMessage(message, this.#isLeft ? [] : [port2]);
    if (this.#isLeft) this.#holdUp();
    return new Promise((resolve) => {
      const posted = { port, isTaken: false, resolve };
      this.#posted.add(posted);
      if (!this.#isLeft) void this.#answerTo(posted).then((response) => this.#settle(posted, response));
    });
  }

  #settle(posted: PostedRequest, response: WireResponse): void {
    if (!this.#posted.delete(posted)) return;
    posted.port.close();
    posted.resolve(response);
  }

  async #answerTo(posted: PostedRequest): Promise<WireResponse> {
    let onTaken: (isTaken: true) => void = () => {};
    const taken = new Promise<true>((resolve) => {
      onTaken = resolve;
    });
    const answered = new Promise<WireResponse>((resolve) => {
      posted.port.onmessage = ({ data }: MessageEvent<KeepaliveAnswer>) => {
        posted.isTaken = true;
        if (data.response) resolve(data.response);
        else onTaken(true);
      };
    });
    const silence = serviceUnavailable(SILENT);
    if (!(await withinDeadline(taken))) return silence;
    return Promise.race([answered, new Promise<typeof silence>((resolve) => setTimeout(resolve, ANSWER_MS, silence))]);
  }

  #leave(): void {
    this.#isLeft = true;
    if ([...this.#posted].some(({ isTaken }) => !isTaken)) this.#holdUp();
    for (const { port } of this.#posted) port.close();
  }

  /** Until the service worker has answered something. Firefox loses the last messages that a page posts when its tab is closed. */
  #holdUp(): void {
    try {
      const request = new XMLHttpRequest();
      request.open('GET', `${this.#host.base}_settee/alive`, false);
      request.send();
    } catch {
      // The page is gone, or about to be: nothing more can be done.
    }
  }

  #return(): void {
    if (!this.#isLeft) return;
    this.#isLeft = false;
    for (const posted of this.#posted) this.#settle(posted, serviceUnavailable(LEFT));
  }
}

/** In bytes; 0 if it is unknown before it is sent, as for a form: browsers have the same limit. */
function sizeOf(body: BodyInit | null | undefined): number {
  if (body instanceof Blob) return body.size;
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return body.byteLength;
  if (typeof body !== 'string') return body instanceof URLSearchParams ? sizeOf(`${body}`) : 0;
  // No character takes less than a byte.
  return body.length > MAX_BYTES ? body.length : new TextEncoder().encode(body).length;
}
