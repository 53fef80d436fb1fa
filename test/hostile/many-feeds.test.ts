import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, assert, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/base/shared/clock.ts';
import type { ByteStream, PlainResponse } from '../../src/base/shared/message.ts';
import { createCore } from '../../src/core/core.ts';
import { deferredAtHand } from '../../src/core/deferred/deferred-code.ts';
import { createMemoryPageStore } from '../../src/storage/memory-page-store.ts';
import { toStream } from '../support/conformance/body-stream.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { noProcessFiles, processorSeconds } from './support/process-use.ts';

/** A thousand feeds of changes that wait: what they take, and how soon they are told. */
const FEEDS = 1_000;
const MAX_BYTES_PER_FEED = 20_000;
const MAX_DELIVERY_MS = 200;
/** For how long a server with feeds that wait is watched, and what it may use of a processor meanwhile. */
const WATCH_SECONDS = 3;
const MAX_PROCESSOR_SECONDS = 0.1;
/** The quickest of them counts: the clients run on the same machine. */
const ROUNDS = 7;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

async function heapBytes(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    await delay(10);
    collectGarbage();
  }
  return process.memoryUsage().heapUsed;
}

/** The core on memory, asked through its one door. */
async function openCore() {
  const parts = { clock: systemClock, random: systemRandom, deferred: deferredAtHand() };
  const core = await createCore({ storage: createMemoryPageStore(), ...parts });
  const ask = async (method: string, url: string, body: string | null = null): Promise<PlainResponse> =>
    core.handle({ method, url, headers: { accept: 'application/json', 'content-type': 'application/json' }, body });
  /** Follows a database, up to where the feed waits. */
  const follow = async (name: string): Promise<Waiting> => {
    const url = `/${name}/_changes?feed=continuous&since=now&heartbeat=60000&include_docs=true`;
    const stream = toStream((await ask('GET', url)).body);
    expect(new TextDecoder().decode(await stream.pull())).toBe('\n');
    return { stream, next: stream.pull() };
  };
  return { core, ask, follow };
}

interface Waiting {
  readonly stream: ByteStream;
  readonly next: Promise<Uint8Array | undefined>;
}

describe('the memory of feeds that wait', () => {
  test.each([
    ['of one database', (_n: number) => 'db'],
    ['of as many databases', (n: number) => `db${n}`],
  ])('%s', async (what, nameOf) => {
    const { core, ask, follow } = await openCore();
    for (const name of new Set(Array.from({ length: FEEDS }, (_, n) => nameOf(n)))) {
      expect((await ask('PUT', `/${name}`)).status).toBe(201);
    }
    // Once for all that is made at the first time.
    for (let n = 0; n < FEEDS; n += 1) await (await follow(nameOf(n))).stream.cancel();
    const before = await heapBytes();
    const feeds: Waiting[] = [];
    for (let n = 0; n < FEEDS; n += 1) feeds.push(await follow(nameOf(n)));
    const each = ((await heapBytes()) - before) / FEEDS;
    console.log(`${FEEDS} feeds ${what} take ${Math.round(each)} bytes each`);
    assert.isAtMost(each, MAX_BYTES_PER_FEED);
    expect((await ask('PUT', `/${nameOf(7)}/doc`, '{}')).status).toBe(201);
    expect(new TextDecoder().decode(await feeds[7]?.next)).toContain('"id":"doc"');
    for (const { stream } of feeds) await stream.cancel();
    feeds.length = 0;
    const left = ((await heapBytes()) - before) / FEEDS;
    assert.isAtMost(left, MAX_BYTES_PER_FEED / 10, 'what is left when they were given up');
    await core.close();
  });
});

describe.skipIf(noProcessFiles !== undefined)('a server with waiting feeds', () => {
  let server: AttackedServer;
  const clients: Client[] = [];

  afterEach(async () => {
    for (const client of clients.splice(0)) client.socket.destroy();
    await server.remove();
  });

  async function follow(path: string, head: string): Promise<void> {
    const { hostname, port } = server.url;
    while (clients.length < FEEDS) {
      const some = Array.from({ length: 100 }, () => new Client(connect(Number(port), hostname)));
      clients.push(...some);
      await Promise.all(some.map((client) => client.ask(path, head)));
    }
  }

  test('notifies all of them of a write at once', async () => {
    server = await AttackedServer.start({ settings: [`httpd/max_connections=${2 * FEEDS}`] });
    await server.client.must(201, 'PUT', '/db');
    const times: number[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) {
      const path = `/db/_changes?feed=longpoll&since=${round - 1}&heartbeat=60000`;
      if (clients.length === 0) await follow(path, '{"results":[\n');
      else await Promise.all(clients.map((client) => client.ask(path, '{"results":[\n')));
      const told = Promise.all(clients.map((client) => client.until(`"last_seq":${round},"pending":0}\n`)));
      const begun = performance.now();
      await server.client.must(201, 'PUT', `/db/doc${round}`, { json: {} });
      await told;
      times.push(performance.now() - begun);
    }
    console.log(`a write and ${FEEDS} longpolls: ${times.map((ms) => Math.round(ms)).join(', ')} ms`);
    assert.isAtMost(Math.min(...times), MAX_DELIVERY_MS);
  });

  test('is idle while nothing is written', async () => {
    server = await AttackedServer.start({ isAtRest: true, settings: [`httpd/max_connections=${2 * FEEDS}`] });
    await server.client.must(201, 'PUT', '/db');
    await follow('/db/_changes?feed=continuous&heartbeat=60000', '\r\n\r\n');
    await delay(500);
    const before = processorSeconds(server.pid);
    await delay(1_000 * WATCH_SECONDS);
    const used = processorSeconds(server.pid) - before;
    console.log(`${FEEDS} feeds that wait: ${used} s of a processor in ${WATCH_SECONDS} s`);
    assert.isAtMost(used, MAX_PROCESSOR_SECONDS);
  });
});

/** One connection, used for one request after another. */
class Client {
  readonly socket: Socket;
  #text = '';
  #wanted = '';
  #wake: () => void = () => undefined;

  constructor(socket: Socket) {
    this.socket = socket.setEncoding('utf8').on('data', (text: string) => {
      this.#text += text;
      if (this.#text.includes(this.#wanted)) this.#wake();
    });
  }

  /** Resolves when `head` has come. */
  ask(path: string, head: string): Promise<void> {
    this.#text = '';
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n`);
    return this.until(head);
  }

  until(text: string): Promise<void> {
    this.#wanted = text;
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#text.includes(text)) resolve();
    });
  }
}
