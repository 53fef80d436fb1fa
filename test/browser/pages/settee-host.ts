import { type Settee, start } from 'settee';
import { FetchHost } from '../../support/conformance/fetch-host.ts';
import type {
  Capabilities,
  Host,
  HostAnswer,
  HostRequest,
  OpenAnswer,
  Settings,
} from '../../support/conformance/host.ts';

/** What hosts in a page can't do and why, beyond what `FetchHost` says of any page. */
const clock = 'the worker takes the time from the browser';

/** So many services with settings of their own a run of the suite may make; a service worker is told all its bases when it is registered. */
const MAX_VARIANTS = 240;

/** The service worker, asked by the page's own `fetch`. It answers below several bases, so that there can be services with other settings. */
export class NetworkHost extends FetchHost {
  readonly #variants: VariantBases;

  private constructor(settee: Settee, variants: VariantBases) {
    super({
      name: `fetch below ${settee.base}`,
      baseUrl: settee.base.replace(/\/$/, ''),
      fetch: (request) => fetch(request),
      capabilities: {
        restart:
          'a page without its worker is answered by the service worker, which is not the same service started again',
        settings: true,
        clock,
      },
      close: () => settee.close(),
    });
    this.#variants = variants;
  }

  static async start(base: string): Promise<NetworkHost> {
    const variants = new VariantBases(base);
    return new NetworkHost(await start({ base, serviceWorker: variants.serviceWorker }), variants);
  }

  async withSettings(settings: Settings): Promise<NetworkHost> {
    const variants = this.#variants;
    const settee = await start({ base: variants.next(), settings, serviceWorker: variants.serviceWorker });
    return new NetworkHost(settee, variants);
  }
}

/** Bases of one service worker, each of which is used once: a service that ends leaves its storage behind, and the session's cookies. */
class VariantBases {
  readonly serviceWorker: string;
  readonly #bases = Array.from({ length: MAX_VARIANTS }, (_, number) => `/v${number}/`);

  constructor(base: string) {
    this.serviceWorker = `/settee-sw.js?${[base, ...this.#bases].map((each) => `base=${each}`).join('&')}`;
  }

  next(): string {
    const base = this.#bases.pop();
    if (base === undefined) throw new Error('more services than bases: raise MAX_VARIANTS');
    return base;
  }
}

/** The page's worker, asked by `settee.fetch`, with no service worker anywhere. */
export class DirectHost implements Host {
  readonly name: string;
  readonly baseUrl: string;
  readonly capabilities: Capabilities;
  readonly #base: string;
  readonly #settings: Settings;
  readonly #requests: FetchHost;
  #settee: Settee;
  #variants = 0;

  private constructor(settee: Settee, base: string, settings: Settings) {
    this.#settee = settee;
    this.#base = base;
    this.#settings = settings;
    this.name = `settee.fetch below ${base}`;
    this.baseUrl = settee.base.replace(/\/$/, '');
    this.#requests = new FetchHost({
      name: this.name,
      baseUrl: this.baseUrl,
      fetch: (request) => this.#settee.fetch(request),
      capabilities: { restart: true, settings: true, clock },
      close: () => this.#settee.close(),
    });
    this.capabilities = this.#requests.capabilities;
  }

  static async start(base: string, settings: Settings = {}): Promise<DirectHost> {
    return new DirectHost(await startDirect(base, settings), base, settings);
  }

  send(request: HostRequest): Promise<HostAnswer> {
    return this.#requests.send(request);
  }

  open(request: HostRequest): Promise<OpenAnswer> {
    return this.#requests.open(request);
  }

  async restart(): Promise<void> {
    await this.#settee.close();
    this.#settee = await startDirect(this.#base, this.#settings);
  }

  withSettings(settings: Settings): Promise<DirectHost> {
    this.#variants += 1;
    return DirectHost.start(`${this.#base}variant-${this.#variants}/`, settings);
  }

  close(): Promise<void> {
    return this.#requests.close();
  }
}

function startDirect(base: string, settings: Settings): Promise<Settee> {
  return start({ base, settings, serviceWorker: false });
}
