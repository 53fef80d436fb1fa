import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { assert } from '../../base/shared/assert.ts';
import { ConnectionLimit, connectionsWithinDescriptors, TOO_MANY_CONNECTIONS } from './connection-limit.ts';
import { Exchanges } from './exchanges.ts';
import { Entrance } from './fair-work.ts';
import { assertListenAllowed, HostCheck, isLoopback, reachRefusal } from './host-check.ts';
import type { NodeListener } from './listener.ts';
import {
  framingRefusal,
  LATE_UPGRADE,
  type Refusal,
  refuse,
  refuseAndClose,
  UNKNOWN_EXPECTATION,
  UNKNOWN_METHOD,
} from './refusals.ts';
import type { TlsKeys } from './tls-files.ts';
import { messagesFor, switchProtocol, type Upgrade } from './upgrade.ts';

/** At a shutdown, connections whose requests still run after this time are closed. */
const drainMs = 10_000;
/** While a shutdown waits, connections that became idle are closed this often. */
const idleCheckMs = 25;
/** A connection is closed when its client reads nothing of a response for this long, because the response may hold a snapshot. */
const stalledAfterMs = 10 * 60 * 1000;

const serverOptions = {
  /** Long enough for `_all_docs?keys=[…]`; beyond it the response is 431. */
  maxHeaderSize: 64 * 1024,
  headersTimeout: 60_000,
  /** The limit for a whole upload, which leaves time for large ones over slow lines. An upload that pauses is ended sooner. */
  requestTimeout: 24 * 60 * 60 * 1000,
  /** Longer than clients and proxies usually keep a connection, so that they don't send into one that is being closed. */
  keepAliveTimeout: 65_000,
  /** A missing one is refused with a reason (`framingRefusal`). */
  requireHostHeader: false,
  /** For TLS. */
  handshakeTimeout: 10_000,
};

export interface HttpServer {
  /** Host and port as a URL, with a slash at the end. */
  readonly url: string;
  /** Applies to new connections; existing ones go on. Does nothing for a server without TLS. */
  renewTls(keys: TlsKeys): void;
  /**
   * Stops accepting, waits until running requests have ended (`longestMs` at most, by default 10 seconds), and closes every connection.
   * May be called more than once.
   */
  close(longestMs?: number): Promise<void>;
}

export interface ListenOptions {
  /** Host names for which requests are accepted in addition to loopback names; others get 403. Default: none. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Connections at a time; one more gets 503. Called at each connection. Default, and 0: no limit. */
  readonly maxConnections?: (() => number | undefined) | undefined;
  /** Whether the server has an admin. Without one it refuses requests from other machines. Called at each of their requests. Default: none. */
  readonly hasAdmin?: (() => boolean) | undefined;
  /** If set, the server speaks only https. Default: http. */
  readonly tls?: TlsKeys | undefined;
  /** Whether a host, possibly with a port, is one of the server's own in addition to those. Default: none is. */
  readonly isOwnHost?: ((host: string) => boolean) | undefined;
  /** Headers for responses that are created here, without the service: what pages of other origins need to read them. */
  readonly headersFor?: ((incoming: IncomingMessage) => Readonly<Record<string, string>>) | undefined;
  /**
   * Milliseconds for which a response may still come after the client has closed its side of the connection. Most of those clients have gone, and
   * some only send no more. Default: none, so that such a client only gets what is ready at once.
   */
  readonly halfOpenMs?: number | undefined;
  /** Milliseconds after which a connection is closed if its client reads nothing of its response. Default: ten minutes. */
  readonly stalledMs?: number | undefined;
  /** A protocol to which connections may change. It has its own proof of who may use it, so hosts are not checked. Default: none. */
  readonly upgrade?: Upgrade | undefined;
}

/**
 * Listens on `host` and `port` (0: any free one). Rejects with `bad_request` for a host beyond loopback if there is no admin, and with
 * `storage_blocked` if the address can't be used.
 */
