/**
 * Which connections come from this very process: those of replications to other servers, where one of them led back here. Nobody can claim to be
 * such a connection, or that it is none: both ends of it are looked at, and nothing that is sent.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';

/** Told by `fetch` of Node, and of the package that it comes from, before anything is sent. Other runtimes tell nothing. */
const CONNECTED = 'undici:client:connected';
const MAPPED_IPV4 = /^::ffff:/;

export class OwnConnections {
  /** Address and port of our ends. */
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

  /** Whether the other end of a connection that was accepted is ours. */
  has({ remoteAddress, remotePort }: Socket): boolean {
    return this.#open.size > 0 && this.#open.has(endOf(remoteAddress, remotePort));
  }

  close(): void {
    unsubscribe(CONNECTED, this.#note);
  }
}

function endOf(address: string | undefined, port: number | undefined): string {
  return `${address?.replace(MAPPED_IPV4, '')} ${port}`;
}
