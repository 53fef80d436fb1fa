/** `fetch` by way of a proxy, for replications (docs/http.md#options-of-replications). */
import { type Dispatcher, ProxyAgent, Socks5ProxyAgent, fetch as undiciFetch } from 'undici';

/** Proxies whose connections are kept. More of them are rare, and cost a connection for each request then. */
const MOST_AGENTS = 16;

export class ProxiedFetches {
  readonly #agents = new Map<string, Dispatcher>();

  /** `proxy`: an address with `http:` or `socks5:`, perhaps with name and password. */
  through(proxy: string): typeof globalThis.fetch {
    // The agent is looked up for each request: it may have been given up for another one meanwhile.
    return (input, init) => Reflect.apply(undiciFetch, undefined, [input, { ...init, dispatcher: this.#agent(proxy) }]);
  }

  async close(): Promise<void> {
    const agents = [...this.#agents.values()];
    this.#agents.clear();
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  #agent(proxy: string): Dispatcher {
    const agent = this.#agents.get(proxy) ?? createAgent(proxy);
    this.#agents.delete(proxy);
    this.#agents.set(proxy, agent);
    for (const [oldest, unused] of this.#agents) {
      if (this.#agents.size <= MOST_AGENTS) break;
      this.#agents.delete(oldest);
      // Ends when its requests have ended.
      void unused.close();
    }
    return agent;
  }
}

function createAgent(proxy: string): Dispatcher {
  if (new URL(proxy).protocol === 'socks5:') return new Socks5ProxyAgent(proxy);
  // Many proxies open tunnels for TLS alone.
  return new ProxyAgent({ uri: proxy, proxyTunnel: false });
}
