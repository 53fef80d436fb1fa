/**
 * Three databases: one on memory as a browser has it, one of a Node server on LMDB, and one of PouchDB, which is a server of its own, too. They
 * are edited at random, and copied to one another in random order, over connections that break off at random, while the server ends and comes
 * back. After a last exchange of all with all they have the same trees of revisions.
 *
 * SETTEE_REPLICATION_SEED repeats the choices of a run; SETTEE_REPLICATION_STEPS says how many there are.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Core } from '../../src/core/core.ts';
import type { Endpoint } from '../../src/replication/contract.ts';
import { documentPath } from '../../src/replication/peers/identifiers.ts';
import { arrayAt, at } from '../support/conformance/json.ts';
import { NodeHost } from '../support/conformance/node-host.ts';
import { PouchDB } from '../support/pouchdb-in-memory.ts';
import { PouchServer } from '../support/replication/pouch-server.ts';
import { type EditedDatabase, editRandomly } from '../support/replication/random-edits.ts';
import { TcpRelay } from '../support/replication/tcp-relay.ts';
import { type Trees, treesAt, treesBehind, treesOfPouch } from '../support/replication/trees.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import {
  askJson,
  hostOf,
  local,
  must,
  newCore,
  pick,
  remote,
  replicationOf,
  run,
} from '../unit/replication/support.ts';

const seed = Number(process.env['SETTEE_REPLICATION_SEED'] ?? Date.now() % 2 ** 31);
const steps = Number(process.env['SETTEE_REPLICATION_STEPS'] ?? 80);

let core: Core;
let server: NodeHost;
let pouch: PouchDB;
let pouchServer: PouchServer;
let relays: { readonly server: TcpRelay; readonly pouch: TcpRelay };

beforeEach(async () => {
  [core, server] = await Promise.all([newCore(), NodeHost.start()]);
  pouch = new PouchDB(`random-${seed}`, { adapter: 'memory' });
  pouchServer = await PouchServer.start(pouch);
  relays = {
    server: await TcpRelay.start(server.baseUrl),
    pouch: await TcpRelay.start(new URL(pouchServer.url).origin),
  };
  await must(core, 'PUT /db');
  await fetch(`${server.baseUrl}/db`, { method: 'PUT' });
});

afterEach(async () => {
  await Promise.all([relays.server.close(), relays.pouch.close()]);
  await pouchServer.close();
  await Promise.all([core.close(), server.close(), pouch.destroy()]);
});

type Ask = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<{ readonly status: number; readonly value: unknown }>;

const headers = { accept: 'application/json', 'content-type': 'application/json' };

const askCore: Ask = async (method, path, body) => {
  const given = body === undefined ? { headers } : { headers, body: JSON.stringify(body) };
  const [status, value] = await askJson(core, `${method} /db${path}`, given);
  return { status, value };
};

const askServer: Ask = async (method, path, body) => {
  const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
  const response = await fetch(`${server.baseUrl}/db${path}`, init);
  return { status: response.status, value: await response.json() };
};

function served(name: string, ask: Ask): EditedDatabase {
  const mustAsk: Ask = async (method, path, body) => {
    const answer = await ask(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.value)}`);
    return answer;
  };
  return {
    name,
    leaves: async (id) => {
      const { value } = await mustAsk('GET', `${documentPath(id)}?open_revs=all&revs=true`);
      return arrayAt(value).map((one) => Object(at(one, 'ok')));
    },
    put: async (document) => {
      await mustAsk('PUT', documentPath(String(at(document, '_id'))), document);
    },
    putRevision: async (document) => {
      await mustAsk('POST', '/_bulk_docs', { new_edits: false, docs: [document] });
    },
    purge: async (id, rev) => {
      // While it is compacted a database refuses to purge.
      const { status, value } = await ask('POST', '/_purge', { [id]: [rev] });
      if (status >= 300 && at(value, 'reason') !== 'purge_during_compaction') throw new Error(JSON.stringify(value));
    },
    compact: async () => {
      await mustAsk('POST', '/_compact');
    },
  };
}

const inPouch: EditedDatabase = {
  name: 'PouchDB',
  leaves: async (id) => {
    const found = await pouch.get(id, { open_revs: 'all', revs: true }).catch(() => []);
    return arrayAt(found).map((one) => Object(at(one, 'ok')));
  },
  put: async (document) => void (await pouch.put(document)),
  putRevision: async (document) => void (await pouch.bulkDocs([document], { new_edits: false })),
  purge: undefined,
  compact: async () => void (await pouch.compact()),
};

const host = () => hostOf(core.handle);

function ways(): readonly (readonly [name: string, source: Endpoint, target: Endpoint])[] {
  const here = local('db');
  const there = remote(`${relays.server.url}/db`);
  const foreign = remote(`${relays.pouch.url}/db`);
  return [
    ['memory to server', here, there],
    ['server to memory', there, here],
    ['memory to PouchDB', here, foreign],
    ['PouchDB to memory', foreign, here],
    ['server to PouchDB', there, foreign],
    ['PouchDB to server', foreign, there],
  ];
}

async function replicateRandomly(random: SeededRandom): Promise<string> {
  if (random.chance(20)) {
    // Of PouchDB's own replications those that send. One that fetches takes attachments of the winner for those of another leaf (version 9).
    await pouch.replicate.to(`${server.baseUrl}/db`, { batch_size: random.between(1, 50) });
    return 'PouchDB replicates to the server';
  }
  const all = ways();
  const [name, source, target] = random.oneOf(all) ?? all[0] ?? [];
  if (name === undefined || source === undefined || target === undefined) throw new Error('no way');
  const faults = Array.from({ length: random.between(0, 4) }, () => random.between(0, 4_000));
  relays.server.resetAll();
  relays.pouch.resetAll();
  relays.server.resetAfter(...faults);
  relays.pouch.resetAfter(...faults);
  const replication = replicationOf(source, target, {
    batchSize: random.between(1, 20),
    workers: random.between(1, 4),
    connections: random.between(1, 4),
    retriesPerRequest: random.between(0, 3),
  });
  const attempt = run(host(), replication, name).catch((failure: unknown) => failure);
  // Sometimes the server ends meanwhile, and another one goes on with its data.
  const isRestarted = random.chance(20);
  if (isRestarted) {
    await pause(random.between(0, 60));
    await server.restart();
  }
  const outcome = await attempt;
  relays.server.forgetResets();
  relays.pouch.forgetResets();
  const told = isRestarted ? `${name}, the server begins anew` : name;
  if (outcome instanceof Error) {
    expect(outcome).toMatchObject({ code: 'replication_failed', isRetryable: true });
    return `${told}: ${outcome.message}`;
  }
  expect(outcome).toMatchObject({ history: expect.anything() });
  return told;
}

/** From the beginning: what was purged in one comes back from another. */
async function exchangeAll(): Promise<void> {
  relays.server.resetAll();
  relays.pouch.resetAll();
  for (let round = 0; round < 2; round++) {
    for (const [name, source, target] of ways()) {
      const { history } = await run(host(), replicationOf(source, target, { useCheckpoints: false }), name);
      for (const entry of history) expect(pick(entry, 'doc_write_failures')).toBe(0);
    }
  }
}

async function allTrees(): Promise<readonly Trees[]> {
  const ofCore = treesBehind(async (path) => (await askCore('GET', path)).value);
  return Promise.all([ofCore, treesAt(`${server.baseUrl}/db`), treesOfPouch(pouch)]);
}

test(
  `all databases are equal after random edits, replications and faults (seed ${seed}, ${steps} steps)`,
  async () => {
    const random = new SeededRandom(seed);
    const databases = [served('memory', askCore), served('server', askServer), inPouch];
    const script: string[] = [];
    try {
      for (let step = 0; step < steps; step++) {
        const database = random.oneOf(databases) ?? inPouch;
        script.push(random.chance(70) ? await editRandomly(database, random) : await replicateRandomly(random));
      }
      await exchangeAll();
      const [memory, onServer, inPouchDB] = await allTrees();
      expect(onServer).toEqual(memory);
      expect(inPouchDB).toEqual(memory);
    } catch (error) {
      throw new Error(`seed ${seed}, after:\n${script.join('\n')}`, { cause: error });
    }
  },
  60_000 + steps * 2_000,
);
