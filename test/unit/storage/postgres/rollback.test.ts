import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Commit, PageFile, PageStore } from '../../../../src/storage/page-store.ts';
import type { ConnectionPool } from '../../../../src/storage/postgres/connection-pool.ts';
import { DurableHistory } from '../../../../src/storage/postgres/durable-history.ts';
import { createPostgresPageStore } from '../../../../src/storage/postgres/postgres-page-store.ts';
import { allPages, rejects, relaxed } from '../../../conformance/storage/expectations.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../../../support/postgres/postgres.ts';

const url = await postgresUrl();

describe.skipIf(url === undefined)('a database that has gone back to an earlier state', () => {
  let pool: ConnectionPool;
  let store: PageStore;
  let history: DurableHistory;
  let file: PageFile;
  let name = '';

  beforeAll(async () => {
    pool = await openPool(newSchema(url ?? ''));
  });
  beforeEach(async () => {
    history = new DurableHistory();
    store = createPostgresPageStore(pool, history);
    name = `file-${crypto.randomUUID()}`;
    file = await store.open(name, 'create');
  });
  afterAll(async () => {
    await dropSchema(pool);
    await pool.close();
  });

  /** `text`: with the name of the file as its parameter. */
  async function ask(text: string): Promise<void> {
    await pool.use((connection) => connection.query(text, [name]));
  }

  /** As a crash does. */
  async function endConnections(): Promise<void> {
    const end = 'SELECT pg_terminate_backend(pg_backend_pid())';
    while (pool.figures.open > 0) {
      await expect(pool.use((connection) => connection.query(end))).rejects.toThrow('terminating connection');
    }
  }

  function change(set: string): Promise<void> {
    return ask(`UPDATE ${pool.address.schema}.files SET ${set} WHERE name = $1`);
  }

  test('is refused if an opening is missing, and so is every file from then on', async () => {
    await file.close();
    file = await store.open(name, 'open');
    await change('epoch = 1');
    await rejects('storage_rolled_back', () => file.commit(relaxed({ head: 'x' })));
    expect(history.rollback?.reason).toMatch(/lacks strict commits of the file .* Make the former primary the primary/);
    await file.close();
    await rejects('storage_rolled_back', () => store.open(name, 'open'));
    await rejects('storage_rolled_back', () => store.open('another', 'create'));
    await store.close();
    // A process that was started later knows nothing of what is missing.
    const later = createPostgresPageStore(pool);
    expect((await later.open(name, 'open')).opening.epoch).toBe(2);
    await later.close();
  });

  test('is refused if an opening is missing of a file that is closed, whose epoch is not raised by that', async () => {
    await file.close();
    await (await store.open(name, 'open')).close();
    await change('epoch = 1');
    await rejects('storage_rolled_back', () => store.open(name, 'open'));
    const text = `SELECT epoch::int FROM ${pool.address.schema}.files WHERE name = $1`;
    expect(await pool.use((connection) => connection.query(text, [name]))).toEqual([{ epoch: 1 }]);
    await store.close();
  });

  test('is refused if a strict commit is missing; if only relaxed ones are, the file is opened again', async () => {
    await file.commit({ durability: 'strict', head: 'strict' });
    await file.commit(relaxed({ head: 'relaxed' }));
    await change('step = 1');
    await rejects('storage_closed', () => file.commit(relaxed({ head: 'next' })));
    expect(history.rollback).toBeUndefined();
    await file.close();
    file = await store.open(name, 'open');
    expect(file.opening.loss).toMatch(/^the PostgreSQL server crashed, or was replaced, and lacks/);
    await file.commit({ durability: 'strict', head: 'strict' });
    await change('step = 0');
    await rejects('storage_rolled_back', () => file.commit(relaxed({ head: 'next' })));
    await store.close();
  });

  describe.each([
    ['record', relaxed({ journal: { number: 2, text: 'lost' } })],
    ['head', relaxed({ head: 'lost' })],
    ['page', relaxed({ writePages: [{ number: 6, value: 'lost' }] })],
  ])('without the last relaxed commit, which was a %s', (_, lost) => {
    const number = lost.journal === undefined ? 2 : 3;
    const large = [8, 10, 12, 14, 16].map((page) => ({ number: page, value: 'x'.repeat(2 ** 20) }));

    test.each<[string, Commit]>([
      ['a relaxed record', relaxed({ journal: { number, text: 'next' } })],
      ['a strict record', { durability: 'strict', journal: { number, text: 'next' } }],
      ['a head', { durability: 'strict', head: 'next' }],
      ['a head that takes the place of the journal', { durability: 'strict', head: 'next', truncateJournal: number }],
      ['pages for several statements', relaxed({ writePages: large })],
      ['nothing', { durability: 'strict' }],
    ])('refuses a commit of %s, and is opened again with a new epoch', async (__, next) => {
      await file.commit(lost);
      await (lost.journal === undefined
        ? change(`step = 0, head = NULL`)
        : ask(
            `DELETE FROM ${pool.address.schema}.journal WHERE file = (SELECT id FROM ${pool.address.schema}.files WHERE name = $1)`,
          ));
      await endConnections();
      await rejects('storage_closed', () => file.commit(next));
      await rejects('storage_closed', () => file.commit(next));
      await rejects('storage_closed', () => file.isCurrent());
      await file.close();
      expect(history.rollback).toBeUndefined();
      file = await store.open(name, 'open');
      const { epoch, head, journal, loss } = file.opening;
      expect([epoch, head, journal]).toEqual([2, undefined, []]);
      expect(loss).toBe('the PostgreSQL server crashed, or was replaced, and lacks the last relaxed commits');
      expect((await allPages(file)).filter((page) => page > 6)).toEqual([]);
      await store.close();
    });
  });

  test('fences an owner whose epoch another one has been given again', async () => {
    await file.close();
    const stale = await store.open(name, 'open');
    await change('epoch = 1');
    const next = await createPostgresPageStore(pool).open(name, 'open');
    expect(next.opening.epoch).toBe(stale.opening.epoch);
    await rejects('storage_fenced', () =>
      stale.commit(relaxed({ journal: { number: stale.opening.nextJournal, text: 'stale' } })),
    );
    await rejects('storage_fenced', () => stale.commit(relaxed({ head: 'stale' })));
    expect(await stale.isCurrent()).toBe(false);
    await next.commit(relaxed({ head: 'next' }));
    await store.close();
    await next.close();
  });
});
