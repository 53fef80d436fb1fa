/** Every snapshot and every lease is given back, whatever becomes of the answer; and what writes ask of the database. */
import { describe, expect, test } from 'vitest';
import { DatabaseError, type ErrorCode } from '../../../src/base/errors/database-error.ts';
import type { PlainRequest } from '../../../src/base/shared/message.ts';
import { parseDocId } from '../../../src/database/documents/identifiers.ts';
import { toRevId } from '../../../src/database/documents/revisions/revisions.ts';
import type { Registry } from '../../../src/database/registry/contract.ts';
import type {
  Database,
  DocumentRecord,
  DocumentRow,
  Snapshot,
  WriteOptions,
} from '../../../src/database/store/contract.ts';
import { createHandle } from '../../../src/http/http-service.ts';
import { isStream } from '../../../src/http/request/bodies.ts';
import { JSON_HEADERS, noParts, services, streamOf, textOf } from './support.ts';

const ROWS = 20_000;
const BATCH = 100;

interface Watch {
  snapshots: number;
  leases: number;
  bodiesRead: number;
  /** Most bodies that were read at once. */
  largestRead: number;
  writes: WriteOptions[];
  failAtRow: number;
  bodyBytes: number;
  /** Code of the failure of every read of a document. */
  failure: ErrorCode | undefined;
  compactRunning: boolean;
  compactions: number;
  flushes: number;
}

/** A database with many documents of one revision `1-a`, that counts what is open. */
function watchedService() {
  const watch: Watch = {
    snapshots: 0,
    leases: 0,
    bodiesRead: 0,
    largestRead: 0,
    writes: [],
    failAtRow: Number.POSITIVE_INFINITY,
    bodyBytes: 100,
    failure: undefined,
    compactRunning: false,
    compactions: 0,
    flushes: 0,
  };
  const database = fakeDatabase(watch);
  const acquire = async () => {
    watch.leases++;
    return {
      database,
      release: () => {
        watch.leases--;
      },
    };
  };
  const registry: Registry = {
    ...services().registry,
    has: () => true,
    acquire,
    use: async (_name, use) => {
      watch.leases++;
      try {
        return await use(database);
      } finally {
        watch.leases--;
      }
    },
  };
  const handle = createHandle(services({}, { registry }), noParts, () => false);
  const ask = (method: string, url: string, more: Partial<PlainRequest> = {}) =>
    handle({ method, url, headers: JSON_HEADERS, body: null, ...more });
  return { watch, ask };
}

function recordOf(id: string, length = 100): DocumentRecord {
  const body = { page: 1, offset: 0, length };
  return {
    id: parseDocId(id),
    seq: 1,
    leaves: [{ generation: 1, hash: 'a', deleted: false, body, parent: undefined }],
  };
}

function fakeSnapshot(watch: Watch): Snapshot {
  watch.snapshots++;
  return {
    updateSeq: 1,
    purgeSeq: 0,
    docCount: ROWS,
    docDelCount: 0,
    document: async (id) => {
      if (watch.failure !== undefined) throw new DatabaseError(watch.failure, 'the read failed');
      return recordOf(id);
    },
    documents: async (ids) => ids.map((id) => recordOf(id)),
    documentBatches: async function* (ids) {
      yield [...ids].map((id) => id && recordOf(id));
    },
    body: async () => '{}',
    bodyPieces: async function* (node) {
      watch.bodiesRead += 1;
      watch.largestRead = Math.max(watch.largestRead, 1);
      yield `{"text":"${'x'.repeat(node.body?.length ?? 0)}"}`;
    },
    attachment: () => undefined,
    openAttachment: async () => undefined,
    bodies: async (nodes) => {
      watch.bodiesRead += nodes.length;
      watch.largestRead = Math.max(watch.largestRead, nodes.length);
      return nodes.map(() => `{"text":"${'x'.repeat(80)}"}`);
    },
    rows: () => fakeRows(watch),
    offset: async () => 0,
    changes: () => noRows(),
    changeCount: () => 0,
    locals: () => noRows(),
    localCount: async () => 0,
    release: () => {
      watch.snapshots--;
    },
  };
}

async function* noRows(): AsyncGenerator<never, void, void> {}

async function* fakeRows(watch: Watch): AsyncGenerator<readonly DocumentRow[], void, void> {
  for (let start = 0; start < ROWS; start += BATCH) {
    if (start >= watch.failAtRow) throw new DatabaseError('storage_corrupt', 'page 7 is damaged');
    yield Array.from({ length: BATCH }, (_, index) => {
      const record = recordOf(String(start + index).padStart(8, '0'), watch.bodyBytes);
      return { id: record.id, rev: toRevId(1, 'a'), record: () => record };
    });
  }
}

