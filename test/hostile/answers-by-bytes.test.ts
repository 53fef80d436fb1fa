import { connect, type Socket } from 'node:net';
import { afterAll, assert, beforeAll, describe, expect, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';
import { attack } from './support/figures.ts';
import { Neighbour } from './support/neighbour.ts';
import { megabytes, noProcessFiles } from './support/process-use.ts';

/**
 * Answers are made while they are sent, by bytes rather than by counts of rows: whatever is asked, and by however many, takes no more memory
 * than the budget of `httpd/max_bytes_in_flight` and 100 MB.
 */
const BUDGET = 67_108_864;
const MAX_BYTES = BUDGET + 100_000_000;
/** A turn of the server's thread, of processor time: a neighbour waits for one or two of them. */
const MAX_TURN = 100;
const timeout = 300_000;
const headers = { 'content-type': 'application/json' };

const HUGE_BYTES = 8_000_000;
const LARGE_BYTES = 4_000_000;
const LARGE = Array.from({ length: 24 }, (_, n) => `large-${n}`);
const CONFLICTS = 20_000;

let server: AttackedServer;
let neighbour: Neighbour;

beforeAll(async () => {
  server = await AttackedServer.start({ settings: [`httpd/max_bytes_in_flight=${BUDGET}`] });
  neighbour = await Neighbour.moveIn(server);
  await server.client.must(201, 'PUT', '/db');
  await put('huge', HUGE_BYTES);
  for (const id of LARGE) await put(id, LARGE_BYTES);
  const docs = Array.from({ length: CONFLICTS }, (_, n) => ({ _id: 'torn', _rev: revOf(n), n }));
  await server.client.must(201, 'POST', '/db/_bulk_docs', { json: { new_edits: false, docs } });
}, timeout);

afterAll(async () => {
  await neighbour.moveOut();
  await server.remove();
});

function revOf(n: number): string {
  return `1-${String(n).padStart(32, '0')}`;
}

async function put(id: string, bytes: number): Promise<void> {
  const body = Buffer.from(`{"text":"${'x'.repeat(bytes)}"}`);
  await server.client.must(201, 'PUT', `/db/${id}`, { body, headers });
}

function post(path: string, json: unknown): Promise<number> {
  const body = Buffer.from(JSON.stringify(json));
  return server.client.drain('POST', path, { body, headers }).then(({ status, length }) => {
    expect(status).toBe(200);
    return length;
  });
}

async function assertBounded(name: string, requests: readonly (() => Promise<number>)[]): Promise<number> {
  const { result, gained, latencies } = await attack(server, neighbour, name, {
    work: () => Promise.all(requests.map((ask) => ask())),
    outcome: (lengths) => `${megabytes(lengths.reduce((sum, length) => sum + length, 0))} of answers`,
  });
  assert.isAtMost(gained, MAX_BYTES, `${name}: ${megabytes(gained)} more`);
  assert.isAtMost(latencies.longestTurn ?? 0, MAX_TURN, `${name}: the longest turn`);
  return Math.min(...result);
}

const twice = <T>(one: T): readonly T[] => [one, one];

describe.skipIf(noProcessFiles !== undefined)('the memory of responses is bounded', () => {
  test('for _bulk_get of one large document many times', { timeout }, async () => {
    const docs = Array.from({ length: 40 }, () => ({ id: 'huge' }));
    const length = await assertBounded(
      '_bulk_get, 40 × 8 MB, twice',
      twice(() => post('/db/_bulk_get', { docs })),
    );
    expect(length).toBeGreaterThan(40 * HUGE_BYTES);
  });

  test('for _all_docs with the key of one large document many times', { timeout }, async () => {
    const keys = Array.from({ length: 40 }, () => 'huge');
    const ask = () => post('/db/_all_docs?include_docs=true', { keys });
    expect(await assertBounded('_all_docs by keys, 40 × 8 MB, twice', twice(ask))).toBeGreaterThan(40 * HUGE_BYTES);
  });

  test('for _bulk_get of many large documents', { timeout }, async () => {
    const docs = LARGE.map((id) => ({ id }));
    const length = await assertBounded('_bulk_get, 24 × 4 MB', [() => post('/db/_bulk_get', { docs })]);
    expect(length).toBeGreaterThan(LARGE.length * LARGE_BYTES);
  });

  test('for lists and changes with all documents', { timeout }, async () => {
    const get = (path: string) => () => server.client.drain('GET', path).then(({ length }) => length);
    const paths = ['/db/_all_docs?include_docs=true', '/db/_changes?include_docs=true'];
    const length = await assertBounded('_all_docs and _changes with documents', paths.map(get));
    expect(length).toBeGreaterThan(LARGE.length * LARGE_BYTES);
  });

  test("for clients that don't read", { timeout }, async () => {
    const sockets: Socket[] = [];
    const asked = [
      'GET /db/huge',
      'GET /db/_all_docs?include_docs=true&startkey=%22large%22',
      'GET /db/_changes?include_docs=true',
      'GET /db/_changes?include_docs=true&feed=continuous',
      'GET /db/torn?open_revs=all',
      'GET /db/torn?conflicts=true',
    ];
    try {
      const work = async () => {
        for (let client = 0; client < 20; client++)
          for (const request of asked) sockets.push(await askWithoutReading(request));
        return sockets.length;
      };
      const { gained } = await attack(server, neighbour, 'clients that do not read', {
        work,
        outcome: (count) => `${count} clients`,
      });
      assert.isAtMost(gained, MAX_BYTES, megabytes(gained));
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  test('for _bulk_get of one document with many conflicts many times', { timeout }, async () => {
    const docs = Array.from({ length: 20 }, () => ({ id: 'torn' }));
    const ask = () => post('/db/_bulk_get', { docs });
    expect(await assertBounded('_bulk_get, 20 × 20,000 conflicts', [ask])).toBeGreaterThan(20 * CONFLICTS * 50);
  });

  test('for each of many conflicts with the ids of all', { timeout }, async () => {
    const docs = Array.from({ length: 100 }, (_, n) => ({ id: 'torn', rev: revOf(n * 100) }));
    const ask = () => post('/db/_bulk_get?conflicts=true&revs=true', { docs });
    await assertBounded('_bulk_get of 100 revisions with 20,000 conflicts each', [ask]);
    await server.client.must(200, 'GET', '/db/torn?conflicts=true&revs_info=true');
  });
});

/** Sends a request, waits until the answer has begun, and reads nothing more of it. */
function askWithoutReading(request: string): Promise<Socket> {
  const { hostname, port } = server.url;
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', reject);
    socket.on('readable', () => resolve(socket));
    socket.write(`${request} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  });
}
