import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest';
import { MemoryService } from '../../../../src/browser/msw/memory-service.ts';
import { loadWasmOfNode } from '../../../../src/browser/msw/node-wasm.ts';
import type { Fetch } from '../../../../src/packages/database-client/contract.ts';
import {
  type Conflict,
  type Database,
  database,
  SetteeError,
  type Stored,
  type Written,
} from '../../../../src/packages/database-client/index.ts';
import { NodeHost } from '../../../support/conformance/node-host.ts';

interface Note {
  readonly text: string;
  readonly stars?: number;
  readonly tags?: readonly string[];
}

const years = {
  views: {
    stars: { map: 'function (doc) { if (doc.stars) emit(doc.stars, doc.text); }', reduce: '_count' },
    linked: { map: 'function (doc) { if (doc.stars) emit(doc.text, { _id: "b" }); }' },
  },
};

/** The service that is asked: a server over sockets, and the core that is behind `settee/msw`. */
interface Service {
  readonly fetch: Fetch;
  readonly address: string;
  close(): Promise<void>;
}

async function startNode(): Promise<Service> {
  const host = await NodeHost.start();
  return { fetch, address: host.baseUrl, close: () => host.close() };
}

async function startMemory(): Promise<Service> {
  const service = new MemoryService({ basePath: '/db' }, loadWasmOfNode());
  const address = 'http://app.example/db';
  return {
    fetch: (url, init) => service.fetch(new Request(new URL(url, address), init)),
    address,
    close: () => service.reset(),
  };
}

