/** A relay between a client and a server whose connections a test may break: real sockets, so that real errors result. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Where a connection breaks off. */
export interface Cut {
  /** Of both directions; the last of them still arrives. */
  readonly bytes: number;
  /** Otherwise both ends see an orderly end of the connection. */
  readonly isReset: boolean;
}

export class TcpRelay {
  readonly #server: Server;
  #target: URL;
  readonly #sockets = new Set<Socket>();
  /** Bytes of responses after which the next connections are reset, one for each; undefined for those that are left alone. */
  readonly #resets: number[] = [];
  /** For the next connections, one for each, after those of `#resets`. */
  readonly #cuts: Cut[] = [];
  readonly #waiting: { readonly bytes: number; readonly resolve: () => void }[] = [];
  /** Nothing passes through any connection, though all stay open. */
  isSilent = false;
  /** Bytes of everything that passed through, in both directions. */
  bytes = 0;

  private constructor(server: Server, target: URL) {
    this.#server = server;
    this.#target = target;
  }

  static async start(target: string): Promise<TcpRelay> {
    const server = createServer({ allowHalfOpen: true });
    const relay = new TcpRelay(server, new URL(target));
    server.on('connection', (socket) => relay.#take(socket));
    await relay.listen(0);
    return relay;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get #port(): number {
    const address: AddressInfo | string | null = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the relay does not listen');
    return address.port;
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** From now on connections are refused, until `listen`. Returns the port. */
  async refuse(): Promise<number> {
    const port = this.#port;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.resetAll();
    await closed;
    return port;
  }

  resetAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** The next connections break off after this many bytes of their responses each. */
  resetAfter(...bytes: readonly number[]): void {
    this.#resets.push(...bytes);
  }

  /** The next connections break off there, one each. */
  cutAfter(...cuts: readonly Cut[]): void {
    this.#cuts.push(...cuts);
  }

  /** Connections that were to be broken off and were not yet are left alone. */
  forgetResets(): void {
    this.#resets.length = 0;
    this.#cuts.length = 0;
  }

  /** Resolves when so many more bytes have passed through. */
  passed(bytes: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ bytes: this.bytes + bytes, resolve }));
  }

  /** The next connections go to this server. */
  aimAt(target: string): void {
    this.#target = new URL(target);
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.refuse();
  }

  #take(client: Socket): void {
    const { hostname, port } = this.#target;
    const server = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const limit = this.#resets.shift();
    const cut = limit === undefined ? this.#cuts.shift() : undefined;
    let bytes = 0;
    let left = cut?.bytes ?? Number.POSITIVE_INFINITY;
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => this.#sockets.delete(one));
      one.on('end', () => other.end());
      one.on('data', (chunk) => {
        if (this.isSilent) return;
        this.#count(chunk.length);
        if (cut !== undefined && left <= chunk.length) {
          other.write(chunk.subarray(0, left), () => breakOff([client, server], cut));
          left = 0;
          return;
        }
        left -= chunk.length;
        if (one === server) bytes += chunk.length;
        if (limit !== undefined && bytes > limit) client.resetAndDestroy();
        else other.write(chunk);
      });
    }
  }

  #count(bytes: number): void {
    this.bytes += bytes;
    for (const one of this.#waiting.filter((waiting) => waiting.bytes <= this.bytes)) {
      this.#waiting.splice(this.#waiting.indexOf(one), 1);
      one.resolve();
    }
  }
}

function breakOff(sockets: readonly Socket[], { isReset }: Cut): void {
  for (const socket of sockets) {
    if (isReset) socket.resetAndDestroy();
    else socket.destroy();
  }
}
