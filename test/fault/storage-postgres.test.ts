import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isDatabaseError } from '../../src/base/errors/database-error.ts';
import type { PageFile } from '../../src/storage/page-store.ts';
import type { ConnectionPool } from '../../src/storage/postgres/connection-pool.ts';
import { createPostgresPageStore } from '../../src/storage/postgres/postgres-page-store.ts';
import { contentOf, rejects, relaxed } from '../conformance/storage/expectations.ts';
import { isLongRun, roundsOf } from '../support/long-runs.ts';
import { Cluster } from '../support/postgres/cluster.ts';
import { CuttingProxy, type Moment } from '../support/postgres/cutting-proxy.ts';
import { commitsFrom, FileModel } from '../support/postgres/file-model.ts';
import { dropSchema, mayBeMissing, newSchema, openPool, recordNumbers } from '../support/postgres/postgres.ts';
import { SeededRandom } from '../support/seeded-random.ts';

// Without the background writer of its log, what no commit waited for is lost whenever the server crashes.
const cluster = await Cluster.start({ fsync: true, settings: ['wal_writer_delay=10s', 'wal_writer_flush_after=0'] });
if (cluster === undefined) mayBeMissing();

const RACES = roundsOf(60, 1000);
/** For what a long run does a thousand times. */
const TIMEOUT_MS = roundsOf(120_000, 3_600_000);

