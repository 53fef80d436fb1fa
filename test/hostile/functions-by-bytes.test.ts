import { afterAll, assert, beforeAll, describe, expect, test } from 'vitest';
import { arrayAt, numberAt } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { attack } from './support/figures.ts';
import { Neighbour } from './support/neighbour.ts';
import { megabytes, noProcessFiles } from './support/process-use.ts';

/** What functions emit, and lists of many small things, take bounded memory, and hold up nobody. */
const MAX_BYTES = 268_435_456 + 100_000_000;
const MAX_TURN = 100;
const timeout = 300_000;

let server: AttackedServer;
let neighbour: Neighbour;

beforeAll(async () => {
  server = await AttackedServer.start();
  neighbour = await Neighbour.moveIn(server);
  await server.client.must(201, 'PUT', '/db');
  const docs = Array.from({ length: 60 }, (_, n) => ({ _id: `doc-${n}`, n }));
  await server.client.must(201, 'POST', '/db/_bulk_docs', { json: { docs } });
}, timeout);

afterAll(async () => {
  await neighbour.moveOut();
  await server.remove();
});

async function assertBounded<T>(name: string, work: () => Promise<T>, outcome: (result: T) => string): Promise<T> {
  const { result, gained, latencies } = await attack(server, neighbour, name, { work, outcome });
  assert.isAtMost(gained, MAX_BYTES, `${name}: ${megabytes(gained)} more`);
  assert.isAtMost(latencies.longestTurn ?? 0, MAX_TURN, `${name}: the longest turn`);
  return result;
}

describe.skipIf(noProcessFiles !== undefined)('memory is bounded', () => {
  test('of a view that emits 7 MB for each document', { timeout }, async () => {
    const map = 'function (doc) { emit(doc.n, new Array(7000000).join("x")); }';
    await server.client.must(201, 'PUT', '/db/_design/large', { json: { views: { v: { map } } } });
    const ask = () => server.client.drain('GET', '/db/_design/large/_view/v');
    const outcome = ({ status, length }: { status: number; length: number }) => `${status}, ${megabytes(length)}`;
    const { status, length } = await assertBounded('a view of 60 × 7 MB', ask, outcome);
    expect(status).toBe(200);
    expect(length).toBeGreaterThan(60 * 6_999_999);
  });

  test('of _dbs_info with one name 200,000 times', { timeout }, async () => {
    const keys = Array.from({ length: 200_000 }, () => 'db');
    const ask = () => server.client.ask('POST', '/_dbs_info', { json: { keys } });
    const answer = await assertBounded(
      '_dbs_info, 200,000 × a name',
      ask,
      ({ status, bytes }) => `${status}, ${megabytes(bytes.length)}`,
    );
    // How much a body may have is for the server to say.
    assert.include([200, 413], answer.status);
    const few = await server.client.must(200, 'POST', '/_dbs_info', { json: { keys: ['db', 'none', 'db'] } });
    expect([0, 2].map((at) => numberAt(few.json, at, 'info', 'doc_count'))).toEqual([61, 61]);
    expect(arrayAt(few.json)).toHaveLength(3);
  });

  test('of a multipart body with very many empty parts', { timeout }, async () => {
    const part = '\r\n--b\r\n\r\n';
    const body = Buffer.from(`--b\r\ncontent-type: application/json\r\n\r\n{"n":1}${part.repeat(500_000)}\r\n--b--`);
    const headers = { 'content-type': 'multipart/related; boundary="b"' };
    const ask = () => server.client.ask('PUT', '/db/parts', { body, headers });
    const answer = await assertBounded('500,000 empty parts', ask, ({ status }) => `${status}`);
    expect(answer.status).toBe(201);
  });
});
