import type { Capabilities, Host, HostAnswer, HostRequest, OpenAnswer } from './host.ts';

/**
 * A service that is accessed through `fetch`, with no more than any page has: the network's own function in a page, or the
 * core's adapter in this process.
 */
export class FetchHost implements Host {
  readonly name: string;
  readonly baseUrl: string;
  readonly capabilities: Capabilities;
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #end: () => Promise<void>;

  constructor(options: FetchHostOptions) {
    this.name = options.name;
    this.baseUrl = options.baseUrl;
    this.capabilities = { ...ofAnyPage, ...options.capabilities };
    this.#fetch = options.fetch;
    this.#end = options.close;
  }

  async send(request: HostRequest): Promise<HostAnswer> {
    const answer = await this.#ask(request);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    return { status: answer.status, headers: Object.fromEntries(answer.headers), bytes };
  }

  async open(request: HostRequest): Promise<OpenAnswer> {
    const controller = new AbortController();
    const answer = await this.#ask(request, controller.signal);
    const reader = answer.body?.getReader();
    return {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      next: async () => (await reader?.read())?.value,
      // Cancelling the reader alone is not enough: MSW keeps a second one on each response.
      cancel: async () => controller.abort(),
    };
  }

  #ask({ method, path, headers, body }: HostRequest, signal?: AbortSignal): Promise<Response> {
    if (body !== null && typeof body === 'object' && 'announced' in body) throw new Error(ofAnyPage['broken-body']);
    const content = body instanceof Uint8Array ? new Uint8Array(body) : body;
    const options = { method, headers, body: content, ...(signal === undefined ? {} : { signal }) };
    return this.#fetch(new Request(`${this.baseUrl}${path}`, options));
  }

  close(): Promise<void> {
    return this.#end();
  }
}

interface FetchHostOptions {
  readonly name: string;
  readonly baseUrl: string;
  readonly fetch: (request: Request) => Promise<Response>;
  /** What this host can do beyond the capabilities of any page. */
  readonly capabilities?: Partial<Capabilities>;
  readonly close: () => Promise<void>;
}

const ofAnyPage = {
  'any-url': 'fetch normalises URLs',
  'forbidden-headers': 'fetch keeps these headers to itself',
  'wide-headers': 'Chromium drops such headers on their way to a service worker',
  'bare-accept': 'fetch adds an Accept header',
  'manual-redirect': 'fetch hides redirections from who does not follow them',
  'raw-socket': 'a page has no sockets',
  'broken-body': 'a page can not break off a body of known length',
  restart: 'the service is not at hand',
  gateway: 'pages of other origins do not reach a service worker',
  settings: 'the service is not at hand',
  clock: 'the service is not at hand',
  network: 'where a service worker answers, the address below which it does so leads to no server',
  'restart-request': true,
  'function-threads': true,
  'one-process': true,
  'query-method': true,
} as const satisfies Capabilities;
