/** PouchDB and servers of the family as the other end: they replicate with a Node server, and our replicator with them. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { at } from '../../support/conformance/json.ts';
import { NodeHost } from '../../support/conformance/node-host.ts';
import { patient } from '../../support/patience.ts';
import { PouchDB } from '../../support/pouchdb-in-memory.ts';
import { PouchServer } from '../../support/replication/pouch-server.ts';
import { treesAt, treesOfPouch } from '../../support/replication/trees.ts';

let host: NodeHost;
let url: string;
let pouch: PouchDB;
let names = 0;

beforeAll(async () => {
  host = await NodeHost.start();
});
afterAll(() => host.close());

beforeEach(async () => {
  const name = `replicated-${++names}`;
  url = `${host.baseUrl}/${name}`;
  await post('PUT', url);
  pouch = new PouchDB(name, { adapter: 'memory' });
});
afterEach(() => pouch.destroy());

async function post(method: string, address: string, body?: unknown): Promise<unknown> {
  const response = await fetch(address, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer: unknown = await response.json();
  if (!response.ok) throw new Error(`${method} ${address}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

const attachment = (text: string) => ({
  content_type: 'text/plain',
  data: Buffer.from(text).toString('base64'),
});

/** Documents of each kind, as the two ends can have written them. */
function documentsFrom(end: string): readonly object[] {
  const digit = end === 'server' ? 'c' : 'd';
  const plain = Array.from({ length: 120 }, (_, index) => ({ _id: `${end}-${index}`, _rev: fakeRev(1, 'a'), index }));
  return [
    ...plain,
    // Both ends have edited the same revision.
    replicated('both', 2, `${digit}a`, { end }),
    replicated(`deleted-${end}`, 2, 'ba', { _deleted: true }),
    replicated(`conflict-${end}`, 3, 'eba', { n: 1 }),
    replicated(`conflict-${end}`, 3, 'cba', { n: 2 }),
    replicated(`attached-${end}`, 1, 'a', {
      _attachments: { 'é 😀': attachment(end), long: attachment(end.repeat(30_000)) },
    }),
    { _id: `_design/${end}`, _rev: fakeRev(1, 'a'), views: { all: { map: 'function (doc) { emit(doc._id); }' } } },
  ];
}

async function fillBoth(): Promise<void> {
  await post('POST', `${url}/_bulk_docs`, { new_edits: false, docs: documentsFrom('server') });
  await pouch.bulkDocs(documentsFrom('client'), { new_edits: false });
}

async function expectSame(): Promise<void> {
  const [here, there] = await Promise.all([treesOfPouch(pouch), treesAt(url)]);
  expect(here).toEqual(there);
  expect(Object.keys(here)).toHaveLength(249);
  expect(here['both']?.leaves).toHaveLength(2);
  expect(here['both']?.winner).toBe(fakeRev(2, 'd'));
}

describe('PouchDB replicates with a Node server', () => {
  test('once in both directions', async () => {
    await fillBoth();
    const outcome = await pouch.sync(url, { batch_size: 50 });
    expect(at(outcome, 'push')).toMatchObject({ ok: true, doc_write_failures: 0, docs_written: 126 });
    expect(at(outcome, 'pull')).toMatchObject({ ok: true, doc_write_failures: 0, docs_written: 126 });
    await expectSame();
    const again = await pouch.sync(url);
    expect(at(again, 'push')).toMatchObject({ docs_read: 0 });
    expect(at(again, 'pull')).toMatchObject({ docs_read: 0 });
  });

  test('live in both directions: edits, a conflict, attachments and deletions arrive', async () => {
    await fillBoth();
    const sync = pouch.sync(url, { live: true, retry: true, heartbeat: 1_000 });
    await expect.poll(async () => at(await pouch.info(), 'doc_count'), patient).toBe(247);
    await expect.poll(async () => at(await post('GET', url), 'doc_count'), patient).toBe(247);
    await expectSame();
    const written = await pouch.put({ _id: 'live', n: 1 });
    await expect.poll(() => post('GET', `${url}/live`).catch(() => undefined), patient).toMatchObject({ n: 1 });
    await post('PUT', `${url}/live/note.txt?rev=${written.rev}`, 'a text');
    await expect.poll(() => pouch.getAttachment('live', 'note.txt').then(String, () => ''), patient).toBe('"a text"');
    const { _rev } = Object(await pouch.get('live'));
    await pouch.remove('live', _rev);
    const status = async () => (await fetch(`${url}/live`)).status;
    await expect.poll(status, patient).toBe(404);
    sync.cancel();
    await sync;
    expect(await treesOfPouch(pouch)).toEqual(await treesAt(url));
  });
});

