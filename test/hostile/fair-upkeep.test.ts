import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { arrayAt, at } from '../support/conformance/json.ts';
import { nextPoll } from '../support/conformance/toolkit.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { assertUndisturbed, Neighbour } from './support/neighbour.ts';

/** What a server does with a large database for its own sake, or once in a while, holds up no neighbour either. */
const limits = { longest: 100, turn: 65 };
const timeout = 120_000;
const DOCUMENTS = 50_000;

let folder: string;
let server: AttackedServer;
let neighbour: Neighbour;
let count = 0;

/** A database with two revisions of each document, one of them garbage; killed, so that the next one to open it has to replay its journal. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-hostile-'));
  server = await AttackedServer.start({ folder });
  await (await Neighbour.moveIn(server)).moveOut();
  await server.client.must(201, 'PUT', '/locals');
  const list = { list: new Array(12_500_000).fill(1.5) };
  await server.client.must(201, 'PUT', '/locals/_local/long', { json: list });
  await server.stop();
  await server.startAgain();
  await fill('large');
  await server.client.must(201, 'PUT', '/bulk');
  const docs = Array.from({ length: DOCUMENTS }, (_, n) => ({ n }));
  await server.client.must(201, 'POST', '/bulk/_bulk_docs', { json: { docs } });
  await server.kill();
}, 240_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

beforeEach(async () => {
  server = await AttackedServer.start({ folder });
  neighbour = await Neighbour.returnTo(server);
});

afterEach(async () => {
  await neighbour.moveOut();
  await server.remove();
});

async function fill(name: string): Promise<void> {
  await server.client.must(201, 'PUT', `/${name}`);
  for (let from = 0; from < DOCUMENTS; from += 10_000) {
    const docs = Array.from({ length: 10_000 }, (_, index) => documentOf(from + index));
    const written = await server.client.must(201, 'POST', `/${name}/_bulk_docs`, { json: { docs } });
    const rows = arrayAt(written.json);
    const next = docs.map((doc, index) => ({ ...doc, _rev: at(rows[index], 'rev'), again: true }));
    await server.client.must(201, 'POST', `/${name}/_bulk_docs`, { json: { docs: next } });
  }
}

function documentOf(n: number) {
  return { _id: `doc-${String(n).padStart(7, '0')}`, n, group: n % 10, text: 'some words '.repeat(20) };
}

const nothing = async () => undefined;

test('other requests are served in time while a database is opened after its process was killed', {
  timeout,
}, async () => {
  await assertUndisturbed(neighbour, limits, {
    prepare: nothing,
    disturb: () => server.client.must(201, 'PUT', `/large/after-${++count}`, { json: {} }),
  });
});

test('other requests are served in time while a database with one huge journal record is opened', {
  timeout,
}, async () => {
  await assertUndisturbed(neighbour, limits, {
    prepare: nothing,
    disturb: () => server.client.must(201, 'PUT', `/bulk/after-${++count}`, { json: {} }),
  });
});

test('other requests are served in time while a database with a long local document is opened, read and written', {
  timeout,
}, async () => {
  const { result } = await assertUndisturbed(neighbour, limits, {
    prepare: nothing,
    disturb: async () => {
      await server.client.must(201, 'PUT', `/locals/after-${++count}`, { json: {} });
      await server.client.must(201, 'PUT', `/locals/_local/short-${count}`, { json: {} });
      return server.client.drain('GET', '/locals/_local/long');
    },
  });
  expect(result.status).toBe(200);
  expect(result.length).toBeGreaterThan(50_000_000);
});

test('other requests are served in time while a database is compacted', { timeout }, async () => {
  await assertUndisturbed(neighbour, limits, {
    prepare: nothing,
    disturb: async () => {
      const headers = { 'content-type': 'application/json' };
      await server.client.must(202, 'POST', '/large/_compact', { headers });
      while (at((await server.client.must(200, 'GET', '/large')).json, 'compact_running') === true) await nextPoll();
    },
  });
});

test('other requests are served in time while a _find index is built', { timeout }, async () => {
  await assertUndisturbed(neighbour, limits, {
    prepare: async () => {
      const name = `by-group-${++count}`;
      const index = { index: { fields: ['group', 'text'] }, name, ddoc: name };
      await server.client.must(200, 'POST', '/large/_index', { json: index });
    },
    disturb: () => server.client.must(200, 'POST', '/large/_find', { json: { selector: { group: 7, text: 'none' } } }),
  });
});

test('other requests are served in time while a view is built', { timeout }, async () => {
  const { result } = await assertUndisturbed(neighbour, limits, {
    prepare: async () => {
      const name = `_design/by-text-${++count}`;
      const map = `function (doc) { emit([doc.group, doc.text, ${count}], doc); }`;
      await server.client.must(201, 'PUT', `/large/${name}`, { json: { views: { v: { map, reduce: '_count' } } } });
      return name;
    },
    disturb: (name) => server.client.must(200, 'GET', `/large/${name}/_view/v`),
  });
  expect(arrayAt(result.json, 'rows')).toHaveLength(1);
});

test('other requests are served in time while a database is deleted', { timeout }, async () => {
  await assertUndisturbed(neighbour, limits, {
    // On a busy machine it is done twice.
    prepare: async () => {
      const { status } = await server.client.ask('GET', '/large/_all_docs?limit=1');
      if (status === 404) await fill('large');
    },
    disturb: () => server.client.must(200, 'DELETE', '/large'),
  });
});
