/**
 * The service of a base in a page: its worker, its service worker, and `fetch` straight to the worker. All calls of `start` for that base share
 * it (`page-user.ts`); it ends with the last of them.
 */

import { VERSION } from '../../base/system/version.ts';
import { isReadOnlyRequest } from '../../http/request/read-only-requests.ts';
import { OTHER_PROTOCOL, PROTOCOL, type WireResponse, type WireStream } from '../bridge/wire.ts';
import { isWireStream } from '../bridge/wire-codec.ts';
import { type IncomingBody, receiveBody } from './body-ports.ts';
import type { SetteeStatus, StartOptions } from './contract.ts';
import { DirectResponse, type TextSource } from './direct-response.ts';
import { serveDownloads } from './downloads.ts';
import { KeepaliveRequests } from './keepalive-requests.ts';
import { nextOf, type Outgoing, toAddress, toOutgoing } from './outgoing-request.ts';
import { QuietWatch } from './quiet-watch.ts';
import { type PageFetch, type ReplacedFetch, replaceBeacons, replacePageFetch } from './replaced-fetch.ts';
import { isVersioned, MISSING_SCRIPT, serviceWorkerAddress, workerAddress } from './scripts.ts';
import { ServiceWorkerSupervisor } from './service-worker-supervisor.ts';
import { TokenProviders } from './token-providers.ts';
import { closed, WorkerSupervisor } from './worker-supervisor.ts';

const NOT_WANTED = 'start() was called with serviceWorker: false; use settee.fetch';
const NOT_THERE =
  'Service workers are not available here: this is a private window of Firefox, they are switched off, or the page came neither over HTTPS ' +
  'nor from localhost. Use settee.fetch, or pass replaceFetch: true to start()';

const ANSWERED_ELSEWHERE = { role: 'follower', engine: 'indexeddb', version: VERSION } as const;

/** Like `fetch`, which follows no more (Fetch, 4.4). */
const MAX_REDIRECTS = 20;

export class PageClient extends EventTarget {
  readonly base: string;
  /** Resolves when a core answers. */
  readonly running: Promise<void>;
  readonly controlled: Promise<boolean>;
  readonly #origin: string;
  readonly #options: StartOptions;
  #replaced: ReplacedFetch | undefined;
  #restoreBeacons = (): void => {};
  readonly #keepalive: KeepaliveRequests;
  #uncontrolledBecause: string | undefined;
  readonly #worker: WorkerSupervisor;
  readonly #serviceWorker: ServiceWorkerSupervisor | undefined;
  readonly #onClose: () => void;
  readonly #closed = new AbortController();
  /** Set when a newer version of the app answers, in this browser or from its service worker. */
  #isOutdated = false;
  /** Defined until the service worker is registered. */
  #calls: QuietWatch | undefined = new QuietWatch();
  #hastenControl = (): void => {};
  readonly tokens: TokenProviders;
  /** Bodies that come from the worker and are not read to their end. */
  readonly #bodies = new Set<IncomingBody>();

