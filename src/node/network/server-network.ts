/** The server's view of the network: for replications of admins and of others, and to recognize its own connections. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { peerOf } from '../tracing/sender.ts';
import { GuardedNetwork } from './guarded-network.ts';
import { OwnAddresses, type OwnAddressesOptions } from './own-addresses.ts';
import { ProxiedFetches } from './proxied-fetch.ts';

/**
 * Which connections come from this very process: those of replications to other servers that led back here. No client can pretend to be
 * such a connection, or not to be one: both ends of it are checked, and nothing that is sent.
 */
/** Published by the `fetch` of Node, and of the package that it comes from, before anything is sent. Other runtimes publish nothing. */
const CONNECTED = 'undici:client:connected';

export class OwnConnections {
  /** Address and port of this process's ends. */
  readonly #open = new Set<string>();
  readonly #note = (message: unknown) => {
    const socket: unknown =
      typeof message === 'object' && message !== null ? Reflect.get(message, 'socket') : undefined;
    if (!(socket instanceof Socket)) return;
    const end = endOf(socket.localAddress, socket.localPort);
    this.#open.add(end);
    socket.once('close', () => this.#open.delete(end));
  };

  constructor() {
    subscribe(CONNECTED, this.#note);
  }

  /** Whether the other end of an accepted connection belongs to this process. */
  has({ remoteAddress, remotePort }: Socket): boolean {
    return this.#open.size > 0 && this.#open.has(endOf(remoteAddress, remotePort));
  }

  close(): void {
    unsubscribe(CONNECTED, this.#note);
  }
}

function endOf(address: string | undefined, port: number | undefined): string {
  return `${peerOf({ remoteAddress: address })} ${port}`;
}

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
