/** The service as a page sees it: its worker, its service worker, and `fetch` straight to the worker. */
import { PROTOCOL, type WireResponse, type WireStream } from '../bridge/wire/wire.ts';
import { isWireStream } from '../bridge/wire/wire-codec.ts';
import { type IncomingBody, receiveBody } from './body-ports.ts';
import type { Settee, SetteeStatus, StartOptions } from './contract.ts';
import { DirectResponse } from './direct-response.ts';
import { nextOf, type Outgoing, toAddress, toOutgoing } from './outgoing-request.ts';
import { ServiceWorkerSeat } from './service-worker-supervisor.ts';
import { WorkerSeat } from './worker-supervisor.ts';

/** Where the site's root is, if the Vite plugin says so. */
declare const __SETTEE_ROOT__: string | undefined;

/** As `fetch`, which follows no more (Fetch, 4.4). */
const MOST_REDIRECTS = 20;

export class PageClient extends EventTarget implements Settee {
  readonly base: string;
  /** Resolves when a core answers and, where there can be one, a service worker controls the page. */
  readonly opened: Promise<this>;
  readonly #origin: string;
  readonly #worker: WorkerSeat;
  readonly #serviceWorker: ServiceWorkerSeat | undefined;
  readonly #onClose: () => void;
  /** Bodies that come from the worker and are not read to their end. */
  readonly #bodies = new Set<IncomingBody>();

  /** The base is absolute, with a slash at its end. */
  constructor(options: StartOptions, onClose: () => void) {
    super();
    const { base, settings, logLevel, worker, serviceWorker, persist } = options;
    this.base = base;
    this.#origin = new URL(base).origin;
    this.#onClose = onClose;
    const workerOptions = { base, protocol: PROTOCOL, settings, logLevel };
    this.#worker = new WorkerSeat(addressOf(worker, 'settee-worker.js'), workerOptions, () => this.#loseBodies());
    if (serviceWorker !== false && navigator.serviceWorker) {
      const url = addressOf(serviceWorker, `settee-sw.js?base=${encodeURIComponent(base)}`);
      this.#serviceWorker = new ServiceWorkerSeat(url, base, () => this.#tellOfUpdate());
    }
    this.opened = this.#open(persist);
  }

  async #open(persist: boolean | undefined): Promise<this> {
    try {
      const controlled = this.#serviceWorker?.open();
      // What is wrong for both, as a base that can't be one, the worker alone can tell the reason of.
      controlled?.catch(() => {});
      await this.#worker.occupy();
      await controlled;
    } catch (error) {
      await this.close();
      throw error;
    }
    if (persist) await this.persist();
    return this;
  }

  readonly fetch = (input: Request | URL | string, init?: RequestInit): Promise<Response> =>
    this.#exchange(input, init);

  async status(): Promise<SetteeStatus> {
    const { storage } = navigator;
    const status = await this.#worker.status();
    const { quota, usage } = (await storage?.estimate()) ?? {};
    return {
      ...status,
      controlled: Boolean(this.#serviceWorker?.isInControl),
      updateWaiting: Boolean(this.#serviceWorker?.isUpdateWaiting),
      persisted: await storage?.persisted(),
      quota,
      usage,
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

  /** Those who wait for `opened` have had a turn by then, and listen. */
  #tellOfUpdate(): void {
    const tell = () => this.dispatchEvent(new Event('update'));
    void this.opened.then(
      () => setTimeout(tell),
      () => {},
    );
  }

  async #exchange(input: Request | URL | string, init?: RequestInit): Promise<Response> {
    const address = toAddress(input, this.#origin);
    if (!address.startsWith(this.base)) return fetch(input, init);
    const outgoing = toOutgoing(address, input, init);
    let request = outgoing instanceof Promise ? await outgoing : outgoing;
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      const answer = await this.#worker.handle(request);
      const next = nextOf(request, answer);
      if (!next) return this.#respond(request, answer, redirects > 0);
      if (!next.url.startsWith(this.base)) return fetch(next.url, { method: next.method });
      request = next;
    }
    throw new TypeError(`${address} leads on without end`);
  }

  /** HEAD, like the statuses that never have one (Fetch, 2.2.3), gets no body. */
  #respond({ method, url, signal }: Outgoing, { status, headers, body }: WireResponse, redirected: boolean): Response {
    // Pairs are what the browser takes in the least time.
    const init = { status, headers: Object.entries(headers) };
    if (method === 'HEAD' || body === null || [204, 205, 304].includes(status)) {
      return new DirectResponse(url, init, null, undefined, redirected);
    }
    if (typeof body === 'string') return new DirectResponse(url, init, body, body, redirected);
    if (!isWireStream(body)) return new DirectResponse(url, init, new Uint8Array(body), undefined, redirected);
    const incoming = this.#receive(body, signal);
    return new DirectResponse(url, init, incoming.readable, incoming, redirected);
  }

  #receive({ stream, length }: WireStream, signal: AbortSignal | null | undefined): IncomingBody {
    if (typeof stream === 'string') throw new TypeError(stream);
    const abort = () => incoming.fail(signal?.reason);
    const incoming = receiveBody(stream, length, () => {
      this.#bodies.delete(incoming);
      signal?.removeEventListener('abort', abort);
    });
    this.#bodies.add(incoming);
    signal?.addEventListener('abort', abort);
    return incoming;
  }

  #loseBodies(): void {
    for (const body of this.#bodies) body.fail(new TypeError('The page was left; the rest of the body is lost'));
  }
}

function addressOf(given: string | URL | undefined, file: string): URL {
  const root = typeof __SETTEE_ROOT__ === 'string' ? __SETTEE_ROOT__ : '/';
  return new URL(given ?? root + file, document.baseURI);
}