describe.skipIf(cluster === undefined)('PostgreSQL', () => {
  const server = cluster as Cluster;
  let proxy: CuttingProxy;

  beforeAll(async () => {
    proxy = await CuttingProxy.start(server.port);
  });
  afterAll(async () => {
    await proxy.close();
    await server.remove();
  });

  async function run(pool: ConnectionPool, model: FileModel): Promise<void> {
    const store = createPostgresPageStore(pool);
    for (const mode of ['create', 'open'] as const) {
      const file = await store.open('file', mode);
      for (const commit of commitsFrom(file.opening.nextJournal)) {
        await file.commit(commit);
        model.apply(commit);
      }
      for (const [number, value] of model.pages) {
        const found = typeof value === 'string' ? await file.read(number, 'text') : await file.read(number, 'bytes');
        expect(found).toEqual(value);
      }
      await file.close();
    }
    await store.close();
  }

  /** Returns how many statements the workload sends. */
  async function tryWith(cut: { readonly at: number; readonly moment: Moment } | undefined): Promise<number> {
    const direct = await openPool(newSchema(server.url()));
    const { schema } = direct.address;
    const pool = await openPool(proxy.url(`?schema=${schema}&pool=1`));
    try {
      proxy.cutAt(cut?.at ?? 0, cut?.moment ?? 'before');
      const model = new FileModel();
      await run(pool, model);
      const { statements } = proxy;
      const store = createPostgresPageStore(direct);
      const file = await store.open('file', 'open');
      expect(await contentOf(file)).toEqual(model.content);
      const texts = [...model.journal.values(), model.head ?? ''].reduce((sum, { length }) => sum + length, 0);
      expect(await file.size()).toBe(model.pageBytes + texts);
      await file.close();
      await store.close();
      return statements;
    } finally {
      await pool.close();
      await dropSchema(direct);
      await direct.close();
    }
  }

  describe.each(['before', 'during', 'after'] as const)('a connection that is cut %s a statement', (moment) => {
    test(
      'loses nothing and does nothing twice, whichever statement it is',
      async () => {
        const statements = await tryWith(undefined);
        expect(statements).toBeGreaterThan(30);
        const step = isLongRun ? 1 : 3;
        const first = isLongRun ? 1 : 1 + Math.floor(Math.random() * step);
        for (let at = first; at <= statements; at += step) {
          await tryWith({ at, moment });
          expect(proxy.hasCut, `statement ${at}`).toBe(true);
        }
      },
      TIMEOUT_MS,
    );
  });

  test(
    `takes over in ${RACES} races without losing a record, or admitting a stale owner`,
    async () => {
      const seed = Math.floor(Math.random() * 2 ** 31);
      const random = new SeededRandom(seed);
      const pool = await openPool(newSchema(server.url()));
      const store = createPostgresPageStore(pool);
      const model = new FileModel();
      let owner = await store.open('file', 'create');
      for (let round = 0; round < RACES; round += 1) {
        const stale = owner;
        const writer = writeUntilFenced(stale, model, random);
        for (let turns = random.between(0, 40); turns > 0; turns -= 1) await new Promise((done) => setImmediate(done));
        owner = await store.open('file', 'open');
        await writer;
        expect(await contentOf(owner), `seed ${seed}, round ${round}`).toEqual(model.content);
        await rejects('storage_fenced', () => stale.commit({ durability: 'relaxed', head: 'stale' }));
        await stale.close();
      }
      await store.close();
      await dropSchema(pool);
      await pool.close();
    },
    TIMEOUT_MS,
  );

  /** What the owner's last commits were; each is applied to the model as soon as it is acknowledged. */
  async function writeUntilFenced(file: PageFile, model: FileModel, random: SeededRandom): Promise<void> {
    for (let next = file.opening.nextJournal; ; next += 1) {
      const journal = { number: next, text: `${file.opening.epoch}: ${next}` };
      const commit = random.chance(60)
        ? relaxed({ journal })
        : relaxed({
            journal,
            head: `head ${next}`,
            truncateJournal: next - 3,
            writePages: [{ number: 2 * next, value: 'p' }],
            dropPages: [...model.pages.keys()].filter((page) => page < 2 * next - 20),
          });
      try {
        await file.commit(commit);
        model.apply(commit);
      } catch (error) {
        expect(isDatabaseError(error, 'storage_fenced'), String(error)).toBe(true);
        return;
      }
    }
  }

  test.each([
    ['crashes', () => server.crash().then(() => server.startAgain())],
    ['recovers from the death of one of its processes', () => server.killConnection()],
  ])(
    'when the server %s, strict commits are there, and no commit follows on relaxed ones that were lost',
    async (_, crash) => {
      const pool = await openPool(newSchema(server.url()));
      const store = createPostgresPageStore(pool);
      let file = await store.open('0', 'create');
      // The server may have written its log between the commit and the crash.
      for (let round = 1; ; round += 1) {
        await file.commit({ durability: 'strict', journal: { number: 2, text: 'strict' } });
        await file.commit(relaxed({ journal: { number: 3, text: 'relaxed' } }));
        await crash();
        if ((await recordNumbers(pool, file.name)).length === 1) break;
        await file.close();
        file = await store.open(`${round}`, 'create');
      }
      await rejects('storage_closed', () =>
        file.commit({ durability: 'strict', journal: { number: 4, text: 'later' } }),
      );
      await rejects('storage_closed', () => file.commit({ durability: 'strict', head: 'later' }));
      expect(await recordNumbers(pool, file.name)).toEqual([2]);
      await file.close();
      const again = await store.open(file.name, 'open');
      expect(again.opening).toEqual({
        ...{ epoch: 2, head: undefined, journal: [{ number: 2, text: 'strict' }], nextJournal: 4 },
        loss: 'the PostgreSQL server crashed, or was replaced, and lacks the last relaxed commits',
      });
      await again.commit({ durability: 'strict', journal: { number: 4, text: 'later' } });
      expect(await recordNumbers(pool, file.name)).toEqual([2, 4]);
      await store.close();
      await dropSchema(pool);
      await pool.close();
    },
    TIMEOUT_MS,
  );

  test('continues with the same owner after the server was restarted in an orderly way', async () => {
    const pool = await openPool(newSchema(server.url()));
    const store = createPostgresPageStore(pool);
    const file = await store.open('file', 'create');
    await file.commit(relaxed({ journal: { number: 2, text: 'before' }, writePages: [{ number: 2, value: 'page' }] }));
    await server.shutDown();
    const waiting = file.commit({ durability: 'strict', journal: { number: 3, text: 'during' } });
    const read = file.read(2, 'text');
    await server.startAgain();
    await waiting;
    expect(await read).toBe('page');
    await file.commit(relaxed({ journal: { number: 4, text: 'after' } }));
    expect(await file.isCurrent()).toBe(true);
    await store.close();
    await dropSchema(pool);
    await pool.close();
  });

  test('refuses what could not be done in time, having changed nothing, and goes on once it can', async () => {
    const direct = await openPool(newSchema(server.url()));
    const pool = await openPool(proxy.url(`?schema=${direct.address.schema}&timeout=1`));
    const store = createPostgresPageStore(pool);
    const file = await store.open('file', 'create');
    await file.commit(relaxed({ writePages: [{ number: 2, value: 'page' }] }));
    proxy.isDown = true;
    await rejects('storage_blocked', () => file.read(2, 'text'));
    // The read has found every connection broken, so this is never sent.
    await rejects('storage_blocked', () => file.commit(relaxed({ journal: { number: 2, text: 'refused' } })));
    proxy.isDown = false;
    await file.commit(relaxed({ journal: { number: 2, text: 'done' } }));
    expect(await file.read(2, 'text')).toBe('page');
    await store.close();
    const reopened = await createPostgresPageStore(direct).open('file', 'open');
    expect(reopened.opening.journal).toEqual([{ number: 2, text: 'done' }]);
    await reopened.close();
    await pool.close();
    await dropSchema(direct);
    await direct.close();
  });

  test('takes at most a connection for what is written, read and removed at the same time', async () => {
    const pool = await openPool(newSchema(server.url('?pool=2')));
    const store = createPostgresPageStore(pool);
    const files = await Promise.all(Array.from({ length: 30 }, (_, at) => store.open(`file-${at}`, 'create')));
    await Promise.all(files.map((file) => file.commit(relaxed({ writePages: [{ number: 2, value: file.name }] }))));
    const pages = await Promise.all(files.map((file) => file.read(2, 'text')));
    expect(pages).toEqual(files.map((file) => file.name));
    await Promise.all(files.map((file) => store.destroy(file.name)));
    expect(await store.list()).toEqual([]);
    await store.close();
    await dropSchema(pool);
    await pool.close();
  });
});