function fakeDatabase(watch: Watch): Database {
  const unused = () => Promise.reject(new Error('not part of this test'));
  return {
    name: 'db',
    uuid: 'u',
    instanceStartTime: '1',
    updateSeq: 1,
    epoch: 1,
    origin: unused,
    upload: unused,
    info: async () => ({
      name: 'db',
      uuid: 'u',
      docCount: ROWS,
      docDelCount: 0,
      updateSeq: 1,
      committedUpdateSeq: 1,
      purgeSeq: 0,
      compactRunning: false,
      diskSize: 1,
      dataSize: 1,
      contentSize: 1,
      oldSize: 0,
      deletedSize: 0,
      instanceStartTime: '1',
      diskFormatVersion: 2,
    }),
    current: () => undefined,
    snapshot: () => fakeSnapshot(watch),
    write: async (writes, options) => {
      watch.writes.push(options);
      return writes.map(({ id, rev, deleted }) => {
        if (id !== 'refused') return { ok: true, id, rev: toRevId(1, 'a'), deleted };
        return { ok: false, id, rev, error: new DatabaseError('forbidden', 'no') };
      });
    },
    writeDelayed: () => {},
    readLocal: async () => undefined,
    writeLocal: async () => '0-1',
    security: '{}',
    setSecurity: unused,
    revsLimit: 1000,
    setRevsLimit: unused,
    purgeSeq: 0,
    purge: unused,
    timeMarks: [],
    seqAt: () => 0,
    resetTimes: unused,
    autoPurge: '{}',
    setAutoPurge: unused,
    purgeTombstones: unused,
    purgeNotes: () => undefined,
    setPurgeNotes: unused,
    flush: async () => {
      watch.flushes++;
      return '1';
    },
    compact: async () => {
      watch.compactions++;
    },
    get compactRunning() {
      return watch.compactRunning;
    },
    verify: unused,
    onChange: () => () => {},
    close: unused,
  };
}

const list = '/db/_all_docs?include_docs=true';

describe('a long list', () => {
  test('is released at its end', async () => {
    const { watch, ask } = watchedService();
    const { body } = await ask('GET', list);
    expect([watch.snapshots, watch.leases]).toEqual([1, 1]);
    expect((await textOf(body)).split('\r\n')).toHaveLength(ROWS + 2);
    expect([watch.snapshots, watch.leases, watch.bodiesRead]).toEqual([0, 0, ROWS]);
  });

  test('is released when the client stops reading, and was not read in advance', async () => {
    const { watch, ask } = watchedService();
    const { body } = await ask('GET', list);
    expect(watch.bodiesRead).toBeLessThan(500);
    if (!isStream(body)) throw new Error('a stream was expected');
    await body.pull();
    await body.cancel();
    expect([watch.snapshots, watch.leases]).toEqual([0, 0]);
  });

  test("is released when its first rows can't be read, which has its own status", async () => {
    const { watch, ask } = watchedService();
    watch.failAtRow = 0;
    expect(await ask('GET', list)).toMatchObject({
      status: 500,
      body: '{"error":"storage_corrupt","reason":"page 7 is damaged"}\n',
    });
    expect([watch.snapshots, watch.leases]).toEqual([0, 0]);
  });

  test('is released when it is aborted', async () => {
    const { watch, ask } = watchedService();
    watch.failAtRow = 5000;
    const { status, body } = await ask('GET', list);
    expect(status).toBe(200);
    await expect(textOf(body)).rejects.toThrow('page 7 is damaged');
    expect([watch.snapshots, watch.leases]).toEqual([0, 0]);
  });

  test('is released at once for HEAD, after its first rows', async () => {
    const { watch, ask } = watchedService();
    expect(await ask('HEAD', list)).toMatchObject({ status: 200, body: null });
    expect([watch.snapshots, watch.leases]).toEqual([0, 0]);
    expect(watch.bodiesRead).toBeLessThan(2_000);
  });

  test('is released at once for a 304', async () => {
    const { watch, ask } = watchedService();
    const first = await ask('GET', `${list}&limit=1`);
    const tag = new Headers({ ...first.headers }).get('etag') ?? '';
    const again = await ask('GET', list, { headers: { 'if-none-match': tag } });
    expect(again.status).toBe(304);
    expect([watch.snapshots, watch.leases]).toEqual([0, 0]);
  });
});

test('documents are read together as far as their bodies are small', async () => {
  const { watch, ask } = watchedService();
  await textOf((await ask('GET', `${list}&limit=200`)).body);
  expect(watch.largestRead).toBe(BATCH);
  const large = watchedService();
  large.watch.bodyBytes = 30_000;
  await textOf((await large.ask('GET', `${list}&limit=200`)).body);
  expect([large.watch.bodiesRead, large.watch.largestRead]).toEqual([200, 2]);
});

