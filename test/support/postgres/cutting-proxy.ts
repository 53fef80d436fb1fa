import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** When a connection is cut: before the server gets the statement, while it works on it, or after it did and before the client knows. */
export type Moment = 'before' | 'during' | 'after';

const SYNC = 'S';
const QUERY = 'Q';
const READY = 'Z';

/** Stands between a client and a PostgreSQL server, and cuts connections at chosen statements. */
export class CuttingProxy {
  readonly #server: Server;
  readonly #target: number;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #statements = 0;
  #cut: { readonly at: number; readonly moment: Moment } | undefined;
  #isDown = false;
  /** Each chunk waits that long, in milliseconds, in each direction. */
  delayMs = 0;

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.#target = target;
    server.on('connection', (client) => this.#accept(client));
  }

  static async start(target: number): Promise<CuttingProxy> {
    const server = createServer({ noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new CuttingProxy(server, target);
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  url(parameters = ''): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres${parameters}`;
  }

  /** Statements since the last call of `cutAt`. */
  get statements(): number {
    return this.#statements;
  }

  /** Whether the cut has happened. */
  get hasCut(): boolean {
    return this.#cut === undefined;
  }

  /** Begins to count, and cuts the connection that sends statement `at`, from 1. */
  cutAt(at: number, moment: Moment): void {
    this.#statements = 0;
    this.#cut = { at, moment };
  }

  /** Cuts all connections, and refuses new ones until `isDown` is false. */
  set isDown(isDown: boolean) {
    this.#isDown = isDown;
    if (isDown) for (const pair of this.#pairs) this.#end(pair);
  }

  async close(): Promise<void> {
    for (const pair of this.#pairs) this.#end(pair);
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    client.on('error', () => undefined);
    if (this.#isDown) {
      client.destroy();
      return;
    }
    const server = connect({ port: this.#target, host: '127.0.0.1', noDelay: true });
    server.on('error', () => undefined);
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    let isMuted = false;
    const fromClient = new Messages(true);
    const fromServer = new Messages(false);
    const send = (to: Socket, bytes: Uint8Array) => {
      if (this.delayMs === 0) to.write(bytes);
      else setTimeout(() => to.write(bytes), this.delayMs);
    };
    client.on('data', (chunk) => {
      for (const message of fromClient.take(chunk)) {
        const moment = this.#momentOf(message);
        if (moment === 'before') return this.#end(pair);
        if (moment === 'after') isMuted = true;
        send(server, message.bytes);
        if (moment === 'during') {
          server.end();
          client.destroy();
        }
      }
    });
    server.on('data', (chunk) => {
      if (!isMuted) send(client, chunk);
      else if (fromServer.take(chunk).some(({ type }) => type === READY)) this.#end(pair);
    });
    for (const socket of pair) socket.on('close', () => this.#end(pair));
  }

  #momentOf({ type }: Message): Moment | undefined {
    if (type !== SYNC && type !== QUERY) return undefined;
    this.#statements += 1;
    const cut = this.#cut;
    if (cut === undefined || this.#statements !== cut.at) return undefined;
    this.#cut = undefined;
    return cut.moment;
  }

  #end(pair: readonly [Socket, Socket]): void {
    this.#pairs.delete(pair);
    for (const socket of pair) socket.destroy();
  }
}

interface Message {
  /** Empty for the first message of a client, which has no type. */
  readonly type: string;
  readonly bytes: Buffer;
}

/** Cuts a stream into the messages of PostgreSQL's protocol: a letter, and a length that counts itself. */
class Messages {
  #rest: Buffer = Buffer.alloc(0);
  #isFirst: boolean;

  constructor(beginsWithStartup: boolean) {
    this.#isFirst = beginsWithStartup;
  }

  take(chunk: Buffer): Message[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const messages: Message[] = [];
    for (;;) {
      const typeBytes = this.#isFirst ? 0 : 1;
      if (this.#rest.length < typeBytes + 4) return messages;
      const length = typeBytes + this.#rest.readUInt32BE(typeBytes);
      if (this.#rest.length < length) return messages;
      messages.push({ type: this.#rest.toString('latin1', 0, typeBytes), bytes: this.#rest.subarray(0, length) });
      this.#rest = this.#rest.subarray(length);
      this.#isFirst = false;
    }
  }
}