export async function listen(
  listener: NodeListener,
  host: string,
  port: number,
  options: ListenOptions = {},
): Promise<HttpServer> {
  const { allowedHosts = [], maxConnections, hasAdmin = () => false, stalledMs = stalledAfterMs } = options;
  const { isOwnHost, headersFor = () => ({}), tls, upgrade } = options;
  assertListenAllowed(host, hasAdmin());
  const isOpen = !isLoopback(host);
  const withinDescriptors = connectionsWithinDescriptors();
  const { server, unused, sockets } = createHttpServer(listener, {
    hostCheck: new HostCheck(allowedHosts, { takesAddresses: isOpen, isOwnHost }),
    headersFor,
    tls,
    upgrade,
    maxConnections: () => lower(maxConnections?.() ?? 0, withinDescriptors),
    refusal: (socket) => (isOpen ? reachRefusal(socket, hasAdmin) : undefined),
  });
  server.setTimeout(stalledMs);
  if (options.halfOpenMs !== undefined) keepHalfOpen(server, options.halfOpenMs);
  server.listen({ host: host.replace(/^\[(.*)\]$/, '$1'), port });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw describeListenError(error, host, port);
  }
  let closing: Promise<void> | undefined;
  return {
    url: addressOf(server, tls === undefined ? 'http' : 'https'),
    renewTls: (keys) => {
      if (server instanceof TlsServer) server.setSecureContext(keys);
    },
    close: (longestMs = drainMs) => {
      upgrade?.beginClose();
      closing ??= drain({ server, unused, sockets }, longestMs);
      return closing;
    },
  };
}

function keepHalfOpen(server: Server, milliseconds: number): void {
  // Otherwise Node aborts the requests of such a connection at once.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    socket.once('end', () => {
      const timer = setTimeout(() => socket.destroy(), milliseconds);
      socket.once('close', () => clearTimeout(timer));
    });
  });
}

/** `setting`: 0 means no limit. */
function lower(setting: number, withinDescriptors: number | undefined): number {
  return Math.min(setting || Number.POSITIVE_INFINITY, withinDescriptors ?? Number.POSITIVE_INFINITY);
}

/** A server, and its connections that have not sent a request yet: Node does not count them as idle. */
interface CreatedServer {
  readonly server: Server;
  readonly unused: ReadonlySet<Socket>;
  /** All connections, as the network has them: below TLS, if that is used. */
  readonly sockets: ReadonlySet<Socket>;
}

interface Checks {
  readonly hostCheck: HostCheck;
  readonly maxConnections: () => number;
  readonly tls: TlsKeys | undefined;
  readonly upgrade: Upgrade | undefined;
  readonly headersFor: (incoming: IncomingMessage) => Readonly<Record<string, string>>;
  /** Why requests of that connection are refused. */
  readonly refusal: (socket: Socket) => Refusal | undefined;
}

