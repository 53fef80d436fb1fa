import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PageFile, PageNumber, PageStore, PageValue } from '../../../../src/storage/page-store.ts';
import type { ConnectionPool } from '../../../../src/storage/postgres/connection-pool.ts';
import { createPostgresPageStore } from '../../../../src/storage/postgres/postgres-page-store.ts';
import { ReadAhead, ReadAheadRoom } from '../../../../src/storage/postgres/read-ahead.ts';
import { CuttingProxy } from '../../../support/postgres/cutting-proxy.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../../../support/postgres/postgres.ts';

const url = await postgresUrl();

describe.skipIf(url === undefined)('reads on PostgreSQL', () => {
  let proxy: CuttingProxy;
  let pool: ConnectionPool;
  let store: PageStore;
  let file: PageFile;

  beforeAll(async () => {
    const target = new URL(newSchema(url ?? ''));
    proxy = await CuttingProxy.start(Number(target.port || 5432));
    target.host = `127.0.0.1:${proxy.port}`;
    pool = await openPool(target.href);
    store = createPostgresPageStore(pool);
    file = await store.open('file', 'create');
    const writePages = Array.from({ length: 200 }, (_, number) => ({ number, value: `page ${number}` }));
    await file.commit({ durability: 'relaxed', writePages });
    const bytes = Array.from({ length: 4 }, (_, at) => ({ number: 1000 + at, value: bytesFrom(at, 100_000) }));
    await file.commit({ durability: 'relaxed', writePages: bytes });
  });
  afterAll(async () => {
    await store.close();
    await dropSchema(pool);
    await pool.close();
    await proxy.close();
  });

  function bytesFrom(first: number, length: number): Uint8Array {
    return Uint8Array.from({ length }, (_, at) => (first + at) % 251);
  }

  async function statementsOf(work: () => unknown): Promise<number> {
    proxy.cutAt(0, 'before');
    await work();
    return proxy.statements;
  }

  test('share a statement if they are requested in one turn, whoever requests them', async () => {
    const read = async (page: number) => {
      await Promise.resolve();
      return file.read(page, 'text');
    };
    const pages = [3, 1, 4, 1, 5, 9, 2, 6];
    expect(await statementsOf(() => Promise.all(pages.map(read)))).toBe(1);
    expect(await Promise.all(pages.map(read))).toEqual(pages.map((page) => `page ${page}`));
  });

  test('of parts share a statement, too, and return copies of those parts', async () => {
    const parts = [
      [1001, 0, 3],
      [1003, 50_000, 4],
      [1001, 99_998, 10],
      [1001, 100_000, 10],
      [4711, 0, 3],
      [7, 0, 3],
    ] as const;
    const read = () => Promise.all(parts.map(([page, offset, length]) => file.readRange?.(page, offset, length)));
    expect(await statementsOf(read)).toBe(1);
    const found = await read();
    expect(found.map((part) => part && [...part])).toEqual([
      [1, 2, 3],
      [54, 55, 56, 57],
      [(1 + 99_998) % 251, (1 + 99_999) % 251],
      [],
      // There is no such page, and the other one holds no bytes.
      undefined,
      undefined,
    ]);
    found[0]?.fill(0);
    expect([...((await file.readRange?.(1001, 0, 3)) ?? [])]).toEqual([1, 2, 3]);
  });

  test('of parts of a page that was announced take no statement, and leave it there', async () => {
    file.readAhead?.([1002]);
    expect(await statementsOf(() => file.readRange?.(1002, 0, 2))).toBe(1);
    expect(await statementsOf(() => file.readRange?.(1002, 10, 2))).toBe(0);
    expect(await statementsOf(() => file.read(1002, 'bytes'))).toBe(0);
    expect([...((await file.readRange?.(1002, 10, 2)) ?? [])]).toEqual([12, 13]);
  });

  test('of more parts than a statement may have take several', async () => {
    const read = () => Promise.all(Array.from({ length: 300 }, (_, at) => file.readRange?.(1000, at, 1)));
    // It opens a second connection.
    const found = await read();
    expect(await statementsOf(read)).toBe(2);
    expect(found.map((part) => part?.[0])).toEqual([...bytesFrom(0, 300)]);
  });

  test('take no statement if they were announced', async () => {
    expect(await statementsOf(() => file.readAhead?.([10, 11, 12]))).toBe(0);
    const first = await statementsOf(() => file.read(10, 'text'));
    expect(first).toBe(1);
    expect(await statementsOf(() => Promise.all([file.read(11, 'text'), file.read(12, 'text')]))).toBe(0);
    // It is kept until it is read, not longer.
    expect(await statementsOf(() => file.read(12, 'text'))).toBe(1);
  });

  test('find no page that was announced and then dropped', async () => {
    file.readAhead?.([20, 21]);
    expect(await file.read(21, 'text')).toBe('page 21');
    await file.commit({ durability: 'relaxed', dropPages: [20] });
    expect(await file.read(20, 'text')).toBeUndefined();
  });
});

describe('reading ahead', () => {
  const MEBIBYTE = new Uint8Array(2 ** 20);

  function setUp(answer: (page: PageNumber) => PageValue | undefined = () => MEBIBYTE) {
    const reads: PageNumber[] = [];
    const read = async (page: PageNumber) => {
      reads.push(page);
      return answer(page);
    };
    return { reads, ahead: new ReadAhead({ room: new ReadAheadRoom(), read }) };
  }

  test('keeps 16 MiB, and gives up the oldest pages first', async () => {
    const { reads, ahead } = setUp();
    ahead.announce(Array.from({ length: 20 }, (_, page) => page));
    await new Promise((resolve) => setImmediate(resolve));
    reads.length = 0;
    for (let page = 0; page < 20; page += 1) expect(await ahead.read(page)).toBe(MEBIBYTE);
    expect(reads).toEqual([0, 1, 2, 3]);
  });

  test('reads a page again if it was not there, or could not be read', async () => {
    let attempt = 0;
    const { ahead } = setUp((page) => {
      attempt += 1;
      if (attempt <= 2 && page === 2) throw new Error('the connection broke');
      return attempt <= 2 ? undefined : `page ${page}`;
    });
    ahead.announce([1, 2]);
    expect(await Promise.all([ahead.read(1), ahead.read(2)])).toEqual(['page 1', 'page 2']);
  });

  test('has at most 128 reads under way', () => {
    const { reads, ahead } = setUp();
    ahead.announce(Array.from({ length: 300 }, (_, page) => page));
    expect(reads.length).toBe(128);
  });
});
