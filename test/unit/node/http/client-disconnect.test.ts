import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../../src/base/shared/clock.ts';
import type { ByteStream, Handle, PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import { type Core, createCore } from '../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import { type HttpServer, listen } from '../../../../src/node/http/http-server.ts';
import { createListener } from '../../../../src/node/http/listener.ts';
import { createMemoryPageStore } from '../../../../src/storage/memory-page-store.ts';
import { patient } from '../../../support/patience.ts';

/** What a response's stream was asked for. */
class WatchedStream implements ByteStream {
  readonly #stream: ByteStream;
  pulls = 0;
  /** Of the last pull. */
  chunk: Promise<Uint8Array | undefined> = Promise.resolve(undefined);
  readonly cancelled: Promise<void>;
  #cancelled = () => {};

  constructor(stream: ByteStream) {
    this.#stream = stream;
    this.cancelled = new Promise((resolve) => {
      this.#cancelled = resolve;
    });
  }

  pull(): Promise<Uint8Array | undefined> {
    this.pulls++;
    this.chunk = this.#stream.pull();
    return this.chunk;
  }

  async cancel(reason?: unknown): Promise<void> {
    await this.#stream.cancel(reason);
    this.#cancelled();
  }
}

const isStream = (body: PlainResponse['body']): body is ByteStream =>
  body !== null && typeof body === 'object' && 'pull' in body;

let core: Core;
let server: HttpServer;
let streams: WatchedStream[];
/** Awaited between the core's answer and its sending. */
let beforeAnswer: (request: PlainRequest) => Promise<void>;
const failures: unknown[] = [];

/** Enough of them to fill whatever the sockets buffer. */
const COUNT = 400;
const TEXT = 'x'.repeat(50_000);

beforeEach(async () => {
  streams = [];
  failures.length = 0;
  beforeAnswer = async () => {};
  const storage = createMemoryPageStore();
  const deferred = deferredAtHand();
  core = await createCore({ storage, clock: systemClock, random: systemRandom, deferred });
  const handle: Handle = async (request) => {
    const response = await core.handle(request);
    await beforeAnswer(request);
    if (!isStream(response.body)) return response;
    const stream = new WatchedStream(response.body);
    streams.push(stream);
    return { ...response, body: stream };
  };
  server = await listen(
    createListener(handle, (_request, error) => void failures.push(error)),
    '127.0.0.1',
    0,
  );
  await fetch(`${server.url}db`, { method: 'PUT' });
  const docs = Array.from({ length: COUNT }, (_unused, index) => ({ _id: `${100 + index}`, text: TEXT }));
  await post('_bulk_docs', { docs });
});

afterEach(async () => {
  await server.close();
  await core.close();
});

function post(path: string, body: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${server.url}db/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

const ids = JSON.stringify({
  docs: Array.from({ length: 4_000 }, (_unused, index) => ({ id: `${100 + (index % COUNT)}` })),
});
const requests = [
  ['_all_docs', 'GET /db/_all_docs?include_docs=true HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  [
    '_bulk_get',
    `POST /db/_bulk_get HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: ${ids.length}\r\n\r\n${ids}`,
  ],
] as const;

describe.each(requests)('a client that disconnects from %s', (_name, request) => {
  test('in the middle of the response ends the reading', async () => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.write(request);
    await once(socket, 'data');
    socket.destroy();
    await streams[0]?.cancelled;
    expect(streams.length).toBe(1);
    expect(await streams[0]?.pull()).toBe(undefined);
    expect(failures).toEqual([]);
  });

  test('before the response begins causes no reading', async () => {
    const isAnswered = new Promise<void>((resolve) => {
      beforeAnswer = async ({ signal }) => {
        const gone = signal && once(signal, 'abort');
        resolve();
        await gone;
      };
    });
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.write(request);
    await isAnswered;
    socket.destroy();
    await expect.poll(() => streams.length, patient).toBe(1);
    await streams[0]?.cancelled;
    expect(await streams[0]?.pull()).toBe(undefined);
    expect(failures).toEqual([]);
  });
});

test.each(['longpoll', 'continuous', 'eventsource'])(
  'a client that disconnects from a waiting %s feed ends it',
  async (feed) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.write(`GET /db/_changes?feed=${feed}&since=now HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await once(socket, 'data');
    await expect.poll(() => streams[0]?.pulls, patient).toBe(2);
    const waited = streams[0]?.chunk;
    socket.destroy();
    await streams[0]?.cancelled;
    expect(await waited).toBe(undefined);
    // What the server does with that end it does in this turn.
    await new Promise((resolve) => setImmediate(resolve));
    expect(failures).toEqual([]);
  },
);
