import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ConnectionPool } from '../../../../src/storage/postgres/connection-pool.ts';
import { StorageLease } from '../../../../src/storage/postgres/storage-lease.ts';
import { rejects } from '../../../conformance/storage/expectations.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../../../support/postgres/postgres.ts';

const url = await postgresUrl();

describe.skipIf(url === undefined)('the lease of a storage', () => {
  let pool: ConnectionPool;

  beforeAll(async () => {
    pool = await openPool(newSchema(url ?? ''));
  });
  afterAll(async () => {
    await dropSchema(pool);
    await pool.close();
  });

  test('is refused while another server renews it, with the name of that one; free at once when it is released', async () => {
    const first = await StorageLease.take(pool, { described: 'process 1 on here', leaseMs: 600 });
    await first.announce('http://127.0.0.1:5984/');
    expect(first.isHeld).toBe(true);
    const refused = await StorageLease.take(pool, { described: 'process 2', leaseMs: 600 }).catch(String);
    expect(refused).toMatch(
      /^DatabaseError: storage_locked: The storage at postgres:\/\/\S+ \(schema test_\w+\) is in use by process 1 on here, which answers at http:\/\/127\.0\.0\.1:5984\//,
    );
    await first.release();
    expect(first.isHeld).toBe(false);
    const next = await StorageLease.take(pool, { described: 'process 2', leaseMs: 60_000 });
    expect(next.isHeld).toBe(true);
    await next.release();
  });

  test('goes to one of many that want it at the same time', async () => {
    const takes = Array.from({ length: 8 }, (_, at) => StorageLease.take(pool, { described: `${at}`, leaseMs: 600 }));
    const taken = await Promise.allSettled(takes);
    const leases = taken.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(leases.length).toBe(1);
    for (const lease of leases) await lease.release();
  });

  test('ends when its holder no longer renews it; that one does not answer any more, and learns that it was lost', async () => {
    const own = await openPool(`${url}?schema=${pool.address.schema}`);
    let lost = 0;
    const dead = await StorageLease.take(own, { described: 'dead', leaseMs: 600, onLost: () => lost++ });
    await own.close();
    const next = await StorageLease.take(pool, { described: 'next', leaseMs: 600 });
    expect(dead.isHeld).toBe(false);
    expect(next.isHeld).toBe(true);
    expect(lost).toBe(0);
    await next.release();
  });

  test('tells its holder when another server has it', async () => {
    const lost = new Promise<void>((resolve) => {
      void StorageLease.take(pool, { described: 'holder', leaseMs: 300, onLost: resolve });
    });
    // As a server does that finds the lease expired.
    await expect
      .poll(() => pool.use((connection) => connection.query(`DELETE FROM ${pool.address.schema}.servers RETURNING id`)))
      .toHaveLength(1);
    await lost;
    await rejects('storage_closed', async () => {
      const closed = await openPool(`${url}?schema=${pool.address.schema}`);
      await closed.close();
      await StorageLease.take(closed, { described: 'x' });
    });
  });
});
