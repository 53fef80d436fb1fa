import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PageFile, PageStore } from '../../../../src/storage/page-store.ts';
import type { ConnectionPool } from '../../../../src/storage/postgres/connection-pool.ts';
import { DurableHistory } from '../../../../src/storage/postgres/durable-history.ts';
import { createPostgresPageStore } from '../../../../src/storage/postgres/postgres-page-store.ts';
import { rejects, relaxed } from '../../../conformance/storage/expectations.ts';
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

  async function change(set: string): Promise<void> {
    const text = `UPDATE ${pool.address.schema}.files SET ${set} WHERE name = $1`;
    await pool.use((connection) => connection.query(text, [name]));
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
    expect(file.opening.loss).toMatch(/^the PostgreSQL server was restarted, or replaced, without/);
    await file.commit({ durability: 'strict', head: 'strict' });
    await change('step = 0');
    await rejects('storage_rolled_back', () => file.commit(relaxed({ head: 'next' })));
    await store.close();
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
