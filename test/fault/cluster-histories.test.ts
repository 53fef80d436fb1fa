import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { askCluster } from '../support/cluster/answers.ts';
import { ClusterClient, DESIGN, type Loyalty } from '../support/cluster/cluster-client.ts';
import { ClusterFeed } from '../support/cluster/cluster-feed.ts';
import { ClusterServer } from '../support/cluster/cluster-server.ts';
import { Disturbances, KINDS, type Kind } from '../support/cluster/disturbances.ts';
import { KnownDocuments } from '../support/cluster/known-documents.ts';
import { ShortLived } from '../support/cluster/short-lived.ts';
import { buildServer } from '../support/crash/server-process.ts';
import { roundsOf } from '../support/long-runs.ts';
import { patient } from '../support/patience.ts';
import { Cluster } from '../support/postgres/cluster.ts';
import { mayBeMissing } from '../support/postgres/postgres.ts';
import { SeededRandom } from '../support/seeded-random.ts';

/**
 * Clients use the servers of a cluster while these are killed, paused, ended, joined by another one, and cut off from each other and from PostgreSQL:
 * nothing that was acknowledged is lost, each response has what was acknowledged or shown to anyone before it was asked for, nothing that was refused is
 * carried out, and feeds miss nothing and tell nothing twice. SETTEE_CLUSTER_SEED repeats a run's choices, SETTEE_CLUSTER_KINDS
 * names the disturbances to choose from, SETTEE_CLUSTER_ROUNDS says how many, and SETTEE_CLUSTER_LOGS names a folder for the logs of the servers.
 */
const ROUNDS = Number(process.env['SETTEE_CLUSTER_ROUNDS'] ?? roundsOf(6, 80));
const seed = Number(process.env['SETTEE_CLUSTER_SEED'] ?? Date.now() % 2 ** 31);
const kinds = process.env['SETTEE_CLUSTER_KINDS']?.split(',') ?? KINDS;
const LEASE_MS = 3_000;
const DATABASES = ['db-a', 'db-b', 'db-c', 'db-d', 'db-pinned'];
const LOYALTIES: readonly Loyalty[] = ['any', 'any', 'moving', 'moving', 'fixed', 'fixed'];
const PATIENCE = { timeout: 120_000, interval: 100 };

const postgres = await Cluster.start();
if (postgres === undefined) mayBeMissing();