describe.each([
  ['the Node host', startNode],
  ['a core in memory', startMemory],
])('a database on %s', (_name, start) => {
  let service: Service;
  let notes: Database<Note>;
  let count = 0;

  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    count++;
    notes = database<Note>(service.fetch, `${service.address}/notes${count}/`);
    expect(await notes.create()).toEqual({ ok: true });
  });

  /** Throws where the write was refused. */
  const written = (result: Written | Conflict): Written => {
    if (!result.ok) throw new Error(result.reason);
    return result;
  };

  test('says where it is', () => {
    expect(notes.address).toBe(`${service.address}/notes${count}/`);
    expect(notes.fetch).toBe(service.fetch);
  });

  test('is created once', async () => {
    expect(await notes.create()).toEqual({ ok: true, existed: true });
  });

  test('reads what was written, and undefined if there is nothing', async () => {
    const { id, rev } = written(await notes.put({ _id: 'a/b c', text: 'Hello' }));
    expect(id).toBe('a/b c');
    const note = await notes.get('a/b c');
    expectTypeOf(note).toEqualTypeOf<Stored<Note> | undefined>();
    expect(note).toEqual({ _id: 'a/b c', _rev: rev, text: 'Hello' });
    expect(await notes.get('nobody')).toBeUndefined();
    expect(await notes.get('a/b c', { revs: true, rev })).toMatchObject({ _revisions: { start: 1 } });
    await notes.remove({ _id: id, _rev: rev });
    expect(await notes.get('a/b c')).toBeUndefined();
  });

  test('writes a document together with its Blobs', async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_none, index) => index);
    const first = written(
      await notes.put({
        _id: 'a/1',
        text: 'with files',
        _attachments: {
          '2.bin': { data: new Blob([bytes]) },
          'view.jpg': { data: new Blob(['pixels'], { type: 'image/jpeg' }) },
          'note.txt': { content_type: 'text/plain', data: btoa('plain') },
          'list.csv': { content_type: 'text/csv', data: new Blob(['1,2'], { type: 'text/plain' }) },
          empty: { data: new Blob([]) },
        },
      }),
    );
    expect(first.rev).toMatch(/^1-/);
    const contentOf = async (name: string) => {
      const response = await service.fetch(`${notes.address}${encodeURIComponent('a/1')}/${name}`, {
        method: 'GET',
        headers: {},
      });
      return [response.headers.get('content-type'), new Uint8Array(await response.arrayBuffer())];
    };
    const encode = (text: string) => new TextEncoder().encode(text);
    expect(await contentOf('2.bin')).toEqual(['application/octet-stream', bytes]);
    expect(await contentOf('view.jpg')).toEqual(['image/jpeg', encode('pixels')]);
    expect(await contentOf('note.txt')).toEqual(['text/plain', encode('plain')]);
    expect(await contentOf('list.csv')).toEqual(['text/csv', encode('1,2')]);
    expect(await contentOf('empty')).toEqual(['application/octet-stream', encode('')]);

    // What was there stays, and what comes is added.
    const second = await notes.update('a/1', (note) => ({
      text: note?.text ?? '',
      _attachments: { ...note?._attachments, 'view.jpg': { data: new Blob(['more'], { type: 'image/jpeg' }) } },
    }));
    expect(second).toMatchObject({ ok: true, rev: expect.stringMatching(/^2-/) });
    expect(await contentOf('view.jpg')).toEqual(['image/jpeg', encode('more')]);
    expect(await contentOf('2.bin')).toEqual(['application/octet-stream', bytes]);
    expect(await notes.put({ _id: 'a/1', text: 'late', _attachments: { x: { data: new Blob(['x']) } } })).toMatchObject(
      { ok: false, error: 'conflict' },
    );
  });

  test('creates an id for a document without one', async () => {
    const { id } = written(await notes.post({ text: 'Hello' }));
    expect(await notes.get(id)).toMatchObject({ text: 'Hello' });
  });

  test('returns a conflict as a value, for each kind of write', async () => {
    const first = written(await notes.put({ _id: 'a', text: 'one' }));
    const second = written(await notes.put({ _id: 'a', _rev: first.rev, text: 'two' }));
    const conflict = { ok: false, id: 'a', error: 'conflict', reason: 'Document update conflict.' };
    expect(await notes.put({ _id: 'a', _rev: first.rev, text: 'three' })).toEqual(conflict);
    expect(await notes.put({ _id: 'a', text: 'three' })).toEqual(conflict);
    expect(await notes.post({ _id: 'a', text: 'three' })).toEqual(conflict);
    expect(await notes.remove({ _id: 'a', _rev: first.rev })).toEqual(conflict);
    expect(await notes.get('a')).toEqual({ _id: 'a', _rev: second.rev, text: 'two' });
  });

  test('throws every other refusal, with its status, code and reason', async () => {
    const absent = database<Note>(service.fetch, `${service.address}/absent`);
    const error = await absent.get('a', { conflicts: true }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SetteeError);
    expect(error).toMatchObject({ name: 'SetteeError', status: 404, error: 'not_found', reason: 'no_db_file' });
    expect(String(error)).toBe(`SetteeError: 404 not_found: no_db_file (GET ${service.address}/absent/a)`);
    await expect(notes.remove({ _id: 'nobody', _rev: '1-a' })).rejects.toMatchObject({
      status: 404,
      reason: 'missing',
    });
    await expect(notes.put({ _id: '_x', text: '' })).rejects.toMatchObject({ status: 400, error: 'bad_request' });
    await expect(notes.view('by/stars')).rejects.toMatchObject({ status: 404, reason: 'missing' });
  });

  test('updates a document despite other writers, up to a limit', async () => {
    const disturb = async (times: number, retries?: number) => {
      let left = times;
      let calls = 0;
      const result = await notes.update(
        'counter',
        async (note) => {
          calls++;
          if (left-- > 0) await notes.update('counter', (other) => ({ text: '', stars: (other?.stars ?? 0) + 1 }));
          return { ...note, text: 'mine', stars: (note?.stars ?? 0) + 100 };
        },
        retries === undefined ? {} : { retries },
      );
      return { result, calls };
    };
    expect(await disturb(0)).toMatchObject({ result: { ok: true }, calls: 1 });
    expect(await disturb(3)).toMatchObject({ result: { ok: true }, calls: 4 });
    expect(await disturb(2, 1)).toMatchObject({ result: { ok: false, error: 'conflict' }, calls: 2 });
    expect(await disturb(1, 0)).toMatchObject({ result: { ok: false }, calls: 1 });
    expect(await notes.get('counter')).toMatchObject({ stars: 100 + 3 + 100 + 2 + 1 });
    expect(await notes.update('counter', () => ({ _deleted: true }))).toMatchObject({ ok: true });
    expect(await notes.get('counter')).toBeUndefined();
  });

  test('writes many documents, with one outcome each', async () => {
    const { rev } = written(await notes.put({ _id: 'a', text: 'one' }));
    const rows = await notes.bulk([
      { _id: 'a', text: 'late' },
      { _id: 'b', text: 'two' },
    ]);
    expect(rows).toEqual([
      { id: 'a', rev: '', error: 'conflict', reason: 'Document update conflict.' },
      { ok: true, id: 'b', rev: expect.stringMatching(/^1-/) },
    ]);
    for (const row of rows) if (row.ok) expectTypeOf(row).toEqualTypeOf<Written>();
    expect(await notes.bulk([{ _id: 'a', _rev: rev, _deleted: true }])).toMatchObject([{ ok: true, id: 'a' }]);
    expect(await notes.bulk([{ _id: 'c', _rev: '3-x', text: 'far' }], { new_edits: false })).toEqual([]);
    expect(await notes.get('c')).toMatchObject({ _rev: '3-x' });
  });

  test('lists documents, with their keys as JSON', async () => {
    await notes.bulk(['a', 'b', 'c', 'd'].map((_id) => ({ _id, text: _id.toUpperCase() })));
    await notes.update('d', () => ({ _deleted: true }));
    const plain = await notes.all({ startkey: 'b', limit: 1 });
    expect(plain).toMatchObject({ total_rows: 3, offset: 1, rows: [{ id: 'b', key: 'b' }] });
    const { rows } = await notes.all({ include_docs: true, descending: true });
    expect(rows.map(({ doc }) => doc.text)).toEqual(['C', 'B', 'A']);
    const some = await notes.all({ keys: ['c', 'd', 'x'], include_docs: true });
    expect(some.rows).toMatchObject([
      { id: 'c', doc: { text: 'C' } },
      { id: 'd', value: { deleted: true }, doc: null },
      { key: 'x', error: 'not_found' },
    ]);
    // @ts-expect-error Without `include_docs` there are no documents.
    expect(plain.rows[0]?.doc).toBeUndefined();
  });

  test('queries by selectors', async () => {
    await notes.bulk([1, 2, 3].map((stars) => ({ _id: `${stars}`, text: 'x', stars, tags: ['t'] })));
    const { docs } = await notes.find({
      selector: { stars: { $gte: 2 }, tags: { $all: ['t'] } },
      fields: ['_id', 'stars'],
    });
    expectTypeOf(docs).toEqualTypeOf<readonly Pick<Stored<Note>, '_id' | 'stars'>[]>();
    expect(docs).toEqual([
      { _id: '2', stars: 2 },
      { _id: '3', stars: 3 },
    ]);
    // @ts-expect-error `stars` is a number.
    await notes.find({ selector: { stars: 'many' } });
    await notes.find({ selector: { $or: [{ text: 'x' }, { 'author.name': 1 }] }, sort: [{ _id: 'desc' }] });
    await expect(notes.find({ selector: {}, sort: ['text'] })).rejects.toMatchObject({ error: 'no_usable_index' });
  });

  test('queries views for rows, and for reductions on request', async () => {
    await database(service.fetch, `${service.address}/notes${count}`).put({ _id: '_design/by', ...years });
    await notes.bulk(['b', 'c'].map((text, index) => ({ _id: text, text, stars: index + 1 })));
    const { rows, total_rows } = await notes.view<number, string>('by/stars', { startkey: 2 });
    expectTypeOf(rows[0]?.value).toEqualTypeOf<string | undefined>();
    expect({ rows, total_rows }).toEqual({ total_rows: 2, rows: [{ id: 'c', key: 2, value: 'c' }] });
    const grouped = await notes.view<number, number>('by/stars', { group: true, keys: [2, 1] });
    expect(grouped.rows).toEqual([
      { key: 2, value: 1 },
      { key: 1, value: 1 },
    ]);
    expect((await notes.view<null, number>('by/stars', { reduce: true })).rows).toEqual([{ key: null, value: 2 }]);
    expect((await notes.view('by/stars', { group_level: 0 })).rows).toEqual([{ key: null, value: 2 }]);
    const linked = await notes.view('by/linked', { include_docs: true });
    expect(linked.rows.map(({ doc }) => doc?.text)).toEqual(['b', 'b']);
  });

  test('reads all changes in batches, also of selected documents', async () => {
    await notes.bulk(Array.from({ length: 7 }, (_, index) => ({ _id: `${index}`, text: 't' })));
    const collect = async (options: Parameters<typeof notes.changes>[0]) => {
      const ids: string[] = [];
      for await (const { id, doc } of notes.changes(options)) ids.push(doc ? `${id}${doc.text}` : id);
      return ids;
    };
    expect(await collect({ batch: 3 })).toEqual(['0', '1', '2', '3', '4', '5', '6']);
    expect(await collect({ since: 4 })).toEqual(['4', '5', '6']);
    expect(await collect({ since: 'now' })).toEqual([]);
    expect(await collect({ doc_ids: ['2', '5'], include_docs: true, batch: 1 })).toEqual(['2t', '5t']);
    expect(await collect({ selector: { _id: { $gt: '5' } }, batch: 2 })).toEqual(['6']);
  });

  test('follows changes live, until the loop is left or the signal aborts', async () => {
    await notes.put({ _id: 'old', text: '' });
    const controller = new AbortController();
    const seen: string[] = [];
    const follow = async (signal: AbortSignal) => {
      for await (const { id } of notes.changes({ live: true, signal })) {
        seen.push(id);
        if (id === 'old') await notes.put({ _id: 'new', text: '' });
        else if (id === 'new') setTimeout(() => controller.abort(new Error('enough')), 20);
      }
    };
    await expect(follow(controller.signal)).rejects.toThrow('enough');
    expect(seen).toEqual(['old', 'new']);
  });
});