function createHttpServer(
  listener: NodeListener,
  { hostCheck, maxConnections, headersFor, tls, upgrade, refusal: refuseTo }: Checks,
): CreatedServer {
  const unused = new Set<Socket>();
  const exchanges = new Exchanges();
  const entrance = new Entrance();
  const take = (incoming: IncomingMessage, outgoing: ServerResponse, fault?: Refusal) => {
    const { socket } = incoming;
    unused.delete(socket);
    // No other protocols are supported. Node reads no request after one that asks for another, so the connection ends with the response.
    if (incoming.headers.upgrade !== undefined) outgoing.shouldKeepAlive = false;
    const begin = () => {
      const isBeyond = limit.isBeyond(socket);
      const refusal = isBeyond ? TOO_MANY_CONNECTIONS : (fault ?? framingRefusal(incoming) ?? refuseTo(socket));
      if (refusal !== undefined) {
        exchanges.end(socket);
        refuseAndClose(refusal, outgoing, headersFor(incoming));
      } else if (hostCheck.accepts(incoming)) void listener(incoming, outgoing);
      else refuse(hostCheck.refusal(incoming), outgoing, headersFor(incoming));
    };
    exchanges.begin(incoming, outgoing, () => entrance.enter(socket, begin));
  };
  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => take(incoming, outgoing);
  const nodeOptions = { ...serverOptions, ...(upgrade && { IncomingMessage: messagesFor(upgrade) }) };
  const server =
    tls === undefined ? createServer(nodeOptions, onRequest) : createTlsServer({ ...nodeOptions, ...tls }, onRequest);
  // The size of the head limits them all. Node would leave out those beyond 2,000, including ones that matter.
  server.maxHeadersCount = 0;
  const limit = new ConnectionLimit(server, maxConnections);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
    limit.add(socket);
  });
  if (upgrade !== undefined) {
    server.on('upgrade', ({ socket }: IncomingMessage, _socket: unknown, head: Buffer) => {
      unused.delete(socket);
      if (limit.isBeyond(socket)) refuseInstead(exchanges, socket, TOO_MANY_CONNECTIONS);
      else if (exchanges.lastAnswer(socket) !== undefined) refuseInstead(exchanges, socket, LATE_UPGRADE);
      else switchProtocol(upgrade, socket, head);
    });
  }
  answerUnheard(server, exchanges, (incoming, outgoing) => take(incoming, outgoing, UNKNOWN_EXPECTATION));
  return { server, unused, sockets };
}

/** Node no longer listens to the connection's errors. */
function refuseInstead(exchanges: Exchanges, socket: Socket, refusal: Refusal): void {
  socket.on('error', () => {});
  exchanges.refuseRest(socket, refusal);
}

type OnRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** Requests that Node passes to no listener, and would end with an empty response or none. */
function answerUnheard(server: Server, exchanges: Exchanges, onUnknownExpectation: OnRequest): void {
  server.on('clientError', (error: Error, socket: Socket) => exchanges.refuseUnreadable(socket, error));
  server.on('checkExpectation', onUnknownExpectation);
  server.on('connect', (_incoming: IncomingMessage, socket: Socket) => {
    refuseInstead(exchanges, socket, UNKNOWN_METHOD);
  });
  server.on('timeout', (socket: Socket) => {
    const answer = exchanges.lastAnswer(socket);
    // If no bytes wait for the client, the server still works on the response.
    const isServerBusy = answer !== undefined && !answer.writableFinished && socket.writableLength === 0;
    if (!isServerBusy) socket.destroy();
  });
}

function addressOf(server: Server, scheme: string): string {
  const address = server.address();
  assert(address !== null && typeof address === 'object', 'a server that listens on a port has an address');
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${scheme}://${host}:${address.port}/`;
}

async function drain({ server, unused, sockets }: CreatedServer, longestMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  const closeIdle = () => {
    server.closeIdleConnections();
    for (const socket of unused) socket.destroy();
  };
  const idleCheck = setInterval(closeIdle, idleCheckMs);
  const deadline = setTimeout(() => {
    server.closeAllConnections();
    for (const socket of sockets) socket.destroy();
  }, longestMs);
  await closed;
  clearInterval(idleCheck);
  clearTimeout(deadline);
}

function describeListenError(error: unknown, host: string, port: number): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const remedies: Readonly<Record<string, string>> = {
    EADDRINUSE: 'another program uses this port. Stop it, or choose another port with --port (0 takes any free one)',
    EACCES: 'this port needs rights that the process does not have. Choose one above 1023 with --port',
    EADDRNOTAVAIL: 'this machine has no such address. Use 127.0.0.1, the default',
  };
  const remedy = remedies[`${error.code}`] ?? error.message;
  return new DatabaseError('storage_blocked', `Settee can't listen on ${host}:${port}: ${remedy}.`, { cause: error });
}
