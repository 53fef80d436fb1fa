import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Counters } from '../../../../src/base/system/counters.ts';
import type { Registry } from '../../../../src/database/registry/contract.ts';
import type { Cluster } from '../../../../src/node/cluster/cluster.ts';
import { healthOf, metricsOf, type Reported } from '../../../../src/node/cluster/reported.ts';
import { TrafficCounts } from '../../../../src/node/forwarding/traffic-counts.ts';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';
import { patient } from '../../../support/patience.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../../../support/postgres/postgres.ts';

type Shown = Pick<Cluster, 'counts' | 'size' | 'connected' | 'isMember' | 'hasOtherOwner'>;

function reported(cluster: Partial<Shown> | undefined, other: Partial<Reported> = {}): Reported {
  const counts = Object.assign(new TrafficCounts(), { forwarded: 7, failures: 2, moves: 3 });
  const shown = { counts, size: 3, connected: 2, isMember: true, hasOtherOwner: false, ...cluster };
  const owner = { described: 'process 1 on there', machine: 'there', address: 'http://10.0.0.1:5984/' };
  return {
    role: 'member',
    // Only what is read of them.
    shared: { hasSynchronousReplica: undefined, owner } as Reported['shared'],
    cluster: () => (cluster === undefined ? undefined : (shown as Cluster)),
    registry: () => ({ ownedCount: 5, lagMs: () => 1_234.5 }) as Registry,
    readers: undefined,
    counters: new Counters(),
    ...other,
  };
}

describe('_up', () => {
  test('of a member says how far behind it is, what it owns, and how many servers there are', () => {
    expect(healthOf(reported({}))?.()).toEqual({ role: 'member', lag_ms: 1235, owned_databases: 5, servers: 3 });
  });

  test('of a server whose lease may have ended says that it can not serve', () => {
    expect(healthOf(reported({ isMember: false }))?.()).toMatchObject({
      status: 'storage_unreachable',
      role: 'member',
    });
  });

  test('of a member beside an owner that takes no part is that of a server that stands by', () => {
    expect(healthOf(reported({ hasOtherOwner: true }))?.()).toEqual({
      status: 'standby',
      role: 'standby',
      owner: 'http://10.0.0.1:5984/',
    });
  });

  test('of other servers is what it was', () => {
    expect(healthOf(reported(undefined, { role: 'owner' }))?.()).toEqual({ role: 'owner' });
    expect(healthOf(reported(undefined, { shared: undefined }))).toBeUndefined();
  });
});

test('metrics have a role, and what readers and servers do', () => {
  const counters = new Counters();
  counters.forwarded.value = 11;
  counters.forwardFailures.value = 1;
  const readers = () => ({ accepting: 4, restarts: 2, ownerRestarts: 1 });
  const found = metricsOf(reported({}, { readers, counters }))?.() ?? [];
  expect(found.map(({ name, type, value, labels }) => [name, type, value, ...(labels ? [labels] : [])])).toEqual([
    ['role', 'gauge', 1, { role: 'member' }],
    ['readers', 'gauge', 4],
    ['reader_restarts_total', 'counter', 2],
    ['reader_owner_restarts_total', 'counter', 1],
    ['reader_forwarded_requests_total', 'counter', 11],
    ['reader_forward_failures_total', 'counter', 1],
    ['cluster_servers', 'gauge', 3],
    ['cluster_links', 'gauge', 2],
    ['cluster_owned_databases', 'gauge', 5],
    ['cluster_forwarded_requests_total', 'counter', 7],
    ['cluster_forward_failures_total', 'counter', 2],
    ['cluster_moves_total', 'counter', 3],
    ['cluster_lag_seconds', 'gauge', 1.2345],
  ]);
  expect(metricsOf(reported(undefined, { shared: undefined }))).toBeUndefined();
});

test('what is forwarded is counted, and what no one answered', async () => {
  const counts = new TrafficCounts();
  await counts.count({ status: 201, headers: {}, body: null });
  await counts.count(Promise.resolve({ status: 503, headers: {}, body: null, errorCode: 'write_outcome_unknown' }));
  await counts.count({ status: 503, headers: {}, body: null, errorCode: 'shutting_down' });
  await counts.count({ status: 503, headers: {}, body: null, errorCode: 'not_owner' });
  expect([counts.forwarded, counts.failures]).toEqual([4, 2]);
});

