import { afterEach, assert, beforeEach, expect, test } from 'vitest';
import { at, numberAt } from '../support/conformance/json.ts';
import { nextPoll } from '../support/conformance/toolkit.ts';
import { AttackedServer } from './support/attacked-server.ts';

/** A purge waits for the compaction beside it; nothing of that is a failure that belongs into the log. */
const DOCUMENTS = 20_000;

let server: AttackedServer;

beforeEach(async () => {
  server = await AttackedServer.start();
  await server.client.must(201, 'PUT', '/db');
});

afterEach(() => server.remove());

test('purges during a compaction are all carried out', { timeout: 120_000 }, async () => {
  const docs = Array.from({ length: DOCUMENTS }, (_, n) => ({ _id: `doc-${n}`, text: 'x'.repeat(1_000) }));
  // Each look at an answer's `json` parses it.
  const first = (await server.client.must(201, 'POST', '/db/_bulk_docs', { json: { docs } })).json;
  // Garbage for the compaction to take its time with.
  const next = docs.map((doc, n) => ({ ...doc, _rev: at(first, n, 'rev') }));
  const second = (await server.client.must(201, 'POST', '/db/_bulk_docs', { json: { docs: next } })).json;

  await server.client.must(202, 'POST', '/db/_compact', { headers: { 'content-type': 'application/json' } });
  let beside = 0;
  let purged = 0;
  while (purged < DOCUMENTS) {
    const isRunning = at((await server.client.must(200, 'GET', '/db')).json, 'compact_running') === true;
    if (!isRunning) break;
    beside++;
    const revisions = { [`doc-${purged}`]: [at(second, purged, 'rev')] };
    const answer = await server.client.must(200, 'POST', '/db/_purge', { json: revisions });
    expect(at(answer.json, 'purged')).toEqual(revisions);
    purged++;
  }
  assert.isAbove(beside, 0, 'the compaction should have run beside one purge at least');
  while (at((await server.client.must(200, 'GET', '/db')).json, 'compact_running') === true) await nextPoll();

  const info = await server.client.must(200, 'GET', '/db');
  expect(numberAt(info.json, 'doc_count')).toBe(DOCUMENTS - purged);
  expect(numberAt(info.json, 'purge_seq')).toBe(purged);
  assert.notMatch(server.log, /^ {4}at |\[error\]/m);
  await server.stop();
  const verified = await server.verify();
  expect(verified.code, verified.stderr).toBe(0);
  await server.startAgain();
});