test.each(['/db/doc', '/db/doc?open_revs=all'])('a failed read of %s releases what it took', async (url) => {
  const { watch, ask } = watchedService();
  watch.failure = 'storage_blocked';
  expect((await ask('GET', url)).status).toBe(503);
  expect([watch.snapshots, watch.leases]).toEqual([0, 0]);
});

test.each([
  ['', 1],
  // Known is not durable: the write may have been a relaxed one.
  ['?seq=1', 1],
  ['?seq=2', 0],
])('a full commit%s flushes %d times', async (query, flushes) => {
  const { watch, ask } = watchedService();
  await ask('POST', `/db/_ensure_full_commit${query}`);
  expect(watch.flushes).toBe(flushes);
});

test('a running compaction is listed once', async () => {
  const { watch, ask } = watchedService();
  expect((await ask('POST', '/db/_compact')).status).toBe(202);
  watch.compactRunning = true;
  expect((await ask('POST', '/db/_compact')).status).toBe(202);
  expect(watch.compactions).toBe(1);
});

test.each([
  ['GET', '/db/doc', ''],
  ['GET', '/db/doc?rev=9-z', ''],
  ['GET', '/db/doc?rev=zzz', ''],
  ['GET', '/db/doc?open_revs=all', ''],
  ['GET', '/db/doc?open_revs=["9-z"]', ''],
  ['HEAD', '/db/doc?open_revs=all', ''],
  ['POST', '/db/_bulk_get', '{"docs":[{"id":"a"}]}'],
  ['POST', '/db/_all_docs/queries', '{"queries":[{"limit":1}]}'],
  ['POST', '/db/_revs_diff', '{"a":["1-a"]}'],
  ['GET', '/db/_local_docs', ''],
  ['DELETE', '/db/doc?rev=1-a', ''],
])('%s %s releases what it took', async (method, url, body) => {
  const { watch, ask } = watchedService();
  await textOf((await ask(method, url, { body })).body);
  expect([watch.snapshots, watch.leases]).toEqual([0, 0]);
});

describe('writes', () => {
  test.each([
    [{}, 'relaxed'],
    [{ 'x-svc-full-commit': 'false' }, 'relaxed'],
    [{ 'x-svc-full-commit': 'true' }, 'strict'],
    [{ 'x-couch-full-commit': 'true' }, 'strict'],
  ])('with %o are %s', async (headers, durability) => {
    const { watch, ask } = watchedService();
    await ask('PUT', '/db/doc', { headers: { ...JSON_HEADERS, ...headers }, body: '{}' });
    await ask('POST', '/db/_bulk_docs', { headers: { ...JSON_HEADERS, ...headers }, body: '{"docs":[{}]}' });
    expect(watch.writes.map((options) => options.durability)).toEqual([durability, durability]);
  });

  test('have the right kind of edit', async () => {
    const { watch, ask } = watchedService();
    await ask('PUT', '/db/doc', { body: '{}' });
    await ask('PUT', '/db/doc?new_edits=false', { body: '{"_rev":"1-a"}' });
    await ask('POST', '/db/_bulk_docs', { body: '{"docs":[{}],"all_or_nothing":true}' });
    expect(watch.writes.map(({ newEdits, allOrNothing = false }) => [newEdits, allOrNothing])).toEqual([
      [true, false],
      [false, false],
      [true, true],
    ]);
  });

  test.each([
    ['', 201, '[{"ok":true,"id":"a","rev":"1-a"},{"id":"refused","rev":"1-r","error":"forbidden","reason":"no"}]\n'],
    [',"new_edits":false', 201, '[{"id":"refused","rev":"1-r","error":"forbidden","reason":"no"}]\n'],
    [',"all_or_nothing":true', 417, '[{"id":"refused","rev":"1-r","error":"forbidden","reason":"no"}]\n'],
  ])('that are refused in a bulk write are rows%s', async (members, status, body) => {
    const { ask } = watchedService();
    const docs = '[{"_id":"a","_rev":"1-a"},{"_id":"refused","_rev":"1-r"}]';
    expect(await ask('POST', '/db/_bulk_docs', { body: `{"docs":${docs}${members}}` })).toMatchObject({ status, body });
  });

  test('with a body that breaks off never reach the database', async () => {
    const { watch, ask } = watchedService();
    for (const [method, url] of [
      ['PUT', '/db/doc'],
      ['POST', '/db'],
      ['POST', '/db/_bulk_docs'],
    ] as const) {
      const { stream } = streamOf([new TextEncoder().encode('{"docs":[{"_id":"a"}]}')], { broken: true });
      expect(await ask(method, url, { body: stream })).toMatchObject({
        status: 400,
        body: '{"error":"bad_request","reason":"The request body broke off before its end; nothing was changed."}\n',
      });
    }
    expect(watch.writes).toEqual([]);
  });
});
