import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';
import { readMetrics } from '../../../../src/storage/postgres/monitoring/storage-metrics.ts';
import { CuttingProxy } from '../../../support/postgres/cutting-proxy.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../../../support/postgres/postgres.ts';

const given = await postgresUrl();

async function metricsOf(server: RunningServer): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${server.url}_node/_local/_prometheus`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith('svc_storage_'));
  return new Map(lines.map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
}

describe.skipIf(given === undefined)('the metrics of a storage in PostgreSQL', () => {
  let storage = '';
  let server: RunningServer;

  beforeAll(async () => {
    storage = newSchema(given ?? '');
    server = await startServer({ port: 0, logLevel: 'none', storage: `${storage}&pool=3` });
  });
  afterAll(async () => {
    await server.close();
    const pool = await openPool(storage);
    await dropSchema(pool);
    await pool.close();
  });

  test('are in _prometheus: pool, trips, ping, lease and replicas', async () => {
    const before = await metricsOf(server);
    expect([...before.keys()]).toEqual([
      'svc_storage_pool_size',
      'svc_storage_pool_open',
      'svc_storage_pool_idle',
      'svc_storage_pool_waiting',
      'svc_storage_trip_seconds_sum',
      'svc_storage_trip_seconds_count',
      'svc_storage_repeats_total',
      'svc_storage_up',
      'svc_storage_ping_seconds',
      'svc_storage_lease_left_seconds',
      'svc_storage_replicas',
    ]);
    expect(before.get('svc_storage_pool_size')).toBe(3);
    expect(before.get('svc_storage_pool_open')).toBeGreaterThan(0);
    expect(before.get('svc_storage_pool_waiting')).toBe(0);
    expect(before.get('svc_storage_up')).toBe(1);
    expect(before.get('svc_storage_ping_seconds')).toBeGreaterThan(0);
    expect(before.get('svc_storage_lease_left_seconds')).toBeGreaterThan(0);
    expect(before.get('svc_storage_replicas')).toBe(0);
    await fetch(`${server.url}db`, { method: 'PUT' });
    const after = await metricsOf(server);
    for (const name of ['svc_storage_trip_seconds_count', 'svc_storage_trip_seconds_sum']) {
      expect(after.get(name)).toBeGreaterThan(before.get(name) ?? 0);
    }
  });

  test('say that the database server is not reached, and how often operations were repeated', async () => {
    const proxy = await CuttingProxy.start(Number(new URL(storage).port));
    const pool = await openPool(`${proxy.url(new URL(storage).search)}&timeout=1`);
    proxy.isDown = true;
    const operation = pool.repeat('a test', (connection) => connection.query('SELECT 1')).catch(() => undefined);
    const down = new Map((await readMetrics(pool)).map(({ name, value }) => [name, value]));
    expect(down.get('storage_up')).toBe(0);
    expect(down.has('storage_ping_seconds')).toBe(false);
    await operation;
    const later = new Map((await readMetrics(pool)).map(({ name, value }) => [name, value]));
    expect(later.get('storage_repeats_total')).toBeGreaterThan(0);
    await pool.close();
    await proxy.close();
  });

  test('are absent where there is no such storage', async () => {
    const memory = await startServer({ port: 0, memory: true, logLevel: 'none' });
    expect(await metricsOf(memory)).toEqual(new Map());
    await memory.close();
  });
});
