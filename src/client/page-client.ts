/** The service as a page sees it: its worker, its service worker, and `fetch` straight to the worker. */
import { PROTOCOL, type WireResponse, type WireResponseBody } from '../bridge/wire.ts';
import { isWireStream } from '../bridge/wire-codec.ts';
import { type IncomingBody, receiveBody } from './body-ports.ts';
import type { Settee, SetteeStatus, StartOptions } from './contract.ts';
import { DirectResponse } from './direct-response.ts';
import { nextOf, type Outgoing, toOutgoing } from './outgoing-request.ts';
import { ServiceWorkerSeat } from './service-worker-seat.ts';
import { WorkerSeat } from './worker-seat.ts';

/** Where the site's root is, if the Vite plugin says so. */
declare const __SETTEE_ROOT__: string | undefined;

/** As `fetch`, which follows no more (Fetch, 4.4). */
const MOST_REDIRECTS = 20;

export class PageClient implements Settee {
  readonly base: string;
  readonly #worker: WorkerSeat;
  readonly #serviceWorker: ServiceWorkerSeat | undefined;
  readonly #onClose: () => void;
  /** Bodies that come from the worker and are not read to their end. */
  readonly #bodies = new Set<IncomingBody>();

  /** The base is absolute, with a slash at its end. */
  constructor(options: StartOptions, onClose: () => void) {
    const { base, settings, logLevel, worker, serviceWorker, onUpdate } = options;
    this.base = base;
    this.#onClose = onClose;
    const workerOptions = { base, protocol: PROTOCOL, settings, logLevel };
    this.#worker = new WorkerSeat(addressOf(worker, 'settee-worker.js'), workerOptions, () => this.#loseBodies());
    if (serviceWorker !== false && navigator.serviceWorker) {
      const url = addressOf(serviceWorker, `settee-sw.js?base=${encodeURIComponent(base)}`);
      this.#serviceWorker = new ServiceWorkerSeat(url, base, onUpdate);
    }
  }

  /** Resolves when a core answers and, where there can be one, a service worker controls the page. */
  async open(persist: boolean | undefined): Promise<this> {
    try {
      await Promise.all([this.#worker.occupy(), this.#serviceWorker?.open()]);
    } catch (error) {
      await this.close();
      throw error;
    }
    if (persist) await this.persist();
    return this;
  }

  readonly fetch = (input: Request | URL | string, init?: RequestInit): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input, document.baseURI);
    url.hash = '';
    return url.href.startsWith(this.base) ? this.#exchange(url.href, input, init) : fetch(input, init);
  };

  async status(): Promise<SetteeStatus> {
    const { storage } = navigator;
    const [status, persisted, estimate] = await Promise.all([
      this.#worker.status(),
      storage?.persisted(),
      storage?.estimate(),
    ]);
    return {
      ...status,
      controlled: Boolean(this.#serviceWorker?.isInControl),
      updateWaiting: Boolean(this.#serviceWorker?.isUpdateWaiting),
      persisted,
      quota: estimate?.quota,
      usage: estimate?.usage,
    };
  }

  async persist(): Promise<boolean> {
    return Boolean(await navigator.storage?.persist());
  }

  async update(): Promise<boolean> {
    return Boolean(await this.#serviceWorker?.update());
  }

  async close(): Promise<void> {
    this.#onClose();
    await this.#worker.close();
  }

  async #exchange(address: string, input: Request | URL | string, init?: RequestInit): Promise<Response> {
    let request: Outgoing = await toOutgoing(address, input, init);
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      const answer = await this.#worker.handle(request);
      const next = nextOf(request, answer);
      if (!next) return this.#respond(request, answer, redirects > 0);
      if (!next.url.startsWith(this.base)) return fetch(next.url, { method: next.method });
      request = next;
    }
    throw new TypeError(`${address} leads on without end`);
  }

  #respond({ method, url, signal }: Outgoing, { status, headers, body }: WireResponse, redirected: boolean): Response {
    return new DirectResponse(method, url, status, headers, this.#toBody(body, signal), redirected);
  }

  #toBody(body: WireResponseBody, signal: AbortSignal | null | undefined): BodyInit | null {
    if (body instanceof Uint8Array) return new Uint8Array(body);
    if (!isWireStream(body)) return body;
    const { stream, length } = body;
    if (typeof stream === 'string') throw new TypeError(stream);
    const abort = () => incoming.fail(signal?.reason);
    const incoming = receiveBody(stream, length, () => {
      this.#bodies.delete(incoming);
      signal?.removeEventListener('abort', abort);
    });
    this.#bodies.add(incoming);
    signal?.addEventListener('abort', abort);
    return incoming.readable;
  }

  #loseBodies(): void {
    for (const body of this.#bodies) body.fail(new TypeError('The page was left; the rest of the body is lost'));
  }
}

function addressOf(given: string | URL | undefined, file: string): URL {
  const root = typeof __SETTEE_ROOT__ === 'string' ? __SETTEE_ROOT__ : '/';
  return new URL(given ?? root + file, document.baseURI);
}