/** By `POST /_replicate` of the Node server. */
function replicate(source: string, target: string, more: object = {}): Promise<unknown> {
  return post('POST', `${host.baseUrl}/_replicate`, { source, target, ...more });
}

describe('our replicator with a server of PouchDB that knows no _bulk_get', () => {
  let server: PouchServer;

  beforeEach(async () => {
    server = await PouchServer.start(pouch);
  });
  afterEach(() => server.close());

  test('pulls and pushes once', async () => {
    await fillBoth();
    const name = url.slice(url.lastIndexOf('/') + 1);
    const pulled = await replicate(server.url, name, { worker_batch_size: 50 });
    expect(at(pulled, 'history', 0)).toMatchObject({ doc_write_failures: 0, docs_written: 126 });
    const pushed = await replicate(name, server.url, { worker_batch_size: 50 });
    expect(at(pushed, 'history', 0)).toMatchObject({ doc_write_failures: 0, docs_written: 126 });
    await expectSame();
    expect(server.requests.filter((one) => one === 'POST /db/_bulk_get')).toHaveLength(1);
    // What was pushed is new in its feed, and known here.
    expect(at(await replicate(server.url, name), 'history', 0)).toMatchObject({ missing_checked: 127, docs_read: 0 });
    const before = server.requests.length;
    expect(await replicate(server.url, name)).toMatchObject({ ok: true, no_changes: true });
    expect(server.requests.length - before).toBeLessThanOrEqual(3);
  });

  test('pulls and pushes continuously', async () => {
    await fillBoth();
    const name = url.slice(url.lastIndexOf('/') + 1);
    await replicate(server.url, name, { continuous: true });
    await replicate(name, server.url, { continuous: true });
    await expect.poll(async () => at(await pouch.info(), 'doc_count'), patient).toBe(247);
    await expect.poll(async () => at(await post('GET', url), 'doc_count'), patient).toBe(247);
    await pouch.put({ _id: 'from the client', n: 1 });
    await post('PUT', `${url}/from%20the%20server`, { n: 2 });
    await expect.poll(() => pouch.get('from the server').catch(() => undefined), patient).toMatchObject({ n: 2 });
    const status = async () => (await fetch(`${url}/from%20the%20client`)).status;
    await expect.poll(status, patient).toBe(200);
    await replicate(server.url, name, { continuous: true, cancel: true });
    await replicate(name, server.url, { continuous: true, cancel: true });
    expect(await treesOfPouch(pouch)).toEqual(await treesAt(url));
  });
});

/** The address of a server of the family, with an account that may make databases: `http://name:password@host:5984`. */
const peerUrl = process.env['TEST_PEER_URL'];
const withPeer = peerUrl === undefined ? 'skipped: TEST_PEER_URL names no server of the family' : 'of TEST_PEER_URL';

describe.skipIf(peerUrl === undefined)(`our replicator with a server of the family (${withPeer})`, () => {
  test('pushes and pulls', async () => {
    await fillBoth();
    await pouch.sync(url);
    const foreign = `${String(peerUrl).replace(/\/$/, '')}/settee-test-${Date.now()}`;
    const name = url.slice(url.lastIndexOf('/') + 1);
    const pushed = await replicate(name, foreign, { create_target: true });
    expect(at(pushed, 'history', 0)).toMatchObject({ doc_write_failures: 0 });
    const back = `${name}-back`;
    await replicate(foreign, back, { create_target: true });
    expect(await treesAt(`${host.baseUrl}/${back}`)).toEqual(await treesAt(url));
    expect(await replicate(foreign, back)).toMatchObject({ no_changes: true });
    const { username, password, href } = new URL(foreign);
    const authorization = `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`;
    const bare = href.replace(/\/\/[^@/]*@/, '//');
    expect((await fetch(bare, { method: 'DELETE', headers: { authorization } })).status).toBe(200);
  });
});
