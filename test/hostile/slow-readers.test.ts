import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, assert, beforeAll, describe, expect, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';
import { attack } from './support/figures.ts';
import { Neighbour } from './support/neighbour.ts';
import { megabytes, noProcessFiles } from './support/process-use.ts';

/**
 * Clients that take nothing of their answers, or stop in the middle of an upload, take no more memory than the budget of
 * `httpd/max_bytes_in_flight` and 100 MB, and others get their answers.
 */
const BUDGET = 134_217_728;
const MAX_BYTES = BUDGET + 100_000_000;
const timeout = 300_000;
/** On Linux all addresses of this net are those of the machine. */
const ATTACKERS = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1';
const headers = { 'content-type': 'application/json' };
const functions = {
  shows: { long: 'function () { return "y".repeat(5000000); }' },
  views: { rows: { map: 'function (doc) { if (doc._id < "doc-2") emit(doc._id, "z".repeat(300000)); }' } },
};

let server: AttackedServer;
let neighbour: Neighbour;
const sockets: Socket[] = [];

beforeAll(async () => {
  server = await AttackedServer.start({ settings: [`httpd/max_bytes_in_flight=${BUDGET}`] });
  neighbour = await Neighbour.moveIn(server);
  const { client } = server;
  await client.must(201, 'PUT', '/db');
  for (let from = 0; from < 4_000; from += 1_000) {
    const docs = Array.from({ length: 1_000 }, (_, n) => ({ _id: `doc-${from + n}`, text: 'x'.repeat(2_000) }));
    await client.must(201, 'POST', '/db/_bulk_docs', { json: { docs } });
  }
  const text = 'x'.repeat(6_000_000);
  const png = { content_type: 'image/png', data: 'aGVsbG8=' };
  await client.must(201, 'PUT', '/db/_local/long', { json: { text } });
  await client.must(201, 'PUT', '/db/medium', { json: { text: text.slice(0, 250_000) } });
  await client.must(201, 'PUT', '/db/attached', { json: { text, _attachments: { png } } });
  await client.must(201, 'PUT', '/db/_design/d', { json: functions });
  await client.must(200, 'GET', '/db/_design/d/_view/rows?limit=1');
}, timeout);

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

afterAll(async () => {
  await neighbour?.moveOut();
  await server?.remove();
});

/** Gives the status once the answer begins; undefined where nothing comes. */
async function send(request: string, content = 0): Promise<Socket> {
  const { hostname, port } = server.url;
  const socket = connect({ host: hostname, port: Number(port), localAddress: ATTACKERS });
  sockets.push(socket);
  socket.on('error', () => {});
  socket.write(`${request}\r\nHost: localhost\r\n\r\n`);
  if (content > 0) socket.write(Buffer.alloc(content, 1));
  await Promise.race([once(socket, content > 0 ? 'drain' : 'readable').catch(() => undefined), delay(3_000)]);
  return socket;
}

/** What others get meanwhile. */
async function others(): Promise<string> {
  const { client } = server;
  await client.must(200, 'GET', '/db/doc-7');
  await client.must(201, 'POST', '/db', { body: `{"text":"${'x'.repeat(10_000)}"}`, headers });
  const long = await client.drain('GET', '/db/_all_docs?include_docs=true');
  expect(long.status).toBe(200);
  expect(long.length).toBeGreaterThan(8_000_000);
  return `others ${megabytes(long.length)}`;
}

const get = (path: string, accept = 'application/json') => `GET ${path} HTTP/1.1\r\nAccept: ${accept}`;

const attacks: readonly (readonly [what: string, count: number, request: () => string, content?: number])[] = [
  ['a list with documents', 600, () => get('/db/_all_docs?include_docs=true')],
  ['changes with documents', 600, () => get('/db/_changes?include_docs=true')],
  ['a feed with documents', 600, () => get('/db/_changes?include_docs=true&feed=continuous')],
  ['a document of 250 kB', 600, () => get('/db/medium')],
  ['a local document of 6 MB', 150, () => get('/db/_local/long')],
  [
    'a document of 6 MB with attachments behind it',
    150,
    () => get('/db/attached?attachments=true', 'multipart/related'),
  ],
  ['a show of 5 MB', 50, () => get('/db/_design/d/_show/long')],
  ['rows of 300 kB', 300, () => get('/db/_design/d/_view/rows?limit=40')],
  [
    'an upload of which 3 MB come',
    200,
    () => `PUT /db/upload-${sockets.length}/png HTTP/1.1\r\nContent-Type: image/png\r\nContent-Length: 100000000`,
    3_000_000,
  ],
];

describe.skipIf(noProcessFiles !== undefined)('clients that stop reading or sending', () => {
  test.for(attacks)(
    'take bounded memory, and other clients are served: %s',
    { timeout },
    async ([what, count, request, content]) => {
      const { gained } = await attack(server, neighbour, `${count} × ${what}`, {
        work: async () => {
          await Promise.all(Array.from({ length: count }, () => send(request(), content)));
          return others();
        },
        outcome: (got) => `nothing more than a part each; ${got}`,
      });
      assert.isAtMost(gained, MAX_BYTES, megabytes(gained));
    },
  );

  test("don't block bodies that need memory of their own", { timeout }, async () => {
    const request = get('/db/_all_docs?include_docs=true');
    const body = `{"text":"${'x'.repeat(2_000_000)}"}`;
    const { gained } = await attack(server, neighbour, '600 × a list with documents, beside a body of 2 MB', {
      work: async () => {
        await Promise.all(Array.from({ length: 600 }, () => send(request)));
        const from = performance.now();
        await server.client.must(201, 'POST', '/db', { body, headers });
        return performance.now() - from;
      },
      outcome: (ms) => `the body was taken after ${(ms / 1000).toFixed(1)} s`,
    });
    assert.isAtMost(gained, MAX_BYTES, megabytes(gained));
  });
});
