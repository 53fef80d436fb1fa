import { describe, expect, test } from 'vitest';
import { ADMIN_PARTY } from '../../../../../src/accounts/contract.ts';
import { DatabaseError } from '../../../../../src/base/errors/database-error.ts';
import { systemClock, systemRandom } from '../../../../../src/base/shared/clock.ts';
import { type Core, createCore } from '../../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../../src/core/deferred/deferred-code.ts';
import { parseDocId } from '../../../../../src/database/documents/identifiers.ts';
import { viewHandlers } from '../../../../../src/http/queries/views/view-handlers.ts';
import { isStream } from '../../../../../src/http/request/bodies.ts';
import { type Answer, Context } from '../../../../../src/http/request/context.ts';
import type { ViewGroup, ViewIndexes, ViewReader, ViewRow } from '../../../../../src/queries/views/contract.ts';
import { createMemoryPageStore } from '../../../../../src/storage/memory-page-store.ts';
import { createTestRouter, services, textOf } from '../../support.ts';

const ROWS = 20_000;
const BATCH = 100;

/** What is held at the moment, and what has happened. */
interface Watch {
  groups: number;
  readers: number;
  leases: number;
  rowsRead: number;
  failAtRow: number;
  readFails: boolean;
}

function rowOf(index: number): ViewRow {
  const id = parseDocId(`doc${index}`);
  return { id, idText: `"${id}"`, keyText: String(index), valueText: 'null' };
}

async function* fakeRows(watch: Watch): AsyncGenerator<readonly ViewRow[]> {
  for (let start = 0; start < ROWS; start += BATCH) {
    if (start >= watch.failAtRow) throw new DatabaseError('storage_corrupt', 'page 7 is damaged');
    watch.rowsRead += BATCH;
    yield Array.from({ length: BATCH }, (_, index) => rowOf(start + index));
  }
}

function fakeReader(watch: Watch): ViewReader {
  watch.readers++;
  return {
    version: 1,
    updateSeq: 1,
    lastChange: () => ({ seq: 1, purgeSeq: 0 }),
    totalRows: () => ROWS,
    rows: async () => ({ totalRows: ROWS, offset: 0, rows: fakeRows(watch) }),
    reduce: async function* () {
      yield [{ keyText: 'null', valueText: '1' }];
    },
    release: () => {
      watch.readers--;
    },
  };
}

function fakeGroup(watch: Watch): ViewGroup {
  watch.groups++;
  const view = { name: 'v', map: '', reduce: undefined, options: {}, collation: 'unicode' } as const;
  const unused = () => Promise.reject(new Error('not part of this test'));
  return {
    signature: 's',
    language: 'javascript',
    views: new Map([['v', view]]),
    options: {},
    read: async () => {
      if (watch.readFails) throw new DatabaseError('compilation_error', 'no function');
      return fakeReader(watch);
    },
    watch: () => ({ take: () => [], end: () => undefined }),
    info: unused,
    compact: unused,
    release: () => {
      watch.groups--;
    },
  };
}

/** A core's databases with fake indexes. */
async function watchedService() {
  const watch: Watch = {
    groups: 0,
    readers: 0,
    leases: 0,
    rowsRead: 0,
    failAtRow: Number.POSITIVE_INFINITY,
    readFails: false,
  };
  const storage = createMemoryPageStore();
  const deferred = deferredAtHand();
  const core: Core = await createCore({ storage, clock: systemClock, random: systemRandom, deferred });
  const { registry } = core;
  await registry.create('db');
  const design = { id: parseDocId('_design/d'), rev: undefined, deleted: false, body: '{}' };
  await registry.use('db', (database) => database.write([design], { newEdits: true, durability: 'relaxed' }));
  const unused = () => Promise.reject(new Error('not part of this test'));
  const service: ViewIndexes = {
    open: () => fakeGroup(watch),
    temporary: unused,
    cleanup: unused,
    build: unused,
    forget: unused,
    close: unused,
  };
  const router = createTestRouter({ views: () => ({ service, handlers: viewHandlers }) });
  const watched = {
    ...registry,
    has: (name: string) => registry.has(name),
    use: registry.use.bind(registry),
    acquire: async (name: string) => {
      const lease = await registry.acquire(name);
      watch.leases++;
      const release = () => {
        watch.leases--;
        lease.release();
      };
      return { database: lease.database, release };
    },
  };
  const ask = async (url: string, headers: Readonly<Record<string, string>> = {}, isHead = false): Promise<Answer> => {
    const request = { method: 'GET', url, headers, body: null, user: ADMIN_PARTY };
    const context = new Context(request, services({}, { registry: watched }));
    context.isHead = isHead;
    return router.dispatch(context);
  };
  return { watch, ask };
}

const path = '/db/_design/d/_view/v';

function held({ groups, readers, leases }: Watch): readonly number[] {
  return [groups, readers, leases];
}

describe('the rows of a view', () => {
  test('are released at their end', async () => {
    const { watch, ask } = await watchedService();
    const { body } = await ask(path);
    expect(held(watch)).toEqual([1, 1, 1]);
    expect((await textOf(body)).split('\r\n')).toHaveLength(ROWS + 2);
    expect(held(watch)).toEqual([0, 0, 0]);
  });

  test('are not read in advance, and are released when the client stops reading', async () => {
    const { watch, ask } = await watchedService();
    const { body } = await ask(path);
    expect(watch.rowsRead).toBeLessThan(ROWS / 5);
    if (!isStream(body)) throw new Error('a stream was expected');
    await body.pull();
    await body.cancel();
    expect(held(watch)).toEqual([0, 0, 0]);
    expect(watch.rowsRead).toBeLessThan(ROWS / 2);
  });

  test("that can't be read have their own status, or abort the response", async () => {
    const { watch, ask } = await watchedService();
    watch.failAtRow = 0;
    await expect(ask(path)).rejects.toThrow('page 7 is damaged');
    expect(held(watch)).toEqual([0, 0, 0]);
    watch.failAtRow = ROWS / 2;
    const { status, body } = await ask(path);
    expect(status).toBe(200);
    await expect(textOf(body)).rejects.toThrow('page 7 is damaged');
    expect(held(watch)).toEqual([0, 0, 0]);
  });

  test.each([
    ['an index that can not be built', path, true],
    ['a view that is not there', '/db/_design/d/_view/w', false],
    ['a parameter that can not be', `${path}?limit=x`, false],
    ['a design document that is not there', '/db/_design/e/_view/v', false],
  ])('are released for %s', async (_name, url, readFails) => {
    const { watch, ask } = await watchedService();
    watch.readFails = readFails;
    await expect(ask(url)).rejects.toThrow(DatabaseError);
    expect(held(watch)).toEqual([0, 0, 0]);
  });

  test('are read up to the first chunk for HEAD, and not at all for a 304', async () => {
    const { watch, ask } = await watchedService();
    const head = await ask(path, {}, true);
    expect([head.status, head.body, held(watch)]).toEqual([200, null, [0, 0, 0]]);
    const { rowsRead } = watch;
    expect(rowsRead).toBeLessThan(ROWS / 2);
    const again = await ask(path, { 'if-none-match': head.headers['etag'] ?? '' });
    expect([again.status, held(watch), watch.rowsRead]).toEqual([304, [0, 0, 0], rowsRead]);
  });
});