describe.skipIf(postgres === undefined)('the servers of a cluster', () => {
  const database = postgres as Cluster;
  let servers: ClusterServer[] = [];

  afterEach(async () => {
    for (const server of servers) await server.close();
    servers = [];
  });
  afterAll(() => database.remove());

  async function create(count: number, leaseMs: number | undefined): Promise<void> {
    buildServer();
    const schema = `test_${randomBytes(6).toString('hex')}`;
    for (let number = 1; number <= count; number++) {
      const options = { name: `server-${number}`, postgresPort: database.port, schema, leaseMs };
      servers.push(await ClusterServer.create(options));
    }
  }

  test(`keep their promises through ${ROUNDS} disturbances`, { timeout: 3_600_000 }, async () => {
    const begun = performance.now();
    const lines: string[] = [];
    const log = (text: string) => void lines.push(`${Math.round(performance.now())} ${text}`);
    onTestFinished(() => console.log(lines.join('\n')));
    console.log(`SETTEE_CLUSTER_SEED=${seed} repeats what this run chooses`);
    const random = new SeededRandom(seed);
    await create(4, LEASE_MS);
    for (const server of servers.slice(0, -1)) await server.start();
    const disturbances = new Disturbances({
      ...{ postgres: database, servers, databases: DATABASES, leaseMs: LEASE_MS, random, log },
    });
    const known = DATABASES.map((name) => new KnownDocuments(name));
    await createDatabases(disturbances, servers);
    const clients = LOYALTIES.map(
      (loyalty, index) =>
        new ClusterClient(`client${index}`, loyalty, disturbances, known, new SeededRandom(seed + index + 1)),
    );
    const feeds = known.map(
      (documents, index) => new ClusterFeed(disturbances, documents, new SeededRandom(seed - index)),
    );
    const shortLived = new ShortLived(disturbances, new SeededRandom(seed + 100));
    const life = { isOver: false };
    const living = [...clients, shortLived].map((client) => client.live(life));
    const following = feeds.map((feed) => feed.run());
    const done = () => clients.reduce((sum, client) => sum + client.done, 0);
    const progress = async () => {
      const before = done();
      await expect.poll(done, PATIENCE).toBeGreaterThan(before + 100);
    };
    for (let round = 0; round < ROUNDS; round++) {
      await progress();
      const chosen = Array.from({ length: random.chance(30) ? 2 : 1 }, () => random.oneOf(kinds) ?? 'kill');
      await Promise.all(chosen.map((kind) => disturbances.disturb(kind as Kind)));
    }
    await progress();
    life.isOver = true;
    await Promise.all(living);
    await disturbances.settle();
    log('checks');
    for (const client of clients)
      for (const documents of known) {
        await client.readList(documents);
        await client.readView(documents);
        await client.readChanges(documents, 'normal');
      }
    for (const [index, feed] of feeds.entries())
      await checkFeed(feed, `${servers[0]?.url}${DATABASES[index]}`).finally(() => feed.end());
    await Promise.all(following);
    const acknowledged = known.reduce((sum, documents) => sum + documents.acknowledged, 0);
    const opened = feeds.reduce((sum, feed) => sum + feed.opened, 0);
    const seconds = Math.round((performance.now() - begun) / 1000);
    const { refused, unsent } = disturbances.gentle;
    log(
      `${seconds} s: ${done()} responses, ${acknowledged} writes, ${opened} feeds, ${shortLived.created} databases; in planned moves ${refused} refused, ${unsent} not sent`,
    );
    for (const [what, count] of disturbances.failures) log(`${count} times ${what}`);
    const faults = [...known, ...clients, ...feeds, shortLived, disturbances, ...servers].flatMap(
      (part) => part.faults,
    );
    expect(faults.slice(0, 20).join('\n'), `seed ${seed}`).toBe('');
  });

  test('take over what a killed one owned', { timeout: 600_000 }, async () => {
    await create(3, undefined);
    for (const server of servers) await server.start();
    const [first, second, third] = servers as [ClusterServer, ClusterServer, ClusterServer];
    const log = (text: string) => console.log(text);
    const rest = { databases: DATABASES, leaseMs: 12_000, random: new SeededRandom(seed), log };
    const disturbances = new Disturbances({ postgres: database, servers, ...rest });
    await createDatabases(disturbances, servers);
    const acknowledged: string[] = [];
    /** Resolves when the third server has stored a document in each database. */
    const writes = async (name: string): Promise<void> => {
      for (const at of DATABASES) {
        const asked = { method: 'PUT', url: `${third.url}${at}/${name}`, body: {}, waitMs: 60_000 };
        await expect.poll(async () => (await askCluster(asked)).status, PATIENCE).toBeOneOf([201, 409]);
        acknowledged.push(`${at}/${name}`);
      }
    };
    await writes('doc-first');
    for (const [what, server] of [
      ['a server', second],
      ['the one that owns the list', first],
    ] as const) {
      await server.kill();
      const since = performance.now();
      await writes(`doc-after-${server.name}`);
      log(`${what} was killed: all was written again ${((performance.now() - since) / 1000).toFixed(1)} s later`);
    }
    for (const path of acknowledged) {
      const { status } = await askCluster({ method: 'GET', url: `${third.url}${path}`, waitMs: 60_000 });
      expect(`${path} ${status}`).toBe(`${path} 200`);
    }
  });
});

async function createDatabases(disturbances: Disturbances, servers: readonly ClusterServer[]): Promise<void> {
  const [first, second] = servers;
  const put = (path: string, body?: unknown) =>
    askCluster({ method: 'PUT', url: `${first?.url}${path}`, body, waitMs: 10_000 }).then(({ status }) => status);
  await expect.poll(() => put('_node/_local/_config/database_owners/db-pinned', second?.owner), patient).toBe(200);
  for (const name of DATABASES) {
    await expect.poll(() => put(name), PATIENCE).toBeOneOf([201, 412]);
    await expect.poll(() => put(`${name}/_design/v`, DESIGN), PATIENCE).toBeOneOf([201, 409]);
  }
  await disturbances.settle();
}

/** The feed comes to know the last revision of every document. */
async function checkFeed(feed: ClusterFeed, database: string): Promise<void> {
  const { text } = await askCluster({ method: 'GET', url: `${database}/_changes`, waitMs: 20_000 });
  const { results } = JSON.parse(text) as { results: { id: string; changes: { rev: string }[] }[] };
  const last = results.filter(({ id }) => id.startsWith('doc-')).map(({ id, changes }) => [id, changes[0]?.rev]);
  await expect.poll(() => Object.fromEntries(feed.latest), PATIENCE).toEqual(Object.fromEntries(last));
}
