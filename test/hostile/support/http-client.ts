import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { assert } from 'vitest';
import { parseJson } from '../../support/conformance/json.ts';
import { observed } from './observation.ts';

export interface Question {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Sent as JSON text with the content type of JSON. */
  readonly json?: unknown;
}

export interface DrainedAnswer {
  readonly status: number;
  readonly length: number;
  readonly tail: string;
}

const TAIL_BYTES = 200;

/** A whole answer. */
export class WholeAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Uint8Array;

  constructor(status: number, headers: IncomingMessage['headers'], bytes: Uint8Array) {
    this.status = status;
    this.headers = headers;
    this.bytes = bytes;
  }

  get text(): string {
    return new TextDecoder().decode(this.bytes);
  }

  get json(): unknown {
    return parseJson(this.text);
  }

  /** For messages of failures. */
  get summary(): string {
    return `${this.status} ${this.text.slice(0, 500)}`;
  }
}

/** More than clients take by themselves, for the ids of 8 kB that some answers name twice. What an answer may have is `locations.test.ts`. */
const MAX_HEADER_BYTES = 65_536;

/** Asks a server over real connections, and never sends anything twice. */
export class HttpClient {
  readonly url: URL;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(url: URL) {
    this.url = url;
  }

  /**
   * `path` goes out as it is, percent-encoding included. Resolves with a whole answer; rejects where the connection ends before
   * it is there.
   */
  async ask(method: string, path: string, question: Question = {}): Promise<WholeAnswer> {
    const answer = await this.#ask(method, path, question);
    observed().noteAnswer(answer.status, answer.bytes.length);
    return answer;
  }

  async #ask(method: string, path: string, question: Question = {}): Promise<WholeAnswer> {
    const incoming = await this.begin(method, path, question);
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    if (!incoming.complete) throw new Error(`the answer to ${method} ${path.slice(0, 200)} broke off`);
    return new WholeAnswer(incoming.statusCode ?? 0, incoming.headers, Buffer.concat(chunks));
  }

  /** Reads the answer to its end without keeping it: its status, how long it was, and its last characters. */
  async drain(method: string, path: string, question: Question = {}): Promise<DrainedAnswer> {
    const incoming = await this.begin(method, path, question);
    let length = 0;
    let tail = Buffer.alloc(0);
    for await (const chunk of incoming) {
      length += chunk.length;
      tail = Buffer.concat([tail, chunk.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES);
    }
    if (!incoming.complete) throw new Error(`the answer to ${method} ${path.slice(0, 200)} broke off`);
    observed().noteAnswer(incoming.statusCode ?? 0, length);
    return { status: incoming.statusCode ?? 0, length, tail: tail.toString('latin1') };
  }

  /** Resolves with the head of the answer; its body is the caller's to read. */
  begin(method: string, path: string, { headers = {}, body, json }: Question = {}): Promise<IncomingMessage> {
    const content = json === undefined ? body : JSON.stringify(json);
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest({
        hostname: this.url.hostname,
        port: this.url.port,
        method,
        path,
        agent: this.#agent,
        maxHeaderSize: MAX_HEADER_BYTES,
        headers: {
          accept: 'application/json',
          ...(json === undefined ? {} : { 'content-type': 'application/json' }),
          ...(content === undefined ? {} : { 'content-length': `${Buffer.byteLength(content)}` }),
          ...headers,
        },
      });
      outgoing.on('error', reject);
      outgoing.on('response', resolve);
      outgoing.end(content);
    });
  }

  /** The answer's status must be one of those given. */
  async must(statuses: number | readonly number[], method: string, path: string, question?: Question) {
    const answer = await this.#ask(method, path, question);
    const expected = typeof statuses === 'number' ? [statuses] : statuses;
    assert.include(expected, answer.status, `${method} ${path.slice(0, 200)}: ${answer.summary}`);
    return answer;
  }

  /**
   * Writes bytes to a connection as they are, and gives all that comes back until the server ends it: the request must ask for
   * that with `Connection: close`, or be one after which the server does so by itself.
   */
  async sendRaw(text: string): Promise<string> {
    const socket = connect({ host: this.url.hostname, port: Number(this.url.port) });
    await once(socket, 'connect');
    let received = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      received += chunk;
    });
    // A server that refuses may reset the connection behind its answer, which is then all that counts.
    socket.on('error', () => {});
    socket.write(text, 'latin1');
    await once(socket, 'close');
    observed().noteAnswer(Number(received.slice(9, 12)), received.length);
    return received;
  }

  close(): void {
    this.#agent.destroy();
  }
}
