/** How many connections may be open at a time: of clients, and of replications. */
import { readFileSync } from 'node:fs';
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
    'The server has as many connections as httpd/max_connections, or the limit of open files, permits. The request was not processed; try again when another connection has ended.',
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

/** Approximately what a process has open without a client and a database. */
const OWN = 48;
/** Approximately what databases and indexes take at most with the default settings: their data files and journals. */
const OF_STORAGE = 320;

/**
 * How many connections may be open so that files can still be opened: all that the process may have open, minus its own and what storage
 * needs, which is at most half of the rest. Undefined if the system doesn't report it (Linux does), or has no limit.
 */
export function connectionsWithinDescriptors(limit = openFilesLimit()): number | undefined {
  if (limit === undefined) return undefined;
  const rest = Math.max(4, limit - OWN);
  return rest - Math.min(OF_STORAGE, Math.floor(rest / 2));
}

/** How many connections replications may have open together at most, and their share of the files that the process may have open. */
const OF_REPLICATIONS = 512;
const PART_OF_REPLICATIONS = 4;

export function connectionsOfReplications(limit = openFilesLimit()): number {
  return Math.min(OF_REPLICATIONS, Math.floor((limit ?? Number.POSITIVE_INFINITY) / PART_OF_REPLICATIONS));
}

function openFilesLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
