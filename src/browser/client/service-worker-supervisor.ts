/** This page's part of the service worker: registers it, has it take control, and lets new versions take over. */
import { messageSW, Workbox } from 'workbox-window';
import { pause } from '../../base/shared/clock.ts';
import { scriptAddress } from '../bridge/script-address.ts';
import { type ControlAnswer, type ControlMessage, PROTOCOL } from '../bridge/wire.ts';
import { withinDeadline } from './deadline.ts';
import type { PageFetch } from './replaced-fetch.ts';
import { startScript } from './scripts.ts';

/** Pauses between the requests of which one must reach the service worker. */
const WAITS_MS = [0, 100, 400, 1_500];

interface SupervisorOptions {
  readonly url: URL;
  readonly base: string;
  /** The browser's `fetch`, whatever replaces it in the page. */
  readonly network: PageFetch;
  /** Called for each new version that waits. */
  readonly onUpdate: () => void;
  /** Called when the service worker is newer than this page. */
  readonly onOutdated: () => void;
}

export class ServiceWorkerSupervisor {
  readonly #url: URL;
  readonly #base: string;
  readonly #network: PageFetch;
  readonly #onUpdate: () => void;
  readonly #onOutdated: () => void;
  #registration: ServiceWorkerRegistration | undefined;
  #hasOpened = false;

  constructor({ url, base, network, onUpdate, onOutdated }: SupervisorOptions) {
    this.#url = url;
    this.#base = base;
    this.#network = network;
    this.#onUpdate = onUpdate;
    this.#onOutdated = onOutdated;
  }