describe('a feed whose requests fail', () => {
  const row = (seq: number) => ({ seq, id: `${seq}`, changes: [{ rev: '1-a' }] });
  const changes = (...seqs: number[]) =>
    Response.json({ results: seqs.map(row), last_seq: seqs.at(-1) ?? 0, pending: 0 });
  const refusal = (status: number) => Response.json({ error: 'refused', reason: 'For the test.' }, { status });
  const cutOff = () =>
    new Response(new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) }));
  const noNetwork = () => {
    throw new TypeError('Failed to fetch');
  };

  /** The answers, one for each request; what is asked behind them ends the feed. */
  async function follow(answers: (() => Response)[], options: { live?: boolean } = { live: true }) {
    const asked: unknown[] = [];
    const seen: number[] = [];
    const feed = database(async (address) => {
      asked.push(new URLSearchParams(address.replace(/.*\?/, '')).get('since'));
      return (answers.shift() ?? (() => refusal(404)))();
    }, '/db/notes').changes(options);
    const end = await (async () => {
      for await (const { seq } of feed) seen.push(seq);
    })().catch((error: unknown) => error);
    return { asked, seen, end };
  }

  /** Moves the time on while something waits for it. */
  let advancing: NodeJS.Timeout;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    advancing = setInterval(() => vi.advanceTimersToNextTimer(), 1);
    return () => {
      clearInterval(advancing);
      // First: a spy that is taken away later puts the timer of the test back, in whichever file runs then.
      vi.restoreAllMocks();
      vi.useRealTimers();
    };
  });

  test('continues after its last change while it is live, until an answer is final', async () => {
    const answers = [
      () => changes(1, 2),
      noNetwork,
      noNetwork,
      cutOff,
      () => changes(3),
      () => refusal(503),
      () => new Response('<h1>Bad gateway</h1>', { status: 502 }),
      () => changes(4),
    ];
    const { asked, seen, end } = await follow(answers);
    expect(asked).toEqual(['0', '2', '2', '2', '2', '3', '3', '3', '4']);
    expect(seen).toEqual([1, 2, 3, 4]);
    expect(end).toMatchObject({ status: 404 });
  });

  test('ends if it is not live, or was never answered', async () => {
    expect(await follow([() => refusal(503)], {})).toMatchObject({ asked: ['0'], end: { status: 503 } });
    expect(await follow([noNetwork])).toMatchObject({ asked: ['0'], end: new TypeError('Failed to fetch') });
    const { asked } = await follow([() => refusal(503), () => changes(1), () => refusal(500)]);
    expect(asked).toEqual(['0', '0', '1']);
  });

  test('ends with an error that says that no request will be answered', async () => {
    const closed = new DOMException('This Settee was closed; call start() again', 'InvalidStateError');
    const close = () => {
      throw closed;
    };
    expect(await follow([() => changes(1), close])).toEqual({ asked: ['0', '1'], seen: [1], end: closed });
  });

  test('is requested less and less often', async () => {
    const waits = vi.spyOn(globalThis, 'setTimeout');
    await follow([() => changes(1), ...Array.from({ length: 8 }, () => noNetwork)]);
    expect(waits.mock.calls.map(([, ms]) => ms)).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
  });

  test('ends at once when its signal aborts, whatever it waits for', async () => {
    // It would wait for ever.
    clearInterval(advancing);
    const controller = new AbortController();
    const answers = [() => changes(1), noNetwork];
    const notes = database(async () => {
      if (answers.length === 1) setImmediate(() => controller.abort(new Error('enough')));
      return (answers.shift() ?? noNetwork)();
    }, '/db/notes');
    const reading = (async () => {
      for await (const { seq } of notes.changes({ live: true, signal: controller.signal })) expect(seq).toBe(1);
    })();
    await expect(reading).rejects.toThrow('enough');
  });
});

