import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterAll, assert, beforeAll, describe, test } from 'vitest';
import { basic } from '../support/conformance/accounts.ts';
import { at, numberAt } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { Neighbour } from './support/neighbour.ts';
import { highestMemory, megabytes, noProcessFiles } from './support/process-use.ts';

/**
 * Somebody asks for 20,000 continuous replications, whose source never answers. So many of them are taken as the settings permit; an admin's own
 * replication is done as soon as beside none, and a neighbour is served.
 */
const timeout = 400_000;
const COUNT = 20_000;
const BULK = 1_000;
const AT_ONCE = 50;
const MAX_DOCUMENTS = 500;
const SPARE_BYTES = 368_000_000;
/** A replication may take so many times as long as beside nothing, and what a busy machine takes besides. */
const SLOWED_DOWN = 10;
const BESIDES_MS = 5_000;
const ROOT = basic('root', 'rootpw');
const ANA = basic('ana', 'ana');

let server: AttackedServer;
let tarPit: Server;
let source: string;

beforeAll(async () => {
  tarPit = createServer(() => undefined);
  tarPit.listen(0, '127.0.0.1');
  await once(tarPit, 'listening');
  const address = tarPit.address();
  source = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  server = await AttackedServer.start({ settings: ['admins/root=rootpw', 'replicator/allowed_hosts=127.0.0.1'] });
  const { client } = server;
  for (const name of ['_users', '_replicator']) await client.must([201, 412], 'PUT', `/${name}`, { headers: ROOT });
  await client.must(201, 'PUT', '/_users/org.couchdb.user:ana', {
    headers: ROOT,
    json: { name: 'ana', password: 'ana', roles: [], type: 'user' },
  });
  for (const name of ['neighbour', 'own']) await client.must(201, 'PUT', `/${name}`, { headers: ROOT });
  await client.must(201, 'PUT', '/neighbour/doc', { headers: ROOT, json: { text: 'a small document' } });
});

afterAll(async () => {
  tarPit?.closeAllConnections();
  tarPit?.close();
  await server?.remove();
});

/** Milliseconds that an admin's replication takes, from the request to the answer. */
async function ownReplication(): Promise<number> {
  const began = performance.now();
  await server.client.must(200, 'POST', '/_replicate', { headers: ROOT, json: { source: 'own', target: 'neighbour' } });
  return performance.now() - began;
}

/** What the statuses were, and how often. */
async function byRequests(): Promise<Readonly<Record<string, number>>> {
  const statuses: Record<string, number> = {};
  let next = 0;
  const ask = async () => {
    while (next < COUNT) {
      const json = { source: `${source}/r${next++}`, target: 'neighbour', continuous: true };
      const { status } = await server.client.ask('POST', '/_replicate', { json });
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  return statuses;
}

async function byDocuments(): Promise<Readonly<Record<string, number>>> {
  for (let from = 0; from < COUNT; from += BULK) {
    const docs = Array.from({ length: BULK }, (_, n) => ({
      ...{ _id: `d${from + n}`, source: `${source}/d${from + n}`, target: 'neighbour', continuous: true },
      user_ctx: { name: 'ana', roles: [] },
    }));
    await server.client.must(201, 'POST', '/_replicator/_bulk_docs', { headers: ANA, json: { docs } });
  }
  await untilSeen();
  return {};
}

/** Resolves when the service has looked at each of the documents: it knows what becomes of the last one. */
async function untilSeen(): Promise<void> {
  for (;;) {
    const answer = await server.client.must(200, 'GET', `/_replicator/d${COUNT - 1}`, { headers: ROOT });
    const { json } = answer;
    if (at(json, '_replication_state') !== undefined || at(json, '_replication_state_reason') !== undefined) return;
  }
}

async function countOf(states: string): Promise<number> {
  const path = `/_scheduler/docs?limit=0&states=${states}`;
  return numberAt((await server.client.must(200, 'GET', path, { headers: ROOT })).json, 'total_rows');
}

async function jobs(): Promise<number> {
  return numberAt(
    (await server.client.must(200, 'GET', '/_scheduler/jobs?limit=0', { headers: ROOT })).json,
    'total_rows',
  );
}

describe.skipIf(noProcessFiles !== undefined)('20,000 continuous replications', () => {
  test.each([
    ['by requests of an anonymous client', byRequests],
    ['by documents of a user', byDocuments],
  ])('%s', { timeout }, async (name, attack) => {
    await ownReplication();
    const quiet = await ownReplication();
    const jobsBefore = await jobs();
    const neighbour = await Neighbour.returnTo(server);
    try {
      const idle = await neighbour.quiet();
      const { result, before, highest } = await highestMemory(server.pid, () => neighbour.during(attack));
      const beside = await ownReplication();
      const { latencies } = result;
      const taken = (await jobs()) - jobsBefore;
      process.stdout.write(
        `20,000 ${name}: ${JSON.stringify(result.result)}, ${taken} taken, ${megabytes(highest - before)} more memory, an admin's own took ${Math.round(beside)} ms (${Math.round(quiet)} ms beside nothing), the longest wait of a neighbour ${Math.round(latencies.longest)} ms (longest turn ${Math.round(latencies.longestTurn ?? 0)} ms; ${Math.round(idle.longest)} ms beside nothing)\n`,
      );
      assert.isAtMost(taken, MAX_DOCUMENTS);
      assert.isAtMost(highest - before, SPARE_BYTES);
      assert.isAtMost(beside, SLOWED_DOWN * quiet + BESIDES_MS);
    } finally {
      await neighbour.moveOut();
    }
  });

  test('report those that wait, and start one more for each one that is deleted', { timeout }, async () => {
    assert.equal(await countOf('pending,running,paused,crashing,error'), COUNT);
    const waiting = await server.client.must(200, 'GET', `/_scheduler/docs/_replicator/d${COUNT - 1}`, {
      headers: ROOT,
    });
    assert.equal(at(waiting.json, 'state'), 'pending');
    assert.match(`${at(waiting.json, 'info', 'error')}`, /max_jobs_per_user/);
    const before = await jobs();
    const first = await server.client.must(200, 'GET', '/_replicator/d0', { headers: ROOT });
    await server.client.must(200, 'DELETE', `/_replicator/d0?rev=${at(first.json, '_rev')}`, { headers: ROOT });
    let next: unknown;
    do {
      const path = `/_scheduler/docs/_replicator/d${MAX_DOCUMENTS}`;
      next = at((await server.client.must(200, 'GET', path, { headers: ROOT })).json, 'info', 'error');
    } while (`${next}`.includes('max_jobs_per_user'));
    assert.isAtMost(await jobs(), before);
  });
});
