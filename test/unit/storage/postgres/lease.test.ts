import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { ConnectionPool } from '../../../../src/storage/postgres/connection-pool.ts';
import { DurableHistory } from '../../../../src/storage/postgres/durable-history.ts';
import { type LeaseOptions, StorageLease } from '../../../../src/storage/postgres/storage-lease.ts';
import { rejects } from '../../../conformance/storage/expectations.ts';
import { CuttingProxy } from '../../../support/postgres/cutting-proxy.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../../../support/postgres/postgres.ts';

const url = await postgresUrl();
/** No lease of this length ends while a test runs. */
const LONG_MS = 3_600_000;
/** Lasts through the pauses of a busy machine, and its beats are awaited. */
const SHORT_MS = 3_000;
/** For tests in which another server beats each fifth of a second. */
const WATCHED_MS = 8_000;

describe.skipIf(url === undefined)('the lease of a storage', () => {
  let pool: ConnectionPool;
  const leases = new Set<StorageLease>();

  beforeAll(async () => {
    pool = await openPool(newSchema(url ?? ''));
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    for (const lease of leases) await lease.release();
    leases.clear();
    await sql('DELETE FROM SCHEMA.servers');
  });
  afterAll(async () => {
    await dropSchema(pool);
    await pool.close();
  });

  async function open(
    described: string,
    options: Partial<LeaseOptions> = {},
    history = new DurableHistory(),
  ): Promise<StorageLease> {
    const lease = await StorageLease.open(pool, history, { described, machine: 'here', leaseMs: LONG_MS, ...options });
    leases.add(lease);
    return lease;
  }

  function sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return pool.use((connection) => connection.query(text.replaceAll('SCHEMA', pool.address.schema)));
  }

  /** What a server leaves that was killed. */
  async function leaveDead(until: string, beatenOn: string): Promise<void> {
    await sql(
      `INSERT INTO SCHEMA.servers (id, is_owner, described, machine, address, until, beaten_on, beats)
       VALUES ('dead', true, 'process 1 on there', 'there', 'http://10.0.0.1:5984/', ${until}, ${beatenOn}, 7)`,
    );
  }

  test('is one server’s at a time; the others see whose, and where that one answers', async () => {
    const first = await open('process 1 on here');
    expect(await first.tryTake()).toBe(true);
    await first.announce('http://127.0.0.1:5984/');
    const second = await open('process 2 on here');
    expect(await second.tryTake()).toBe(false);
    expect([first.isHeld, first.isOwner, second.isHeld, second.isOwner]).toEqual([true, true, false, false]);
    expect(second.owner).toMatchObject({
      described: 'process 1 on here',
      machine: 'here',
      address: 'http://127.0.0.1:5984/',
    });
    expect(first.owner).toBeUndefined();
  });

  test('goes to the server that stands by as soon as its owner releases it', async () => {
    const first = await open('process 1');
    await first.tryTake();
    const second = await open('process 2');
    await second.announce('http://10.0.0.2:5984/');
    const taken = second.take();
    await expect.poll(() => sql('SELECT FROM SCHEMA.servers WHERE NOT is_owner')).toHaveLength(1);
    await first.release();
    expect(first.isHeld).toBe(false);
    await taken;
    expect(second.isHeld).toBe(true);
    await expect
      .poll(() => sql('SELECT described, is_owner, address FROM SCHEMA.servers'))
      .toEqual([{ described: 'process 2', is_owner: true, address: 'http://10.0.0.2:5984/' }]);
  });

  test('goes to one of many that want it at the same time', async () => {
    const wanting = await Promise.all(Array.from({ length: 8 }, (_, at) => open(`${at}`)));
    const taken = await Promise.all(wanting.map((lease) => lease.tryTake()));
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect(wanting.filter((lease) => lease.isHeld)).toHaveLength(1);
  });

  test('knows whether another server waits for it', async () => {
    const first = await open('process 1', { leaseMs: SHORT_MS });
    await first.tryTake();
    expect(first.isAwaited).toBe(false);
    const second = await open('process 2');
    const taken = second.take().catch(() => undefined);
    await expect.poll(() => first.isAwaited).toBe(true);
    await second.release();
    await taken;
    await expect.poll(() => first.isAwaited).toBe(false);
  });

  test('ends when its owner no longer renews it: that one has stopped when another one takes it', async () => {
    const proxy = await CuttingProxy.start(pool.address.port);
    const own = await ConnectionPool.open({ ...pool.address, host: '127.0.0.1', port: proxy.port });
    const lost: string[] = [];
    const options = {
      described: 'cut off',
      machine: 'here',
      leaseMs: SHORT_MS,
      onLost: (why: string) => lost.push(why),
    };
    const cutOff = await StorageLease.open(own, new DurableHistory(), options);
    await cutOff.tryTake();
    proxy.isDown = true;
    const next = await open('next');
    await next.take();
    expect(cutOff.isHeld).toBe(false);
    await expect.poll(() => lost).toEqual(['the database server was not reached in time']);
    expect(next.isHeld).toBe(true);
    await cutOff.release();
    await own.close();
    await proxy.close();
  });

  test('is not believed after the machine was suspended, when only one of its clocks went on', async () => {
    const lease = await open('suspended', { leaseMs: LONG_MS });
    await lease.tryTake();
    const now = Date.now();
    vi.spyOn(Date, 'now').mockReturnValue(now + (LONG_MS * 2) / 3 - 60_000);
    expect(lease.isHeld).toBe(true);
    vi.spyOn(Date, 'now').mockReturnValue(now + (LONG_MS * 2) / 3);
    expect(lease.isHeld).toBe(false);
    expect(lease.isOwner).toBe(true);
  });

  test('tells its owner when another server has it', async () => {
    const lost = new Promise<string>((resolve) => {
      void open('owner', { leaseMs: SHORT_MS, onLost: resolve }).then((lease) => lease.tryTake());
    });
    await expect.poll(() => sql('DELETE FROM SCHEMA.servers RETURNING id')).toHaveLength(1);
    expect(await lost).toBe('another server has taken it');
  });

  test('is taken at once from a server that died long ago', async () => {
    await leaveDead(`clock_timestamp() - interval '1 second'`, 'pg_postmaster_start_time()::text');
    expect(await (await open('next')).tryTake()).toBe(true);
  });

  test('is not taken by the clock of a database server that did not take its last beat, but after it was watched', async () => {
    await leaveDead(`clock_timestamp() - interval '1 hour'`, `'another server'`);
    const next = await open('next', { leaseMs: WATCHED_MS });
    expect(await next.tryTake()).toBe(false);
    expect(next.owner?.address).toBe('http://10.0.0.1:5984/');
    const taken = next.take();
    // It is alive: its beats are counted until the end of this test begins.
    for (let beats = 0; beats < 20; beats += 1) {
      await sql('UPDATE SCHEMA.servers SET beats = beats + 1 WHERE is_owner');
      await new Promise((done) => setTimeout(done, 200));
    }
    const [owner] = await sql('SELECT id FROM SCHEMA.servers WHERE is_owner');
    expect(owner?.['id']).toBe('dead');
    await taken;
    expect(next.isHeld).toBe(true);
  });

  test('is refused, by owner and others, on a database that has gone back to before its last change of owner', async () => {
    const history = new DurableHistory();
    const rollbacks: string[] = [];
    history.onRollback = ({ code }) => rollbacks.push(code);
    const lost: string[] = [];
    const owner = await open('owner', { leaseMs: SHORT_MS, onLost: (why) => lost.push(why) }, history);
    await owner.tryTake();
    const other = await open('other', { leaseMs: SHORT_MS });
    const taken = other.take().catch(String);
    await expect.poll(() => owner.isAwaited).toBe(true);
    await expect.poll(() => other.owner?.described).toBe('owner');
    await sql('WITH gone AS (DELETE FROM SCHEMA.servers) UPDATE SCHEMA.format SET term = term - 1');
    expect(await taken).toMatch(/^DatabaseError: storage_rolled_back: .*the last change of the server that owns/);
    await expect.poll(() => lost).toEqual(['its database has gone back to an earlier state']);
    expect(rollbacks).toEqual(['storage_rolled_back']);
    expect([owner.isHeld, other.isHeld]).toEqual([false, false]);
    await rejects('storage_rolled_back', () => owner.take());
    // A server that was started later knows nothing of what is missing.
    expect(await (await open('later')).tryTake()).toBe(true);
  });

  test('says whether commits wait for a second machine', async () => {
    const lease = await open('process 1');
    expect(lease.hasSynchronousReplica).toBeUndefined();
    await lease.tryTake();
    expect(lease.hasSynchronousReplica).toBe(false);
  });

  test('ends the wait of a server that is stopped', async () => {
    await (await open('owner')).tryTake();
    const other = await open('other');
    const taken = rejects('storage_closed', () => other.take());
    await expect.poll(() => sql('SELECT FROM SCHEMA.servers WHERE NOT is_owner')).toHaveLength(1);
    await other.release();
    await taken;
    expect(await sql('SELECT described FROM SCHEMA.servers')).toEqual([{ described: 'owner' }]);
  });
});
