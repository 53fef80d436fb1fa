import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';
import { waitBesideBareServer } from './support/bare-server.ts';
import { attack } from './support/figures.ts';
import { Neighbour } from './support/neighbour.ts';
import { MAX_MS, observed } from './support/observation.ts';
import { noProcessFiles } from './support/process-use.ts';

/**
 * A thousand small requests that come at once, each of which becomes much: together they take no more memory than the budget of
 * `httpd/max_bytes_in_flight` and 100 MB, and hold the thread for no longer than others. Those that are put off are told so.
 */
const CLIENTS = 1_000;
const BODY_BYTES = 15_000;
const QUERY_BYTES = 15_000;
const DOCUMENTS = 5_000;
const INFLATED_BYTES = 10_000_000;
/** Some ask for more than can be answered at all. */
const PATIENCE_MS = 10_000;
const timeout = 300_000;
/** How often the bare server is measured, since how long its neighbour waits differs: the median counts. */
const BARE_ROUNDS = 5;
/** On Linux all addresses of this net are those of the machine. */
const ATTACKERS = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1';

let folder: string;
let server: AttackedServer;
let neighbour: Neighbour;
let sockets: readonly Socket[] = [];
/** What the neighbour of a server that does nothing waits while as many requests come at once: Node handles them before anything else. */
let bareMs = 0;

beforeAll(async () => {
  const text = post('/', 'x'.repeat(BODY_BYTES));
  const waits: number[] = [];
  for (let round = 0; round < BARE_ROUNDS; round++) {
    const wait = await waitBesideBareServer({
      prepare: (url) => Promise.all(Array.from({ length: CLIENTS }, () => connected(url))),
      disturb: (all) => Promise.all(all.map((socket) => answered(socket, text))),
    });
    waits.push(wait);
  }
  bareMs = waits.sort((one, other) => one - other)[Math.floor(BARE_ROUNDS / 2)] ?? 0;
  console.log(`the neighbour of a bare node:http server waits ${Math.round(bareMs)} ms`);
}, timeout);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-hostile-'));
  server = await AttackedServer.start({ folder });
  const { client } = server;
  await client.must(201, 'PUT', '/db');
  const docs = Array.from({ length: DOCUMENTS }, (_, n) => ({ _id: `${n}`, n, text: 'x'.repeat(2_000) }));
  await client.must(201, 'POST', '/db/_bulk_docs', { json: { docs } });
  await client.must(201, 'PUT', '/db/_design/d', {
    json: { views: { v: { map: 'function (doc) { emit(doc.n, null); }', reduce: '_count' } } },
  });
  await (await Neighbour.moveIn(server)).moveOut();
  await server.stop();
}, timeout);

afterAll(() => rm(folder, { recursive: true, force: true }));

// A server for each case: what one has taken must not be there for the next.
beforeEach(async () => {
  server = await AttackedServer.start({ folder });
  await server.client.must(200, 'GET', '/db/_design/d/_view/v?limit=1');
  // What is read once is in the cache, and none of the clients' doing.
  await server.client.drain('GET', '/db/_all_docs?include_docs=true');
  neighbour = await Neighbour.returnTo(server);
  sockets = await Promise.all(Array.from({ length: CLIENTS }, () => connected(server.url)));
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await neighbour.moveOut();
  await server.remove();
});

/** As many of the items as have so many characters. */
function listOf(item: (n: number) => string, length = BODY_BYTES): string {
  const items: string[] = [];
  for (let [n, rest] = [0, length]; rest > 0; n++) {
    const text = item(n);
    items.push(text);
    rest -= text.length + 1;
  }
  return items.join(',');
}

function post(path: string, body: string, method = 'POST'): string {
  const head = `Host: localhost\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close`;
  return `${method} ${path} HTTP/1.1\r\n${head}\r\n\r\n${body}`;
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
}

/** A document that a few kilobytes become; of several that write it one succeeds. */
function compressed(): Buffer {
  const body = gzipSync(`{"text":"${'x'.repeat(INFLATED_BYTES)}"}`);
  const type = 'Content-Type: application/json\r\nContent-Encoding: gzip';
  const head = `Host: localhost\r\n${type}\r\nContent-Length: ${body.length}\r\nConnection: close`;
  return Buffer.concat([Buffer.from(`PUT /db/compressed HTTP/1.1\r\n${head}\r\n\r\n`), body]);
}

