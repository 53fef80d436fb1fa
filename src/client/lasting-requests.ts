/**
 * Requests that outlive the page (`keepalive` of Fetch; beacons). The page's worker ends with the page, so they go to the service worker by a
 * message, which is on its way as soon as it is posted, also while the page is being left. That way is the same in all browsers; Firefox would
 * send a plain `fetch` with `keepalive` past the service worker.
 */
import { serviceUnavailable } from '../bridge/link/unavailable.ts';
import type { LastingAnswer, LastingRequest } from '../bridge/wire/control.ts';
import { PROTOCOL, type WireResponse } from '../bridge/wire/wire.ts';
import { withinDeadline } from './deadline.ts';
import type { Outgoing } from './outgoing-request.ts';

/** Of the bodies of all that are under way in a page (Fetch, 4.6). */
const MOST_BYTES = 65_536;

/** The service worker gives a request up some seconds earlier. */
const ANSWER_MS = 60_000;

const STREAM = 'keepalive takes no stream as its body: give text, bytes or a Blob, or leave keepalive away';
const TOO_LARGE =
  `The bodies of requests with keepalive have at most ${MOST_BYTES} bytes together: write in smaller parts, ` +
  'or leave keepalive away and wait for the answer before the page is left';
const NO_SERVICE_WORKER =
  'A write with keepalive is carried out by the service worker, and this page has none that answers: wait for settee.controlled to be true ' +
  'first; where it is false, leave keepalive away, and write as soon as something changes, not when the page is left';
export const NOT_AT_HAND =
  'The body of a Request or of a form can not be read while the page is left, as keepalive asks for: give fetch the address and, as body, ' +
  'text, bytes, a Blob or URLSearchParams';

const LEFT = 'The page was left during this request, which the service worker carries out: read before you write again';
const SILENT =
  'The service worker does not answer: the request may have been carried out or not; read before you write again';

export interface LastingRequestsHost {
  /** Of the page, absolute. */
  readonly base: string;
  /** The service worker that answers below the base; undefined where there is none, or none yet. */
  serviceWorker(): ServiceWorker | undefined;
  /** Settles when it is decided whether there is one. */
  whenControlled(): Promise<unknown>;
  /** Ends the listening. */
  readonly signal: AbortSignal;
}

interface PostedRequest {
  readonly bytes: number;
  /** On which the answer comes. An answer would throw a page out of the back/forward cache, so that one that is left has none. */
  readonly port: MessagePort;
  resolve(response: WireResponse): void;
}

export class LastingRequests {
  readonly #host: LastingRequestsHost;
  /** What the service worker has and has not answered yet. */
  readonly #posted = new Set<PostedRequest>();
  #bytes = 0;
  #isLeft = false;

  constructor(host: LastingRequestsHost) {
    this.#host = host;
    const { signal } = host;
    addEventListener('pagehide', () => this.#leave(), { signal });
    addEventListener('pageshow', () => this.#return(), { signal });
  }

  /**
   * Posts the request in the turn of the call. Rejects with a TypeError, which says what to do, where it can't be carried out so. A signal is
   * of no use once the request was posted.
   */
  async handle(request: Outgoing): Promise<WireResponse> {
    request.signal?.throwIfAborted();
    const bytes = sizeOf(request.body);
    if (bytes === undefined) throw new TypeError(STREAM);
    if (this.#bytes + bytes > MOST_BYTES) throw new TypeError(TOO_LARGE);
    const serviceWorker = this.#host.serviceWorker() ?? (await this.#whenControlled());
    return this.#post(serviceWorker, request, bytes);
  }

  /** As `navigator.sendBeacon`: false where the request can't be carried out so. */
  send(request: Outgoing): boolean {
    const bytes = sizeOf(request.body) ?? Number.POSITIVE_INFINITY;
    const serviceWorker = this.#host.serviceWorker();
    if (!serviceWorker || this.#bytes + bytes > MOST_BYTES) return false;
    void this.#post(serviceWorker, request, bytes);
    return true;
  }

  async #whenControlled(): Promise<ServiceWorker> {
    if (!this.#isLeft) await this.#host.whenControlled().catch(() => {});
    const serviceWorker = this.#host.serviceWorker();
    if (!serviceWorker) throw new TypeError(NO_SERVICE_WORKER);
    return serviceWorker;
  }

  #post(serviceWorker: ServiceWorker, request: Outgoing, bytes: number): Promise<WireResponse> {
    const { method, url, headers, body } = request;
    const wire = { method, url, headers, body: body instanceof ReadableStream ? null : body };
    const message: LastingRequest = {
      type: 'SETTEE_LASTING',
      base: this.#host.base,
      protocol: PROTOCOL,
      request: wire,
    };
    const { port1: port, port2 } = new MessageChannel();
    serviceWorker.postMessage(message, this.#isLeft ? [] : [port2]);
    this.#bytes += bytes;
    return new Promise((resolve) => {
      const posted = { bytes, port, resolve };
      this.#posted.add(posted);
      if (!this.#isLeft) void this.#answerOn(port).then((response) => this.#settle(posted, response));
    });
  }

  #settle(posted: PostedRequest, response: WireResponse): void {
    if (!this.#posted.delete(posted)) return;
    this.#bytes -= posted.bytes;
    posted.port.close();
    posted.resolve(response);
  }

  async #answerOn(port: MessagePort): Promise<WireResponse> {
    let onTaken: (isTaken: true) => void = () => {};
    const taken = new Promise<true>((resolve) => {
      onTaken = resolve;
    });
    const answered = new Promise<WireResponse>((resolve) => {
      port.onmessage = ({ data }: MessageEvent<LastingAnswer>) => {
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
    for (const { port } of this.#posted) port.close();
  }

  #return(): void {
    if (!this.#isLeft) return;
    this.#isLeft = false;
    for (const posted of this.#posted) this.#settle(posted, serviceUnavailable(LEFT));
  }
}

/** In bytes; undefined where that can't be told. */
function sizeOf(body: Outgoing['body']): number | undefined {
  if (body === null) return 0;
  if (body instanceof Blob) return body.size;
  if (body instanceof Uint8Array) return body.byteLength;
  if (typeof body !== 'string') return undefined;
  // No character takes less than a byte.
  return body.length > MOST_BYTES ? body.length : new TextEncoder().encode(body).length;
}
