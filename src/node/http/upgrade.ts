/** Connections that begin with HTTP and go on with another protocol (RFC 9110, 7.8). */
import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { peerOf } from '../tracing/sender.ts';

/** The only protocol that a server changes to. Requests for any other one are answered as if they had not asked for it. */
export interface Upgrade {
  /** Of the request, in exactly this spelling. */
  readonly path: string;
  /** In lower case. */
  readonly protocol: string;
  /** Called at each request that asks for it. */
  isOffered(): boolean;
  /** Takes over a connection after the response 101. `peer`: the address of the other end. */
  take(socket: Socket, peer: string): void;
  /** The server closes: the other ends should close their connections soon. */
  beginClose(): void;
}

/**
 * Messages for `createServer`. Once a server listens for upgrades, Node no longer passes requests that ask for any protocol to the
 * listener of requests. It asks the message, so this one says so only for the protocol that is offered. (Since Node 24.9 there is `shouldUpgradeCallback`.)
 */
export function messagesFor(upgrade: Upgrade): typeof IncomingMessage {
  return class extends IncomingMessage {
    /** Set by the constructor of the class above, which a field would overwrite. */
    declare asksForProtocol: boolean;

    get upgrade(): boolean {
      return this.asksForProtocol && (this.method === 'CONNECT' || isAsked(upgrade, this));
    }

    set upgrade(value: boolean) {
      this.asksForProtocol = value;
    }
  };
}

function isAsked(upgrade: Upgrade, { method, url, headers, httpVersion }: IncomingMessage): boolean {
  if (headers.upgrade?.toLowerCase() !== upgrade.protocol || url !== upgrade.path) return false;
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  return method === 'GET' && httpVersion === '1.1' && !hasBody && upgrade.isOffered();
}

/** `head`: what has come after the request. */
export function switchProtocol(upgrade: Upgrade, socket: Socket, head: Buffer): void {
  // That of HTTP: an idle connection is none that stalls.
  socket.setTimeout(0);
  socket.setNoDelay(true);
  if (head.length > 0) socket.unshift(head);
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${upgrade.protocol}\r\n\r\n`);
  upgrade.take(socket, peerOf(socket) ?? '');
}
