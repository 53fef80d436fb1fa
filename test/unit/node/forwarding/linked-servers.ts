/** Servers that accept links of others, what connects to them, and what goes over such a connection. */
import { once } from 'node:events';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { afterEach } from 'vitest';
import type { Handle, PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import type { Log } from '../../../../src/base/system/contract.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { AcceptedLinks, type AcceptingOptions } from '../../../../src/node/forwarding/accepted-links.ts';
import { FRAME_HEADER_BYTES, frameOf } from '../../../../src/node/forwarding/frames.ts';
import {
  createServerLinks,
  type ServerLinks,
  type ServerLinksOptions,
} from '../../../../src/node/forwarding/server-links.ts';
import { type HttpServer, type ListenOptions, listen } from '../../../../src/node/http/http-server.ts';
import { createListener } from '../../../../src/node/http/listener.ts';
import type { TlsKeys } from '../../../../src/node/http/tls-files.ts';
import type { Upgrade } from '../../../../src/node/http/upgrade.ts';

export const KEY = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff';
export const OTHER_KEY = 'ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff';

const cleanups: (() => unknown)[] = [];

/** Closes what the tests of a file have opened, after each test. */
export function useServers(): void {
  afterEach(async () => {
    for (const clean of cleanups.splice(0).reverse()) await clean();
  });
}

export function afterThisTest(clean: () => unknown): void {
  cleanups.push(clean);
}

export const ok: PlainResponse = { status: 200, headers: {}, body: null };

export function request(method: string, more: Partial<PlainRequest> = {}): PlainRequest {
  return { method, url: '/db/a%2Fb?rev=1-a', headers: {}, body: null, ...more };
}

/** Collects what is logged as errors. */
export function errorLog(): { readonly log: Log; readonly errors: string[] } {
  const errors: string[] = [];
  return { errors, log: { ...silentLog, error: (text) => void errors.push(text) } };
}

export interface LinkedServer extends HttpServer {
  readonly links: AcceptedLinks;
  /** At which it accepts links. */
  readonly addresses: string[];
}

interface Accepting extends Partial<AcceptingOptions> {
  readonly tls?: TlsKeys;
  readonly http?: ListenOptions;
  readonly port?: number;
}

/** Answers requests over links by `handle`; its clients get their own path as a text. */
export async function serve(handle: Handle, { tls, http, port, ...more }: Accepting = {}): Promise<LinkedServer> {
  const config = createConfig({});
  const addresses: string[] = [];
  const links = new AcceptedLinks({
    ...{ handle, key: KEY, log: silentLog, addresses: () => addresses, settingsVersion: () => 'a' },
    ...{ config: () => config, refusal: () => undefined, onFailure: () => undefined, ...more },
  });
  const server = await serveUpgrade(links, { tls, ...http }, port);
  addresses.push(server.url);
  return { ...server, links, addresses };
}

export async function serveUpgrade(
  upgrade: Upgrade | undefined,
  options: ListenOptions = {},
  port = 0,
): Promise<HttpServer> {
  const listener = createListener(
    async ({ method, url, body }) => {
      const text = body === null ? '' : ` ${body}`;
      return { status: 200, headers: {}, body: `${method} ${url}${text}` };
    },
    () => undefined,
  );
  const server = await listen(listener, '127.0.0.1', port, { ...options, upgrade });
  afterThisTest(() => server.close(0));
  return server;
}

export function connect(options: Partial<ServerLinksOptions> = {}): ServerLinks {
  const links = createServerLinks({ key: KEY, log: silentLog, ...options });
  afterThisTest(() => links.close());
  return links;
}

/** Passes connections on to another port, and can stop to do so without closing them, as a network does whose cable was pulled. */
export class Cable {
  readonly url: string;
  /** What clients have sent, by connection. */
  readonly sent: Buffer[][] = [];
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, target: string) {
    const address = server.address();
    this.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
    const { hostname, port } = new URL(target);
    server.on('connection', (client) => {
      const onward = createConnection(Number(port), hostname);
      const sent: Buffer[] = [];
      this.sent.push(sent);
      client.on('data', (data: Buffer) => void sent.push(data));
      for (const [one, other] of [
        [client, onward],
        [onward, client],
      ] as const) {
        this.#sockets.add(one);
        one.on('error', () => undefined);
        one.once('close', () => other.destroy());
        one.pipe(other);
      }
    });
  }

  static async to(target: string): Promise<Cable> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const cable = new Cable(server, target);
    afterThisTest(() => {
      cable.cut();
      server.close();
    });
    return cable;
  }

  /** Nothing passes any more over connections that are open now, not even their end. */
  pull(): void {
    for (const socket of this.#sockets) {
      socket.unpipe();
      socket.removeAllListeners('close');
      socket.pause();
    }
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** A connection whose bytes are written by hand. */
export class RawLink {
  readonly socket: Socket;
  received = Buffer.alloc(0);
  readonly closed: Promise<unknown>;

  constructor(url: string, localAddress?: string) {
    const { hostname, port } = new URL(url);
    this.socket = createConnection({
      ...{ port: Number(port), host: hostname },
      ...(localAddress !== undefined && { localAddress }),
    });
    this.socket.on('error', () => undefined);
    this.socket.on('data', (data: Buffer) => {
      this.received = Buffer.concat([this.received, data]);
    });
    this.closed = new Promise((resolve) => this.socket.once('close', resolve));
    afterThisTest(() => this.socket.destroy());
  }

  static async upgraded(url: string, localAddress?: string): Promise<RawLink> {
    const link = new RawLink(url, localAddress);
    link.socket.write(UPGRADE);
    await link.until(() => link.received.includes('\r\n\r\n'));
    link.received = link.received.subarray(link.received.indexOf('\r\n\r\n') + 4);
    return link;
  }

  send(kind: number, payload: string | Uint8Array, id = 0): void {
    for (const part of frameOf(kind, id, payload)) this.socket.write(part);
  }

  /** The payload of the next frame. */
  async frame(): Promise<string> {
    await this.until(() => this.received.length >= FRAME_HEADER_BYTES && this.received.length >= this.#frameEnd());
    const end = this.#frameEnd();
    const payload = this.received.toString('utf8', FRAME_HEADER_BYTES, end);
    this.received = this.received.subarray(end);
    return payload;
  }

  /** Rejects if the connection ends before. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      if (this.socket.destroyed) throw new Error('the connection has ended');
      await Promise.race([once(this.socket, 'data'), this.closed]);
    }
  }

  #frameEnd(): number {
    return FRAME_HEADER_BYTES + this.received.readUInt32BE(0);
  }
}

export const UPGRADE =
  'GET /_settee/link HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: settee-forward-2\r\n\r\n';