  get isInControl(): boolean {
    return Boolean(this.#registration && navigator.serviceWorker.controller);
  }

  /** The service worker that answers below the base; undefined until `open` has resolved. */
  get answering(): ServiceWorker | undefined {
    if (!this.#hasOpened) return undefined;
    return navigator.serviceWorker.controller ?? this.#registration?.active ?? undefined;
  }

  get isUpdateWaiting(): boolean {
    return Boolean(this.#registration?.waiting);
  }

  /** Resolves when the service worker controls this page and answers below the base. */
  async open(): Promise<void> {
    const registered = await startScript('service worker', this.#url, () => this.#register());
    if (!registered) return;
    const { scope } = registered;
    if (!location.href.startsWith(scope))
      throw this.#fault(`controls only pages below ${scope}; move it to a folder above this page`);
    const registration = (await this.#takeNarrower(scope)) ?? registered;
    this.#registration = registration;
    const { active, waiting, installing } = registration;
    const worker = [active, waiting, installing].find((one) => one?.scriptURL === this.#url.href) ?? active;
    if (!worker || !(await this.#activate(worker))) {
      throw this.#fault('was not installed; settee-sw-core.js must be in the same folder');
    }
    const answer = await this.#send(worker, 'SETTEE_CLAIM');
    if (!answer) throw this.#fault(`does not answer below ${this.#base}; pass the same base to it and to start()`);
    // A newer one answers plain fetch anyway.
    if (answer.protocol > PROTOCOL) this.#onOutdated();
    else if (answer.protocol < PROTOCOL && !(await this.update()))
      throw this.#fault('has another version; reload the page');
    const isInControl = () => navigator.serviceWorker.controller?.scriptURL === worker.scriptURL;
    await withinDeadline(until(isInControl, navigator.serviceWorker, 'controllerchange'));
    if (!isInControl()) {
      throw this.#fault(
        `does not control this page, but ${navigator.serviceWorker.controller?.scriptURL} does; unregister that one`,
      );
    }
    if (registration !== registered) await registration.unregister();
    // A policy may forbid another origin. And in Chromium a page keeps the static routes of the service worker that controlled it when it was
    // loaded: the routes of Settee's own let such requests pass, those of another may not.
    const found = await this.#askByFetch();
    if (found !== 204) {
      throw this.#fault(
        `does not get requests of fetch (${found}); reload the page, or allow ${this.#base} in the CSP's connect-src`,
      );
    }
    this.#hasOpened = true;
  }

  /**
   * The status with which the base answers this page's `fetch`, or the failure's text. Retries for some two seconds: if the process of
   * a service worker has died with another tab, requests go to the network until the browser has noticed and restarted it.
   */
  async #askByFetch(): Promise<number | string> {
    const ask = () => this.#network(`${this.#base}_settee/alive`).then(({ status }) => status, String);
    let found = await ask();
    for (const waitMs of WAITS_MS) {
      if (found === 204) break;
      await pause(waitMs);
      found = await ask();
    }
    return found;
  }

  /**
   * Takes over a narrower scope that contains this page, from a ready-made service worker of an earlier release of the app: of two service
   * workers that could control a page, browsers take the one with the narrower scope. The registration for that scope ends with its last page.
   * An app's own service worker stays, since it may do more than this.
   */
  async #takeNarrower(scope: string): Promise<ServiceWorkerRegistration | undefined> {
    const { controller } = navigator.serviceWorker;
    if (!controller || controller.scriptURL === this.#url.href) return undefined;
    const narrower = await navigator.serviceWorker.getRegistration();
    const script = narrower?.active && new URL(narrower.active.scriptURL).pathname;
    const isNarrower = narrower && narrower.scope !== scope && narrower.scope.startsWith(scope);
    if (!isNarrower || !script?.endsWith('/settee-sw.js')) return undefined;
    return navigator.serviceWorker.register(scriptAddress(this.#url), { scope: narrower.scope });
  }

  /**
   * To be called when the browser clears the site's data, including the service worker: it goes within a moment, before or after. Resolves when
   * one controls the page again. Rejects like `open`.
   */
  async restore(): Promise<void> {
    if (!this.#hasOpened) return;
    for (const waitMs of WAITS_MS) {
      await pause(waitMs);
      if (!navigator.serviceWorker.controller || !(await navigator.serviceWorker.getRegistration())) await this.open();
    }
  }

  /** Works as `Settee.update`. */
  async update(): Promise<boolean> {
    const registration = this.#registration;
    if (!registration?.waiting) await registration?.update();
    const worker = registration?.installing ?? registration?.waiting;
    return Boolean(worker && (await this.#activate(worker)));
  }

  async #register(): Promise<ServiceWorkerRegistration | undefined> {
    const { href } = this.#url;
    const workbox = new Workbox(scriptAddress(this.#url));
    workbox.addEventListener('waiting', this.#onUpdate);
    const registering = workbox.register({ immediate: true });
    // Registering waits for an update that the browser makes on its own, which takes seconds.
    const isKnown = navigator.serviceWorker.controller?.scriptURL === href;
    return Promise.race([registering, isKnown ? navigator.serviceWorker.ready : registering]);
  }

  /** Lets the worker take over from the one before it, if there is one. Returns false if it can't, or not yet. */
  async #activate(worker: ServiceWorker): Promise<boolean> {
    const active = this.#registration?.active;
    if (!active || active === worker) await reach(worker, 'activated');
    else {
      await reach(worker, 'installed');
      // It could not be installed: what is open through the old one goes on.
      if (worker.state === 'redundant') return false;
      await this.#send(active, 'SETTEE_DRAIN');
      worker.postMessage({ type: 'SKIP_WAITING' });
      // A page that stopped reading a body of the old one holds it up in Chromium, even though that body has failed.
      await withinDeadline(reach(worker, 'activated'));
    }
    return worker.state === 'activated';
  }

  /** Undefined when no response comes: from a service worker that does not serve this base. */
  #send(worker: ServiceWorker, type: ControlMessage['type']): Promise<ControlAnswer | undefined> {
    const message: ControlMessage = { type, base: this.#base };
    return withinDeadline(messageSW(worker, message));
  }

  #fault(what: string): Error {
    return new Error(`The service worker ${this.#url} ${what}`);
  }
}

/** Resolves when the worker is in this state, or in one from which it can't reach it. */
function reach(worker: ServiceWorker, wanted: ServiceWorkerState): Promise<void> {
  return until(() => [wanted, 'activated', 'redundant'].includes(worker.state), worker, 'statechange');
}

async function until(isTrue: () => boolean, target: EventTarget, type: string): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));
}
