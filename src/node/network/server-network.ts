/** The server's view of the network: for replications of admins and of others, and to recognize its own connections. */
import type { Socket } from 'node:net';
import { GuardedNetwork } from './guarded-network.ts';
import { OwnAddresses, type OwnAddressesOptions } from './own-addresses.ts';
import { OwnConnections } from './own-connections.ts';
import { ProxiedFetches } from './proxied-fetch.ts';

export interface ServerNetworkOptions extends OwnAddressesOptions {
  /** The setting `replicator/allowed_hosts`. Called at each request. */
  readonly allowedHosts: () => string;
}

export class ServerNetwork {
  readonly #proxies = new ProxiedFetches();
  readonly #connections = new OwnConnections();
  readonly #guard: GuardedNetwork;

  constructor({ allowedHosts, ...own }: ServerNetworkOptions) {
    this.#guard = new GuardedNetwork({ allowedHosts, proxies: this.#proxies, own: new OwnAddresses(own) });
  }

  get forReplications() {
    const fetchDirectly: typeof globalThis.fetch = (...request) => fetch(...request);
    return { fetch: fetchDirectly, fetchThrough: this.#proxies.through, guard: this.#guard };
  }

  /** Whether an accepted connection comes from this process. */
  readonly isOwn = (socket: Socket): boolean => this.#connections.has(socket);

  async close(): Promise<void> {
    this.#connections.close();
    await Promise.all([this.#guard.close(), this.#proxies.close()]);
  }
}