const given = await postgresUrl();

describe.skipIf(given === undefined)('two servers of a cluster', () => {
  let storage = '';
  const running: RunningServer[] = [];

  beforeAll(() => {
    storage = newSchema(given ?? '');
  });
  afterEach(async () => {
    for (const server of running.splice(0).reverse()) await server.close();
  });
  afterAll(async () => {
    const pool = await openPool(storage);
    await dropSchema(pool);
    await pool.close();
  });

  async function start(cluster = true): Promise<RunningServer> {
    const server = await startServer({ port: 0, logLevel: 'none', storage, cluster });
    running.push(server);
    return server;
  }

  async function get(url: string): Promise<{ status: number; told: Record<string, unknown> }> {
    const response = await fetch(url);
    return { status: response.status, told: (await response.json()) as Record<string, unknown> };
  }

  async function metrics(url: string): Promise<Record<string, number>> {
    const lines = (await (await fetch(url)).text()).split('\n').filter((line) => /^svc_(?:role|cluster)/.test(line));
    return Object.fromEntries(lines.map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
  }

  test('say in _up and in their metrics what each of them is, and what it owns', async () => {
    const first = await start();
    const second = await start();
    const up = async (server: RunningServer) => (await get(`${server.url}_up`)).told;
    await expect.poll(() => up(second), patient).toMatchObject({ status: 'ok', role: 'member', servers: 2 });
    await expect.poll(() => up(first), patient).toMatchObject({ status: 'ok', role: 'owner', servers: 2 });
    const names = Array.from({ length: 16 }, (_, at) => `db${at}`);
    for (const name of names) {
      expect((await fetch(`${first.url}${name}`, { method: 'PUT' })).status).toBe(201);
      expect((await fetch(`${second.url}${name}/doc`, { method: 'PUT', body: '{}' })).status).toBe(201);
    }
    // The databases that are open, and each has one owner.
    await expect
      .poll(async () => {
        const owned = await Promise.all([first, second].map(async (one) => Number((await up(one))['owned_databases'])));
        return [owned.reduce((sum, one) => sum + one), owned.every((one) => one > 0)];
      }, patient)
      .toEqual([16, true]);
    expect(typeof (await up(second))['lag_ms']).toBe('number');
    expect(await up(first)).not.toHaveProperty('lag_ms');
    const own = await metrics(`${second.url}_node/_local/_prometheus`);
    expect(own).toMatchObject({ 'svc_role{role="member"}': 1, svc_cluster_servers: 2, svc_cluster_links: 1 });
    expect(own['svc_cluster_forwarded_requests_total']).toBeGreaterThan(0);
    expect(own['svc_cluster_forward_failures_total']).toBe(0);
    expect(own['svc_cluster_moves_total']).toBeGreaterThan(0);
    const name = `settee@${new URL(second.url).host}`;
    const asked = await metrics(`${first.url}_node/${encodeURIComponent(name)}/_prometheus`);
    expect(asked['svc_role{role="member"}']).toBe(1);
  });

  test('answer _up by themselves while one stops, and the other one takes over', async () => {
    const first = await start();
    const second = await start();
    await expect.poll(async () => (await get(`${second.url}_up`)).status, patient).toBe(200);
    await first.close();
    await expect
      .poll(async () => (await get(`${second.url}_up`)).told, patient)
      .toMatchObject({ status: 'ok', role: 'owner', servers: 1 });
  });

  test('stand by for an owner that takes no part, and all serve when it has gone', async () => {
    const alone = await start(false);
    const pair = [await start(), await start()];
    for (const { url } of pair) {
      expect(await get(`${url}_up`)).toEqual({
        status: 503,
        told: { status: 'standby', role: 'standby', owner: alone.url },
      });
    }
    running.splice(running.indexOf(alone), 1);
    await alone.close();
    const ups = async () => Promise.all(pair.map(async ({ url }) => (await get(`${url}_up`)).told));
    await expect
      .poll(
        async () => (await ups()).map(({ status, role, servers }) => `${status} ${role} ${servers}`).sort(),
        patient,
      )
      .toEqual(['ok member 2', 'ok owner 2']);
  });
});