describe('an unexpected response', () => {
  test('that is not JSON is reported with what to do', async () => {
    const notes = database(async () => new Response('<!doctype html>', { status: 200 }), '/db/notes');
    await expect(notes.get('a')).rejects.toMatchObject({
      status: 200,
      error: 'no_json',
      reason:
        'GET /db/notes/a was not answered by a database. Use the fetch that start() returns, and an address below its base.',
    });
  });

  test('of a server without `if-missing` is understood', async () => {
    const asked: string[] = [];
    const notes = database(async (address, { method }) => {
      asked.push(`${method} ${address}`);
      return Response.json({ error: 'file_exists', reason: 'It exists.' }, { status: 412 });
    }, '/db/notes');
    expect(await notes.create()).toEqual({ ok: true, existed: true });
    expect(asked).toEqual(['PUT /db/notes?if-missing=true']);
  });

  test('that never arrives rejects as fetch does', async () => {
    const notes = database(async () => Promise.reject(new TypeError('Failed to fetch')), '/db/notes');
    await expect(notes.put({ _id: 'a' })).rejects.toThrow(new TypeError('Failed to fetch'));
  });
});

test('requests ask for JSON, and say that they send JSON if they do', async () => {
  const asked: unknown[] = [];
  const notes = database<Note>(async (address, { method, headers, body }) => {
    asked.push([method, address, headers, body]);
    return Response.json({ ok: true });
  }, '/db/notes');
  await notes.all({ startkey: 'a&b', limit: 2 });
  await notes.put({ _id: '_local/x/y', text: 'z' });
  const accept = 'application/json';
  expect(asked).toEqual([
    ['GET', '/db/notes/_all_docs?startkey=%22a%26b%22&limit=2', { accept }, undefined],
    [
      'PUT',
      '/db/notes/_local/x%2Fy',
      { accept, 'content-type': 'application/json' },
      '{"_id":"_local/x/y","text":"z"}',
    ],
  ]);
});
