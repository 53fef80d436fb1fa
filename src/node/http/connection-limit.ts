import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Refusal } from './refusals.ts';

/** Connections beyond the limit that may stay open until they get their response. Any more end without one. */
const waitingForRefusal = 64;

/** How long such a connection may take to send its request. */
const refusalMs = 2_000;

export const TOO_MANY_CONNECTIONS: Refusal = {
  status: 503,
  error: 'service_unavailable',
  reason:
    'The server has as many connections as httpd/max_connections, or the limit of open files, permits. Nothing was done; try again when another one has ended.',
  headers: { 'Retry-After': '5' },
};

/** Fewer if few connections are permitted: each has a descriptor. */
function refusable(highest: number): number {
  return Math.min(waitingForRefusal, Math.max(8, Math.ceil(highest / 4)));
}

/**
 * Limits the number of a server's connections. One more is accepted, so that it can learn why it is refused: by 503 to its request. It does
 * not count.
 */
export class ConnectionLimit {
  readonly #server: Server;
  readonly #highest: () => number;
  readonly #counted = new Set<Socket>();

  /** `highest` is called at each connection; 0 means no limit. */
  constructor(server: Server, highest: () => number) {
    this.#server = server;
    this.#highest = highest;
    this.#limit();
  }

  /** To be called for each new connection. */
  add(socket: Socket): void {
    if (this.#counted.size < this.#limit()) {
      this.#counted.add(socket);
      socket.once('close', () => this.#counted.delete(socket));
    } else {
      const timer = setTimeout(() => socket.destroy(), refusalMs);
      socket.once('close', () => clearTimeout(timer));
    }
  }

  /** The current limit. The server itself learns of a change with the next connection. */
  #limit(): number {
    const highest = this.#highest() || Number.POSITIVE_INFINITY;
    this.#server.maxConnections = highest + refusable(highest);
    return highest;
  }

  /** Whether requests of this connection must be refused. */
  isBeyond(socket: Socket): boolean {
    return !this.#counted.has(socket);
  }
}