async function connected({ hostname, port }: URL): Promise<Socket> {
  const socket = connect({ host: hostname, port: Number(port), localAddress: ATTACKERS });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** The status of its answer, which is read to its end. */
async function answered(socket: Socket, request: string | Buffer): Promise<string> {
  let status = '';
  socket.on('data', (chunk: Buffer) => {
    status ||= chunk.toString('latin1', 9, 12);
  });
  socket.write(request);
  await Promise.race([once(socket, 'close'), delay(PATIENCE_MS, undefined, { ref: false })]);
  return socket.closed ? status || 'none' : `${status || 'none'} so far`;
}

function counted(statuses: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} × ${status}`).join(', ');
}

const requests: readonly (readonly [what: string, request: () => string | Buffer])[] = [
  ['queries of _all_docs', () => post('/db/_all_docs/queries', `{"queries":[${listOf(() => '{"limit":0}')}]}`)],
  ['queries of all rows', () => post('/db/_all_docs/queries', `{"queries":[${listOf(() => '{}')}]}`)],
  ['queries of a view', () => post('/db/_design/d/_view/v/queries', `{"queries":[${listOf(() => '{"limit":1}')}]}`)],
  ['keys', () => post('/db/_all_docs', `{"keys":[${listOf((n) => `"${n}"`)}]}`)],
  ['keys with documents', () => post('/db/_all_docs?include_docs=true', `{"keys":[${listOf((n) => `"${n}"`)}]}`)],
  ['empty arrays as keys', () => post('/db/_all_docs', `{"keys":[${listOf(() => '[]')}]}`)],
  ['keys of a view', () => post('/db/_design/d/_view/v?reduce=false', `{"keys":[${listOf((n) => `${n}`)}]}`)],
  ['keys of groups', () => post('/db/_design/d/_view/v?group=true', `{"keys":[${listOf((n) => `${n}`)}]}`)],
  ['keys in the address', () => get(`/db/_all_docs?keys=[${listOf((n) => `%22${n}%22`, QUERY_BYTES)}]`)],
  ['empty arrays as keys in the address', () => get(`/db/_all_docs?keys=[${listOf(() => '[]', QUERY_BYTES)}]`)],
  ['selectors', () => post('/db/_find', `{"selector":{"$or":[${listOf((n) => `{"n":${n}}`)}]},"limit":1}`)],
  ['selectors explained', () => post('/db/_explain', `{"selector":{"$or":[${listOf((n) => `{"n":${n}}`)}]}}`)],
  ['found documents', () => post('/db/_find', '{"selector":{"_id":{"$gt":null}},"limit":2000}')],
  ['fields of indexes', () => post('/db/_index', `{"index":{"fields":[${listOf((n) => `"f${n % 900}"`, 5_000)}]}}`)],
  ['documents', () => post('/db/_bulk_docs', `{"docs":[${listOf(() => '{}')}]}`)],
  ['documents that are there', () => post('/db/_bulk_docs', `{"docs":[${listOf((n) => `{"_id":"${n}"}`)}]}`)],
  ['revisions to read', () => post('/db/_bulk_get', `{"docs":[${listOf((n) => `{"id":"${n}"}`)}]}`)],
  ['ids of changes', () => post('/db/_changes?filter=_doc_ids', `{"doc_ids":[${listOf((n) => `"${n}"`)}]}`)],
  ['revisions', () => post('/db/_revs_diff', `{${listOf((n) => `"${n}":["1-0${n}"]`)}}`)],
  ['revisions of nothing', () => post('/db/_revs_diff', `{${listOf((n) => `"x${n}":["1-0"]`)}}`)],
  ['databases', () => post('/_dbs_info', `{"keys":[${listOf((n) => `"d${n}"`)}]}`)],
  ['names that log in', () => post('/_session', `{"name":"x","password":"${'x'.repeat(BODY_BYTES)}"}`)],
  ['revisions to purge', () => post('/db/_purge', `{${listOf((n) => `"x${n}":["1-0"]`)}}`)],
  ['compressed bodies', compressed],
];

describe.skipIf(noProcessFiles !== undefined)('a thousand simultaneous requests take bounded memory', () => {
  test.for(requests)('%s', { timeout }, async ([what, request]) => {
    const because = 'that much a bare node:http server makes its neighbour wait, too';
    observed().permit({ waitMs: MAX_MS + bareMs, because });
    const text = request();
    const { result } = await attack(server, neighbour, what, {
      work: () => Promise.all(sockets.map((socket) => answered(socket, text))),
      outcome: counted,
    });
    for (const status of result) assert.match(status, /^(?:20[01]|4\d\d|503|none so far)/);
  });
});
