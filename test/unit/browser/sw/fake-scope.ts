import { PROTOCOL } from '../../../../src/browser/bridge/wire.ts';
import type { CoreScript, PageScript } from '../../../../src/browser/sw/contract.ts';
import type { HostScope } from '../../../../src/browser/sw/service-worker-host.ts';
import type { Origin } from '../worker/origin.ts';

/** `self` of a service worker at the root of an origin. */
export class FakeScope extends EventTarget {
  readonly location = new URL('https://app.example/settee-sw.js?v=1');
  readonly navigator: { readonly locks: LockManager; readonly userAgent: string };
  readonly imported: string[] = [];
  readonly done: string[] = [];
  readonly clients = { claim: async () => void this.done.push('claimed') };
  setteeCore: CoreScript | undefined;
  setteeUtils: PageScript | undefined;
  /** What the script of the administration page leaves, if it is there. */
  page: PageScript | undefined;
  readonly #core: CoreScript;

  constructor(origin: Origin, protocol = PROTOCOL) {
    super();
    this.navigator = { locks: origin.locks.client(), userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0.0.0' };
    this.#core = { protocol, createOwner: () => origin.createServiceWorker() };
  }

  importScripts(url: string): void {
    this.imported.push(url);
    if (!url.includes('settee-sw-utils.js')) this.setteeCore = this.#core;
    else if (this.page) this.setteeUtils = this.page;
    else throw new DOMException('failed to load', 'NetworkError');
  }

  async skipWaiting(): Promise<void> {
    this.done.push('skipped');
  }

  get asScope(): HostScope {
    return this as unknown as HostScope;
  }

  /** What a page passes on. */
  pass(data: unknown, port: MessagePort): void {
    this.dispatchEvent(Object.assign(new Event('message'), { data, ports: [port], waitUntil: () => {} }));
  }

  /** What a page says, and what comes back on its port. */
  say(data: unknown): Promise<unknown> {
    const { port1, port2 } = new MessageChannel();
    const reply = new Promise((resolve) => {
      port1.onmessage = ({ data: answer }) => {
        port1.close();
        resolve(answer);
      };
    });
    const waits: Promise<unknown>[] = [];
    const waitUntil = (promise: Promise<unknown>) => waits.push(promise);
    this.dispatchEvent(Object.assign(new Event('message'), { data, ports: [port2], waitUntil }));
    return Promise.race([reply, Promise.all(waits).then(() => new Promise((resolve) => setImmediate(resolve)))]);
  }
}

/** A fetch event, and what becomes of it. */
export class FakeFetch {
  readonly request: Request;
  readonly resultingClientId = 'opening';
  /** All that keeps the service worker alive for this event. */
  readonly waits: Promise<unknown>[] = [];
  response: Promise<Response> | undefined;

  constructor(request: Request) {
    this.request = request;
  }

  respondWith(response: Response | Promise<Response>): void {
    this.response = Promise.resolve(response);
  }

  waitUntil(promise: Promise<unknown>): void {
    this.waits.push(promise);
  }

  get asEvent(): FetchEvent {
    return this as unknown as FetchEvent;
  }
}
