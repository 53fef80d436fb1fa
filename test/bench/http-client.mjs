/**
 * An HTTP/1.1 client that costs as little as a client can, so that the server is what is measured: requests are bytes
 * made beforehand, and an answer is read no further than it takes to find its end. One request at a time on each
 * connection.
 */
import { once } from 'node:events';
import { connect } from 'node:net';

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('\r\n0\r\n\r\n');

/** The bytes of a request. */
export function toRequest(method, path, body, headers = {}) {
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1', 'accept: application/json'];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined) lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
}

/** Servers keep idle connections for five seconds and more. */
const idleMs = 4000;

export class Connection {
  #port = 0;
  #socket;
  #chunks = [];
  #received = 0;
  /** Where the answer ends; 0 while unknown, -1 when it comes in chunks. */
  #end = 0;
  #settle;
  #usedAt = performance.now();
  #onChunk;

  static async open(port) {
    const connection = new Connection();
    connection.#port = port;
    await connection.#connect();
    return connection;
  }

  async #connect() {
    this.#socket = connect({ host: '127.0.0.1', port: this.#port, noDelay: true });
    await once(this.#socket, 'connect');
    this.#socket.on('data', (chunk) => this.#take(chunk));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('the server closed the connection')));
  }

  /** Resolves with `{ status, head, body() }` when the whole answer is there. */
  send(request) {
    // A server closes connections that were idle for long.
    if (this.#socket.destroyed) return this.#connect().then(() => this.send(request));
    const isIdle = performance.now() - this.#usedAt > idleMs;
    return new Promise((resolve, reject) => {
      // The server may be closing it at this very moment; then the request goes out again on a new one.
      const again = () => this.#connect().then(() => this.send(request));
      this.#settle = { resolve, reject: isIdle ? () => resolve(again()) : reject };
      this.#socket.write(request);
    });
  }

  /** As `send` for a large answer: its bytes are counted and dropped. `onChunk` may hold the socket back. */
  async count(request, onChunk = () => undefined) {
    let bytes = 0;
    this.#onChunk = (chunk) => {
      bytes += chunk.length;
      onChunk(chunk, this.#socket);
    };
    const { status } = await this.send(request);
    this.#onChunk = undefined;
    return { status, bytes };
  }

  close() {
    this.#settle = undefined;
    this.#socket.destroy();
  }

  #take(chunk) {
    // A server may say that it waits no longer for a request (408), before it closes the connection.
    if (this.#settle === undefined) return void this.#socket.destroy();
    this.#onChunk?.(chunk);
    this.#received += chunk.length;
    if (this.#onChunk !== undefined && this.#chunks.length > 0) this.#keepTail(chunk);
    else this.#chunks.push(chunk);
    if (this.#end === 0) this.#readHead();
    if (this.#end > 0 ? this.#received >= this.#end : this.#end < 0 && this.#endsInLastChunk(chunk)) this.#finish();
  }

  /** Of an answer that is only counted the first chunk is kept, for its head, and the latest two, for its end. */
  #keepTail(chunk) {
    this.#chunks = [this.#chunks[0], ...this.#chunks.slice(1).slice(-1), chunk];
  }

  #readHead() {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    const [first] = this.#chunks;
    const bodyStart = first.indexOf(headEnd);
    if (bodyStart < 0) return;
    const head = first.latin1Slice(0, bodyStart);
    const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? [];
    this.#end = length === undefined ? -1 : bodyStart + headEnd.length + Number(length);
    // An answer without a body and without a length (204, 304) is not asked for here.
  }

  #endsInLastChunk(chunk) {
    if (chunk.length >= lastChunk.length) return chunk.subarray(-lastChunk.length).equals(lastChunk);
    return Buffer.concat(this.#chunks.slice(-2)).subarray(-lastChunk.length).equals(lastChunk);
  }

  #finish() {
    const chunks = this.#chunks;
    const isChunked = this.#end < 0;
    this.#chunks = [];
    this.#received = 0;
    this.#end = 0;
    const { resolve } = this.#settle;
    this.#settle = undefined;
    this.#usedAt = performance.now();
    resolve(new Answer(chunks, isChunked));
  }

  #fail(error) {
    this.#settle?.reject(error);
    this.#settle = undefined;
  }
}

class Answer {
  #bytes;
  #isChunked;

  constructor(chunks, isChunked) {
    this.#bytes = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    this.#isChunked = isChunked;
  }

  get status() {
    return Number(this.#bytes.latin1Slice(9, 12));
  }

  /** Header lines by name, in lower case. */
  get headers() {
    const [, ...lines] = this.#bytes.latin1Slice(0, this.#bytes.indexOf(headEnd)).split('\r\n');
    return Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
    );
  }

  get text() {
    const body = this.#bytes.subarray(this.#bytes.indexOf(headEnd) + headEnd.length);
    return this.#isChunked ? dechunk(body) : body.toString();
  }
}

function dechunk(body) {
  const parts = [];
  for (let at = 0; ; ) {
    const lineEnd = body.indexOf('\r\n', at);
    const length = Number.parseInt(body.latin1Slice(at, lineEnd), 16);
    if (length === 0) return Buffer.concat(parts).toString();
    parts.push(body.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
}

/** Several connections to one server, between which requests are shared out. */
export class Client {
  port = 0;
  #connections;

  static async open(port, count = 1) {
    const client = new Client();
    client.port = port;
    client.#connections = await Promise.all(Array.from({ length: count }, () => Connection.open(port)));
    return client;
  }

  /**
   * Sends requests, one on each connection at a time, in their order. Gives the milliseconds in all, and those of each.
   * Every answer must have the status that is expected.
   */
  async sendAll(requests, expected, onAnswer) {
    const latencies = new Float64Array(requests.length);
    let next = 0;
    const work = async (connection) => {
      while (next < requests.length) {
        const index = next++;
        const sentAt = performance.now();
        const answer = await connection.send(requests[index]);
        latencies[index] = performance.now() - sentAt;
        if (answer.status !== expected)
          throw new Error(`status ${answer.status} instead of ${expected}: ${answer.text}`);
        onAnswer?.(answer, index);
      }
    };
    const startedAt = performance.now();
    await Promise.all(this.#connections.map(work));
    return { ms: performance.now() - startedAt, latencies };
  }

  /** One request; gives the answer's JSON. */
  async ask(method, path, body, expected = 200) {
    const answer = await this.#connections[0].send(toRequest(method, path, body));
    if (answer.status !== expected) throw new Error(`${method} ${path}: status ${answer.status}: ${answer.text}`);
    return JSON.parse(answer.text);
  }

  close() {
    for (const connection of this.#connections) connection.close();
  }
}