  /** The base is absolute, with a slash at its end. */
  constructor(options: StartOptions, onClose: () => void) {
    super();
    const { base, settings, logLevel, worker, serviceWorker } = options;
    this.base = base;
    this.#origin = new URL(base).origin;
    this.#options = options;
    this.#onClose = onClose;
    this.tokens = new TokenProviders(base);
    const workerOptions = { base, protocol: PROTOCOL, settings, logLevel };
    this.#worker = new WorkerSupervisor(workerAddress(worker), workerOptions, {
      onLoss: (why) => this.#loseBodies(why),
      onCleared: () => this.#restoreControl(),
      onOutdated: () => this.#noteOutdated(),
    });
    if (serviceWorker !== false && 'serviceWorker' in navigator) {
      this.#serviceWorker = new ServiceWorkerSupervisor({
        url: serviceWorkerAddress(serviceWorker, base),
        base,
        network: this.#network,
        onUpdate: () => this.#announceUpdate(),
        onOutdated: () => this.#noteOutdated(),
      });
      serveDownloads(base, this.#closed.signal);
    } else this.#uncontrolledBecause = serviceWorker === false ? NOT_WANTED : NOT_THERE;
    this.#keepalive = new KeepaliveRequests({
      base,
      isBypassed: navigator.userAgent.includes(' Firefox/'),
      network: this.#network,
      respond: (request, response) => this.#respond(request, response, false),
      serviceWorker: () => this.#serviceWorker?.answering,
      whenControlled: () => this.control(),
      signal: this.#closed.signal,
    });
    // The worker first: what comes after it competes with it.
    this.running = this.#run(isVersioned(worker));
    this.running.catch(() => {});
    this.controlled = this.#control();
    // If both fail, as for an invalid base, the worker's error is the one that says why.
    this.controlled.catch(() => {});
  }

  /** Like `controlled`, for callers that wait for it: the service worker is registered at once. */
  control(): Promise<boolean> {
    this.#hastenControl();
    return this.controlled;
  }

  /** Throws an Error if the options of a later `start` differ from those that the service was started with. */
  mustSuit(options: StartOptions): void {
    const name = differenceBetween(this.#options, options);
    if (name !== undefined) {
      throw new Error(
        `The database below ${this.base} was started in this page with another value of the option ${name}: pass the same value to all ` +
          'calls of start(), or first close() the object that the earlier call returned',
      );
    }
  }

  /** Replaces the page's own `fetch`, and `navigator.sendBeacon` with it. */
  replaceFetch(): void {
    if (this.#replaced) return;
    this.#replaced = replacePageFetch(this.fetch);
    this.#restoreBeacons = replaceBeacons((url, body) => this.#sendBeacon(url, body ?? null));
  }

  restoreFetch(): void {
    this.#replaced?.restore();
    this.#replaced = undefined;
    this.#restoreBeacons();
  }

  async #control(): Promise<boolean> {
    if (!this.#serviceWorker) return false;
    try {
      await this.#timeToRegister();
      this.#calls = undefined;
      await this.#serviceWorker.open();
      return true;
    } catch (error) {
      this.#uncontrolledBecause = String(error);
      throw error;
    }
  }

  /**
   * A service worker that is installed takes processor and disk from the database's start and the first calls (80 ms of 265 in a new Chromium), so
   * that a first visit delays it until these are done, unless a caller waits for it. If one is already in control, nothing is installed.
   */
  async #timeToRegister(): Promise<void> {
    if (navigator.serviceWorker.controller) return;
    const isWanted = new Promise<void>((resolve) => {
      this.#hastenControl = resolve;
    });
    const isQuiet = this.running.then(
      () => this.#calls?.quiet(),
      () => {},
    );
    await Promise.race([isWanted, isQuiet]);
  }

  /** The browser deletes the service worker with the site's data. */
  #restoreControl(): void {
    this.#serviceWorker?.restore().catch((error) => {
      this.#uncontrolledBecause = String(error);
    });
  }

  async #run(isWorkerVersioned: boolean): Promise<void> {
    await this.#worker.whenRunning().catch((error) => this.#doWithoutWorker(error, isWorkerVersioned));
    this.tokens.announcePage();
  }

  /** A page that stayed open while the app's files were replaced asks the service worker, of whichever version. */
  async #doWithoutWorker(error: unknown, isVersioned: boolean): Promise<void> {
    const { name } = Object(error);
    const isReplaced = name === OTHER_PROTOCOL || (name === MISSING_SCRIPT && isVersioned);
    if (!isReplaced || !(await this.control())) throw error;
    this.#noteOutdated();
  }

  /** The page's `fetch` for what is not below the base: including one that has replaced it since. */
  readonly #network: PageFetch = (input, init) => (this.#replaced?.original ?? globalThis.fetch)(input, init);

  async status(): Promise<SetteeStatus> {
    const { storage } = navigator;
    const status = this.#asksServiceWorker ? ANSWERED_ELSEWHERE : await this.#worker.status();
    const { quota, usage } = (await storage?.estimate()) ?? {};
    return {
      ...status,
      controlled: Boolean(this.#serviceWorker?.isInControl),
      uncontrolledBecause: this.#uncontrolledBecause,
      outdated: this.#isOutdated,
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
    this.#hastenControl();
    const replacing = this.#serviceWorker?.update();
    // A reload shows what is already there, even if the network is not available.
    if (this.#isOutdated)
      return Promise.resolve(replacing).then(
        () => true,
        () => true,
      );
    return Boolean(await replacing);
  }

  async close(): Promise<void> {
    this.#onClose();
    this.#closed.abort();
    this.tokens.close();
    this.restoreFetch();
    await this.#worker.close();
  }

  /** Whether there is a new version that `update` has reported. */
  get isUpdateKnown(): boolean {
    return this.#isOutdated || Boolean(this.#serviceWorker?.isUpdateWaiting);
  }

  #announceUpdate(): void {
    this.dispatchEvent(new Event('update'));
  }

  #noteOutdated(): void {
    if (this.#isOutdated) return;
    this.#isOutdated = true;
    this.#announceUpdate();
  }

  /** An outdated page's own worker no longer answers. */
  get #asksServiceWorker(): boolean {
    return Boolean(this.#isOutdated && this.#serviceWorker?.isInControl);
  }

  /** A property, so that it can be detached from the client: `const { fetch } = settee`. */
  readonly fetch = async (input: Request | URL | string, init?: RequestInit): Promise<Response> => {
    const address = toAddress(input, this.#origin);
    if (!address.startsWith(this.base) || this.#asksServiceWorker) return this.#network(input, init);
    if (isKeepaliveWrite(address, input, init, this.base)) return this.#keepalive.fetch(address, input, init);
    const outgoing = toOutgoing(address, input, init);
    let request = outgoing instanceof Promise ? await outgoing : outgoing;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const answer = await this.#handle(request);
      const next = nextOf(request, answer);
      if (!next) return this.#respond(request, answer, redirects > 0);
      if (!next.url.startsWith(this.base)) return this.#network(next.url, { method: next.method });
      request = next;
    }
    throw new TypeError(`${address} redirects more than ${MAX_REDIRECTS} times`);
  };

  #handle(request: Outgoing): Promise<WireResponse> {
    const calls = this.#calls;
    if (calls === undefined) return this.#worker.handle(request);
    calls.begin();
    return this.#worker.handle(request).finally(() => calls.end());
  }

  /** `fetch` for a caller that has closed its use of the service. */
  async fetchElsewhere(input: Request | URL | string, init?: RequestInit): Promise<Response> {
    if (toAddress(input, this.#origin).startsWith(this.base)) throw closed();
    return this.#network(input, init);
  }

  /** Works as `navigator.sendBeacon`; undefined for what is left to it. */
  #sendBeacon(url: string | URL, body: BodyInit | null = null): boolean | undefined {
    const address = toAddress(url, this.#origin);
    if (!address.startsWith(this.base) || this.#asksServiceWorker) return undefined;
    return this.#keepalive.sendBeacon(address, body);
  }

  /** HEAD, like the statuses that never have one (Fetch, 2.2.3), gets no body. */
  #respond({ method, url, signal }: Outgoing, { status, headers, body }: WireResponse, redirected: boolean): Response {
    const response = (shown: BodyInit | null, source?: TextSource) =>
      // Pairs take the browser the least time.
      new DirectResponse(url, { status, headers: Object.entries(headers) }, shown, source, redirected);
    if (method === 'HEAD' || body === null || [204, 205, 304].includes(status)) return response(null);
    if (typeof body === 'string') return response(body, body);
    if (!isWireStream(body)) return response(new Uint8Array(body));
    const incoming = this.#receive(body, signal);
    return response(incoming.readable, incoming);
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

  #loseBodies(why: string): void {
    for (const body of this.#bodies) body.fail(new TypeError(why));
  }
}

/** Whether the request must outlive the page. A request that only reads can't be lost. */
function isKeepaliveWrite(
  url: string,
  input: Request | URL | string,
  init: RequestInit | undefined,
  base: string,
): boolean {
  const request = input instanceof Request ? input : undefined;
  if (!(init?.keepalive ?? request?.keepalive)) return false;
  const method = `${init?.method ?? request?.method ?? 'GET'}`.toUpperCase();
  return !isReadOnlyRequest({ method, url, headers: {} }, base);
}

/** The name of the first option in the later call that differs for the service as a whole; undefined if none does. */
function differenceBetween(first: StartOptions, later: StartOptions): string | undefined {
  const asText = ({ worker, serviceWorker, settings, logLevel, base }: StartOptions) => ({
    worker: workerAddress(worker).href,
    serviceWorker: serviceWorker === false ? 'none' : serviceWorkerAddress(serviceWorker, base).href,
    settings: JSON.stringify(settings ?? {}),
    logLevel: logLevel ?? 'error',
  });
  const [ours, theirs] = [asText(first), asText(later)];
  const names = ['worker', 'serviceWorker', 'settings', 'logLevel'] as const;
  return names.find((name) => later[name] !== undefined && ours[name] !== theirs[name]);
}
