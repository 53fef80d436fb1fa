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

/** The service worker, asked by the page's own `fetch`. */
export async function startNetworkHost(base: string): Promise<Host> {
  const settee = await start({ base });
  return new FetchHost({
    name: `fetch below ${base}`,
    baseUrl: settee.base.replace(/\/$/, ''),
    fetch: (request) => fetch(request),
    capabilities: {
      restart:
        'a page without its worker is answered by the service worker, which is not the same service started again',
      settings: 'there is one service worker script, registered with one base',
      clock,
    },
    close: () => settee.close(),
  });
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
