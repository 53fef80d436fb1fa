import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage, METHODS } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../../../src/node/server/server.ts';
import type { BrokenBody, Capabilities, Host, HostAnswer, HostRequest, OpenAnswer, Settings } from './host.ts';

type Server = Pick<Awaited<ReturnType<typeof startServer>>, 'url' | 'close'>;

/** Starts a server for a folder, on a port; 0: any. */
export interface Listen {
  (dataFolder: string, settings: Settings, port: number): Promise<Server>;
  /** What differs from a server in this process. */
  readonly capabilities?: Partial<Capabilities>;
}

const capabilities: Capabilities = {
  'any-url': true,
  'forbidden-headers': true,
  'wide-headers': true,
  'bare-accept': true,
  'manual-redirect': true,
  'raw-socket': true,
  'broken-body': true,
  restart: true,
  settings: true,
  network: true,
  gateway: true,
  'restart-request': true,
  'function-threads': true,
  'one-process': true,
  'query-method': METHODS.includes('QUERY') ? true : 'the parser of this version of Node does not know QUERY',
  clock: 'the server uses the clock of its machine',
};

/** The Node server on a port of its own, accessed over real sockets. By default it runs in this process. */
export class NodeHost implements Host {
  readonly name = 'Node server';
  readonly capabilities: Capabilities;
  readonly #folder: string;
  readonly #settings: Settings;
  readonly #listen: Listen;
  readonly #agent = new Agent({ keepAlive: true });
  #server: Server;

  private constructor(folder: string, settings: Settings, listen: Listen, server: Server) {
    this.#folder = folder;
    this.#settings = settings;
    this.#listen = listen;
    this.#server = server;
    this.capabilities = { ...capabilities, ...listen.capabilities };
  }

  static async start(settings: Settings = {}, listen: Listen = listenHere): Promise<NodeHost> {
    const folder = await mkdtemp(join(tmpdir(), 'settee-conformance-'));
    return new NodeHost(folder, settings, listen, await listen(folder, settings, 0));
  }

  get baseUrl(): string {
    return this.#server.url.replace(/\/$/, '');
  }

  async send(request: HostRequest): Promise<HostAnswer> {
    const outgoing = this.#begin(request);
    if (isBroken(request.body)) return breakOff(outgoing, request.body);
    const answer = await answerTo(outgoing, request.body);
    return { ...headOf(answer), bytes: await collect(answer) };
  }

  async open(request: HostRequest): Promise<OpenAnswer> {
    if (isBroken(request.body)) throw new Error('a broken body has no answer');
    const answer = await answerTo(this.#begin(request), request.body);
    const chunks: AsyncIterator<Uint8Array> = answer[Symbol.asyncIterator]();
    return {
      ...headOf(answer),
      next: async () => {
        const step = await chunks.next();
        return step.done === true ? undefined : step.value;
      },
      cancel: async () => {
        answer.destroy();
      },
    };
  }

  #begin(request: HostRequest): ClientRequest {
    const { hostname, port } = new URL(this.baseUrl);
    const { method, path } = request;
    return httpRequest({ hostname, port, method, path, headers: headersOf(request), agent: this.#agent });
  }

  async sendRaw(bytes: Uint8Array): Promise<Uint8Array> {
    const { hostname, port } = new URL(this.baseUrl);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.end(bytes);
    const chunks: Uint8Array[] = [];
    for await (const chunk of socket) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  async restart(): Promise<void> {
    const port = Number(new URL(this.baseUrl).port);
    await this.#server.close();
    this.#server = await this.#listen(this.#folder, this.#settings, port);
  }

  withSettings(settings: Settings): Promise<NodeHost> {
    return NodeHost.start(settings, this.#listen);
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    await this.#server.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** One case sends its requests under this name. */
export const ALLOWED_HOST = 'db.example.org';

function listenHere(dataFolder: string, settings: Settings, port: number): Promise<Server> {
  const allowedHosts = [ALLOWED_HOST];
  return startServer({ port, host: '127.0.0.1', allowedHosts, dataFolder, config: settings, onLog: () => {} });
}

/** `node:http` sends a body without a length in chunks; nearly every client sends a length. */
function headersOf(request: HostRequest): Record<string, string> {
  if (request.body === null) return { ...request.headers };
  const length = isBroken(request.body) ? request.body.announced : Buffer.byteLength(request.body);
  return { ...request.headers, 'content-length': `${length}` };
}

function isBroken(body: HostRequest['body']): body is BrokenBody {
  return body !== null && typeof body === 'object' && 'announced' in body;
}

/** Sends the part of the body, then drops the connection: no response can come; the cases look at the state left behind. */
async function breakOff(outgoing: ClientRequest, body: BrokenBody): Promise<HostAnswer> {
  outgoing.on('error', () => {});
  await new Promise<void>((resolve) => outgoing.write(body.bytes, () => resolve()));
  const closed = once(outgoing, 'close');
  outgoing.destroy();
  await closed;
  throw new Error('the client went away');
}

async function answerTo(outgoing: ClientRequest, body: string | Uint8Array | null): Promise<IncomingMessage> {
  outgoing.end(body ?? undefined);
  const [answer]: IncomingMessage[] = await once(outgoing, 'response');
  if (answer === undefined) throw new Error('a response event without a response');
  return answer;
}

function headOf({ statusCode, headers }: IncomingMessage): Omit<HostAnswer, 'bytes'> {
  const given = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]);
  return { status: statusCode ?? 0, headers: Object.fromEntries(given) };
}

async function collect(answer: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer) chunks.push(chunk);
  return Buffer.concat(chunks);
}
