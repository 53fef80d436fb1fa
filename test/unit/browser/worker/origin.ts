import 'fake-indexeddb/auto';
import { IDBFactory } from 'fake-indexeddb';
import type { ByteStream, PlainHeaders, RequestBody } from '../../../../src/base/shared/message.ts';
import type { Instance, WorkerOptions } from '../../../../src/browser/bridge/contract.ts';
import { createInstance } from '../../../../src/browser/bridge/instance.ts';
import { PortTransport } from '../../../../src/browser/bridge/stream-transports.ts';
import { type PortOffer, PROTOCOL } from '../../../../src/browser/bridge/wire.ts';
import { responseFromWire } from '../../../../src/browser/bridge/wire-codec.ts';
import { createServiceWorkerFunctions } from '../../../../src/browser/worker/browser-functions.ts';
import { StorageOwner, type StorageOwnerOptions } from '../../../../src/browser/worker/storage-owner.ts';
import { WorkerEndpoint } from '../../../../src/browser/worker/worker-endpoint.ts';
import type { LoadDeferredCode } from '../../../../src/core/deferred/contract.ts';
import { type FakeLockClient, FakeLocks } from '../../../support/fake-locks.ts';
import { requestToWire } from '../bridge/request-to-wire.ts';

const ORIGIN = 'https://app.example';

const functions = createServiceWorkerFunctions();

/** As a service worker has it: in Node there are no nested workers. */
export const deferred: LoadDeferredCode = () => functions;

export interface Answer {
  readonly status: number;
  readonly headers: PlainHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it is the test.
  readonly json: any;
}

/** What the tabs of one origin share in a browser: locks, IndexedDB, channels; with a base of its own for each test. */
export class Origin {
  readonly locks = new FakeLocks();
  readonly indexedDB: IDBFactory = new IDBFactory();
  readonly instance: Instance = createInstance(`/${crypto.randomUUID()}/`, ORIGIN);
  readonly #open: { close(): Promise<void> }[] = [];

  /** A page's worker that has not been opened yet. `isReplaceable`: its page would replace it where the browser closes the storage by force. */
  createTab(load: LoadDeferredCode = deferred, isReplaceable = false): Tab {
    const tab = new Tab(this, load, isReplaceable);
    this.#open.push(tab);
    return tab;
  }

  async openTab(options: Partial<WorkerOptions> = {}): Promise<Tab> {
    const tab = this.createTab();
    await tab.open(options);
    return tab;
  }

  createServiceWorker(options: Partial<StorageOwnerOptions> = {}): StorageOwner {
    const locks = this.locks.client();
    const { instance, indexedDB } = this;
    const owner = new StorageOwner({ instance, kind: 'service-worker', locks, indexedDB, deferred, ...options });
    this.#open.push(owner);
    return owner;
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.map((each) => each.close().catch(() => undefined)));
  }
}

/** A page's worker as its page sees it, without the thread between them. */
export class Tab {
  readonly client: FakeLockClient;
  readonly endpoint: WorkerEndpoint;
  /** What the page passes on to the service worker. */
  readonly offers: { readonly offer: PortOffer; readonly port: MessagePort }[] = [];
  /** How often the page was told that it is outdated. */
  outdated = 0;
  /** How often it was told that the site's data were cleared. */
  cleared = 0;
  readonly #origin: Origin;
  #isKilled = false;

  constructor(origin: Origin, load: LoadDeferredCode, isReplaceable: boolean) {
    this.#origin = origin;
    this.client = origin.locks.client();
    const { indexedDB } = origin;
    const offerPort = (offer: PortOffer, port: MessagePort) => this.offers.push({ offer, port });
    this.endpoint = new WorkerEndpoint({
      address: `${ORIGIN}/settee-worker.js`,
      locks: this.client,
      indexedDB,
      deferred: load,
      pingMs: 20,
      offerPort,
      tellOutdated: () => {
        this.outdated++;
      },
      ...(isReplaceable && {
        tellCleared: () => {
          this.cleared++;
        },
      }),
    });
  }

  open(options: Partial<WorkerOptions> = {}): Promise<void> {
    return this.endpoint.open({ base: this.#origin.instance.base, protocol: PROTOCOL, ...options });
  }

  /** `path` is below the base. */
  async ask(method: string, path = '', body: unknown = null, call?: number): Promise<Answer> {
    const headers = body === null ? {} : { 'content-type': 'application/json' };
    return this.send(method, path, headers, body === null ? null : JSON.stringify(body), call);
  }

  async send(method: string, path: string, headers: PlainHeaders, body: RequestBody, call?: number): Promise<Answer> {
    const url = this.#origin.instance.base + path;
    const wire = await requestToWire({ method, url, headers, body }, new PortTransport());
    const response = responseFromWire(await this.endpoint.handle(wire, call), new PortTransport());
    const text = await toText(response.body);
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: text === '' ? undefined : JSON.parse(text),
    };
  }

  async role(): Promise<string> {
    return (await this.endpoint.status()).role;
  }

  /**
   * Its locks are free, and it is told nothing of it. What it runs goes on, as that of a frozen worker does when it wakes up, so that tests
   * see what becomes of it.
   */
  kill(): void {
    this.#isKilled = true;
    this.client.kill();
  }

  async close(): Promise<void> {
    for (const { port } of this.offers) port.close();
    if (!this.#isKilled) await this.endpoint.close();
  }
}

export async function toText(body: null | string | Uint8Array | ByteStream): Promise<string> {
  if (body === null) return '';
  if (typeof body === 'string') return body;
  const decoder = new TextDecoder();
  if (body instanceof Uint8Array) return decoder.decode(body);
  let text = '';
  for (let chunk = await body.pull(); chunk !== undefined; chunk = await body.pull()) {
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}
