import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import type { FollowedFile, PageFile, PageStore } from '../../../../src/storage/page-store.ts';
import { ConnectionPool } from '../../../../src/storage/postgres/connection-pool.ts';
import { DurableHistory } from '../../../../src/storage/postgres/durable-history.ts';
import { createPostgresPageStore } from '../../../../src/storage/postgres/postgres-page-store.ts';
import { prepareSchema } from '../../../../src/storage/postgres/schema.ts';
import { StorageLease } from '../../../../src/storage/postgres/storage-lease.ts';
import { rejects, relaxed } from '../../../conformance/storage/expectations.ts';
import { patient } from '../../../support/patience.ts';
import { CuttingProxy } from '../../../support/postgres/cutting-proxy.ts';
import { dropSchema, newSchema, openPool, postgresUrl, toVersionThree } from '../../../support/postgres/postgres.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const url = await postgresUrl();
/** No lease of this length ends while a test runs, and no beat is made unless something asks for it. */
const LONG_MS = 3_600_000;
const PATIENCE = { ...patient, interval: 20 };

describe.skipIf(url === undefined)('following files in PostgreSQL', () => {
  let proxy: CuttingProxy;
  let pool: ConnectionPool;
  /** The same storage behind the proxy. */
  let watched: ConnectionPool;
  const stores = new Set<PageStore>();
  let owner: PageStore;

  beforeAll(async () => {
    pool = await openPool(newSchema(url ?? ''));
    proxy = await CuttingProxy.start(pool.address.port);
    watched = await ConnectionPool.open({ ...pool.address, host: '127.0.0.1', port: proxy.port });
  });
  beforeEach(() => {
    owner = newStore();
  });
  afterEach(async () => {
    for (const store of stores) await store.close();
    stores.clear();
    await sql('UPDATE SCHEMA.format SET generation = 0');
    for (const table of ['followers', 'servers', 'files', 'journal']) await sql(`DELETE FROM SCHEMA.${table}`);
  });
  afterAll(async () => {
    await watched.close();
    await proxy.close();
    await dropSchema(pool);
    await pool.close();
  });

  function newStore(through = pool, followerLeaseMs = LONG_MS, history = new DurableHistory()): PageStore {
    const store = createPostgresPageStore(through, history, { followerLeaseMs });
    stores.add(store);
    return store;
  }

  async function follow(store = newStore(), file = 'a'): Promise<FollowedFile> {
    return must(await store.follow?.(file));
  }

  function sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return pool.use((connection) => connection.query(text.replaceAll('SCHEMA', pool.address.schema)));
  }

  /** Resolves when an owner waits for followers. */
  async function raised(): Promise<void> {
    const asked = () => sql('SELECT generation::int FROM SCHEMA.format');
    await expect.poll(asked, PATIENCE).not.toEqual([{ generation: 0 }]);
  }

  async function isSettled(promise: Promise<unknown> | undefined): Promise<boolean> {
    const pending = Symbol('pending');
    return (await Promise.race([promise, delay(300, pending)])) !== pending;
  }

  test('200 files that are polled in one turn take one statement', async () => {
    const names = Array.from({ length: 200 }, (_, at) => `file-${at}`);
    for (const name of names) {
      const file = await owner.open(name, 'create');
      await file.commit(relaxed({ head: `head of ${name}`, journal: { number: 2, text: name } }));
    }
    const store = newStore(watched);
    const files = await Promise.all(names.map((name) => follow(store, name)));
    await files[0]?.poll();
    proxy.cutAt(0, 'before');
    const states = await Promise.all(files.map((file) => file.poll()));
    expect(proxy.statements).toBe(1);
    expect(states.map((state) => state?.records)).toEqual(names.map((name) => [{ number: 2, text: name }]));
    const again = await Promise.all(files.map((file, at) => file.poll(states[at]?.point)));
    expect(again).toEqual(names.map(() => undefined));
    expect(proxy.statements).toBe(2);
  });

  test('an owner that no one follows sends a statement for each commit, and none to ask for followers', async () => {
    const file = await newStore(watched).open('a', 'create');
    proxy.cutAt(0, 'before');
    for (let page = 2; page < 12; page += 1) {
      await file.commit(
        relaxed({ head: `${page}`, writePages: [{ number: page, value: 'x' }], dropPages: [page - 1] }),
      );
      expect(file.whenFollowersPass?.()).toBeUndefined();
    }
    expect(proxy.statements).toBe(10);
  });

  test.each(['before', 'during', 'after'] as const)(
    'a poll whose connection is cut %s it is sent again',
    async (at) => {
      const file = await owner.open('a', 'create');
      await file.commit(relaxed({ head: 'one' }));
      const followed = await follow(newStore(watched));
      const { point } = must(await followed.poll());
      await file.commit(relaxed({ journal: { number: 2, text: 'two' } }));
      proxy.cutAt(1, at);
      const next = must(await followed.poll(point));
      expect(proxy.hasCut).toBe(true);
      expect([next.continues, next.records]).toEqual([true, [{ number: 2, text: 'two' }]]);
    },
  );

  test('a journal that is too long for one statement is read whole', async () => {
    const file = await owner.open('a', 'create');
    const records = Array.from({ length: 12 }, (_, at) => ({ number: at + 2, text: `${at} `.repeat(500_000) }));
    for (const journal of records) await file.commit(relaxed({ head: 'one', journal }));
    const followed = await follow(newStore(watched));
    const first = must(await followed.poll());
    expect(first.records).toEqual(records);
    proxy.cutAt(0, 'before');
    const later = must(await followed.poll({ ...first.point, record: 3 }));
    expect([later.continues, later.records]).toEqual([true, records.slice(2)]);
    expect(proxy.statements).toBeGreaterThan(1);
  });

  test('a follower that arrives while a head is committed reads that head', async () => {
    const file = await owner.open('a', 'create');
    await file.commit(relaxed({ head: 'one' }));
    const { connection, release } = await pool.acquire();
    await connection.query('BEGIN');
    await connection.query(`UPDATE ${pool.address.schema}.files SET head = 'two' WHERE name = 'a'`);
    const polled = follow().then((followed) => followed.poll());
    await expect.poll(() => sql('SELECT id FROM SCHEMA.followers'), PATIENCE).toHaveLength(1);
    await isSettled(polled);
    await connection.query('COMMIT');
    release();
    expect((await polled)?.point.head).toBe('two');
  });

  test('a follower does not wait for those that only read, or append', async () => {
    await owner.open('a', 'create');
    const { connection, release } = await pool.acquire();
    await connection.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await connection.query(`SELECT id FROM ${pool.address.schema}.files FOR SHARE`);
    expect((await (await follow()).poll())?.point).toEqual({ epoch: 1, head: undefined, record: 0 });
    await connection.query('ROLLBACK');
    release();
  });

  test('an owner waits for every follower that has an older state, and for no other', async () => {
    const file = await owner.open('a', 'create');
    await file.commit(relaxed({ head: 'one' }));
    const [left, right, idle] = [await follow(), await follow(), await follow(newStore(pool, 3000))];
    const [ofLeft, ofRight] = [must(await left.poll()), must(await right.poll())];
    must(await idle.poll()).release();
    await file.commit(relaxed({ head: 'two' }));
    const passed = file.whenFollowersPass?.();
    await expect
      .poll(() => sql('SELECT generation::int FROM SCHEMA.format'), PATIENCE)
      .not.toEqual([{ generation: 0 }]);
    must(await left.poll(ofLeft.point));
    must(await right.poll(ofRight.point));
    ofLeft.release();
    expect(await isSettled(passed)).toBe(false);
    ofRight.release();
    await passed;
  });

  test('an owner does not wait for a state that a later poll has found to be still the present one', async () => {
    const file = await owner.open('a', 'create');
    const followed = await follow();
    must(await followed.poll()).release();
    await file.commit(relaxed({ head: 'one' }));
    const { point } = must(await followed.poll());
    const passed = file.whenFollowersPass?.();
    await raised();
    expect(await isSettled(passed)).toBe(false);
    expect(await followed.poll(point)).toBeUndefined();
    await passed;
  });

  test('an owner waits for a follower that is silent until its lease ends, and then no more', async () => {
    const file = await owner.open('a', 'create');
    await sql(`INSERT INTO SCHEMA.followers (id, beats, passed, lease_ms) VALUES ('dead', 7, 0, 600)`);
    await file.commit(relaxed({ head: 'one' }));
    await file.whenFollowersPass?.();
    expect(await sql('SELECT FROM SCHEMA.followers')).toEqual([]);
    await file.commit(relaxed({ head: 'two' }));
    expect(file.whenFollowersPass?.()).toBeUndefined();
  });

  test('a wait ends when the file is closed', async () => {
    const file = await owner.open('a', 'create');
    await (await follow()).poll();
    await file.commit(relaxed({ head: 'one' }));
    const passed = file.whenFollowersPass?.();
    expect(passed).toBeDefined();
    await file.close();
    await rejects('storage_closed', () => passed);
  });

  test('a follower whose row was removed gets the same state again, with a new hold', async () => {
    const file = await owner.open('a', 'create');
    await file.commit(relaxed({ head: 'one', journal: { number: 2, text: 'two' } }));
    const followed = await follow(newStore(pool, 3000));
    const { point } = must(await followed.poll());
    const [{ id } = {}] = await sql('DELETE FROM SCHEMA.followers RETURNING id');
    await expect.poll(() => followed.poll(point), PATIENCE).toMatchObject({ point, continues: true, records: [] });
    expect(await followed.poll(point)).toBeUndefined();
    const rows = await sql('SELECT id FROM SCHEMA.followers');
    expect([rows.length, rows[0]?.['id'] === id]).toEqual([1, false]);
    await file.commit(relaxed({ head: 'two' }));
    expect(await isSettled(file.whenFollowersPass?.())).toBe(false);
  });

  test('tables of an earlier release are brought up to date, with what they hold', async () => {
    const file = await owner.open('a', 'create');
    await file.commit(relaxed({ head: 'one', journal: { number: 2, text: 'two' } }));
    await owner.close();
    await toVersionThree(pool);
    await sql('DROP TABLE SCHEMA.followers');
    await sql('ALTER TABLE SCHEMA.servers DROP COLUMN knows_followers');
    await sql('ALTER TABLE SCHEMA.format DROP COLUMN generation');
    await sql('UPDATE SCHEMA.format SET version = 2');
    await prepareSchema(pool);
    const state = must(await (await follow()).poll());
    expect([state.point.head, state.records]).toEqual(['one', [{ number: 2, text: 'two' }]]);
    const reopened = await newStore().open('a', 'open');
    await reopened.commit(relaxed({ head: 'two' }));
    expect(reopened.whenFollowersPass?.()).toBeDefined();
  });

  test('a storage whose owner does not wait for followers can’t be followed', async () => {
    await owner.open('a', 'create');
    await sql(
      `INSERT INTO SCHEMA.servers (id, is_owner, described, until) VALUES ('earlier', true, 'an earlier release', clock_timestamp())`,
    );
    const followed = await follow(newStore(pool, 3000));
    await rejects('storage_blocked', () => followed.poll());
    expect(await sql('SELECT FROM SCHEMA.followers')).toEqual([]);
    await sql('DELETE FROM SCHEMA.servers');
    const lease = await StorageLease.open(pool, new DurableHistory(), { described: 'this one', machine: 'here' });
    await lease.tryTake();
    const { point } = must(await followed.poll());
    await sql('UPDATE SCHEMA.servers SET knows_followers = false');
    const polled = async () => followed.poll(point);
    const last = () => polled().catch(({ code }: { readonly code: unknown }) => code);
    await expect.poll(last, PATIENCE).toBe('storage_blocked');
    await lease.release();
  });

  test.each([
    ['its epoch', 'epoch = epoch - 1'],
    ['its owner', `owner = 'another'`],
  ])('a database that has gone back to an earlier state is refused: %s', async (_what, set) => {
    await (await owner.open('a', 'create')).close();
    await owner.open('a', 'open');
    const history = new DurableHistory();
    const followed = await follow(newStore(pool, LONG_MS, history));
    const { point } = must(await followed.poll());
    await sql(`UPDATE SCHEMA.files SET ${set}`);
    await rejects('storage_rolled_back', () => followed.poll(point));
    expect(history.rollback?.reason).toMatch(/lacks an opening of the file "a"/);
  });

  test('a file of a later release, and a page of another kind, are refused', async () => {
    const file = await owner.open('a', 'create');
    await file.commit(relaxed({ writePages: [{ number: 2, value: 'text' }] }));
    const followed = await follow();
    await rejects('storage_corrupt', () => followed.read(2, 'bytes'));
    await sql('UPDATE SCHEMA.files SET format = 2');
    await rejects('storage_newer_format', () => followed.poll());
    await rejects('storage_newer_format', () => follow());
  });

  test('pages of states that are held can be read, whenever followers come and go', async () => {
    const seed = Date.now() % 2 ** 31;
    console.info(`seed ${seed}`);
    const random = new SeededRandom(seed);
    const history = new History(await owner.open('a', 'create'));
    await history.next();
    let isOver = false;
    const readers = [1, 2, 3].map(async () => {
      let seen = 0;
      while (!isOver) {
        const store = newStore(pool, 60_000);
        const followed = await follow(store);
        for (let polls = random.between(1, 4); polls > 0; polls -= 1) {
          const least = history.last;
          const { point, release } = must(await followed.poll());
          await delay(random.between(0, 20));
          const page = Number(point.head);
          expect(page, `seed ${seed}`).toBeGreaterThanOrEqual(least);
          expect(await followed.read(page, 'text'), `seed ${seed}`).toBe(`page ${page}`);
          release();
          seen += 1;
        }
        await store.close();
        stores.delete(store);
      }
      return seen;
    });
    for (let round = 0; round < 150; round += 1) {
      await history.next();
      await delay(random.between(0, 4));
    }
    isOver = true;
    const seen = await Promise.all(readers);
    expect(Math.min(...seen)).toBeGreaterThan(2);
    await history.hasDropped;
    expect(history.dropped).toBe(150);
  });
});

/** An owner that replaces one page by the next, and drops each as soon as it may. */
class History {
  readonly #file: PageFile;
  last = 0;
  dropped = 0;
  /** Settles when all but the last page were dropped. */
  hasDropped: Promise<unknown> = Promise.resolve();

  constructor(file: PageFile) {
    this.#file = file;
  }

  async next(): Promise<void> {
    const number = this.last + 1;
    await this.#file.commit(relaxed({ head: `${number}`, writePages: [{ number, value: `page ${number}` }] }));
    this.last = number;
    if (number === 1) return;
    const passed = this.#file.whenFollowersPass?.() ?? Promise.resolve();
    const drop = async () => {
      await passed;
      await this.#file.commit(relaxed({ dropPages: [number - 1] }));
      this.dropped += 1;
    };
    this.hasDropped = Promise.all([this.hasDropped, drop()]);
  }
}
