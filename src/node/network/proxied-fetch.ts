/** `fetch` through a proxy, for replications (docs/http/replication.md#options-of-replications). */
import type { Dispatcher } from 'undici';

/** Loaded with the first request: few servers ever use a proxy, and Bun has a module of that name that lacks what is needed here. */
const loadUndici = () => import('undici');
type Undici = Awaited<ReturnType<typeof loadUndici>>;

/** Proxies whose connections are kept. More of them are rare, and then cost a connection for each request. */
const MAX_AGENTS = 16;

/** Whether this runtime can use proxies. Bun brings an `undici` of its own, which would connect without the proxy. */
const canUseProxies = process.versions['bun'] === undefined;

export class ProxiedFetches {
  readonly #agents = new Map<string, Dispatcher>();

  /**
   * Returns a `fetch` through a proxy: an address with `http:` or `socks5:`, optionally with name and password. Undefined if this runtime
   * can't use proxies.
   */
  readonly through = canUseProxies ? (proxy: string) => this.#fetchThrough(proxy) : undefined;

  #fetchThrough(proxy: string): typeof globalThis.fetch {
    return async (input, init) => {
      const undici = await loadUndici();
      // The agent is looked up for each request: it may have been replaced meanwhile.
      return Reflect.apply(undici.fetch, undefined, [input, { ...init, dispatcher: this.#agent(undici, proxy) }]);
    };
  }

  async close(): Promise<void> {
    const agents = [...this.#agents.values()];
    this.#agents.clear();
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  #agent(undici: Undici, proxy: string): Dispatcher {
    const agent = this.#agents.get(proxy) ?? createAgent(undici, proxy);
    this.#agents.delete(proxy);
    this.#agents.set(proxy, agent);
    for (const [oldest, unused] of this.#agents) {
      if (this.#agents.size <= MAX_AGENTS) break;
      this.#agents.delete(oldest);
      // Ends when its requests have ended.
      void unused.close();
    }
    return agent;
  }
}

function createAgent({ ProxyAgent, Socks5ProxyAgent }: Undici, proxy: string): Dispatcher {
  if (new URL(proxy).protocol === 'socks5:') return new Socks5ProxyAgent(proxy);
  // Many proxies open tunnels only for TLS.
  return new ProxyAgent({ uri: proxy, proxyTunnel: false });
}
