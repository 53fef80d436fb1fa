import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import nano from 'nano';
import HttpAdapter from 'pouchdb-adapter-http';
import PouchDB from 'pouchdb-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { arrayAt, at } from '../../support/conformance/json.ts';
import { NodeHost } from '../../support/conformance/node-host.ts';
import { withDeadline } from '../../support/conformance/with-deadline.ts';

PouchDB.plugin(HttpAdapter);

let host: NodeHost;
let db: nano.DocumentScope<{ readonly n?: number }>;

beforeAll(async () => {
  host = await NodeHost.start();
});
afterAll(() => host.close());
beforeEach(async () => {
  await nano(host.baseUrl).db.create('feeds');
  db = nano(host.baseUrl).use('feeds');
});
afterEach(async () => {
  await nano(host.baseUrl).db.destroy('feeds');
});

/** What came, and a wait until so much came. */
class Seen<T> {
  readonly all: T[] = [];
  #wake: () => void = () => undefined;

  readonly add = (one: T): void => {
    this.all.push(one);
    this.#wake();
  };

  async reach(count: number): Promise<readonly T[]> {
    const reached = async () => {
      while (this.all.length < count) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    };
    await withDeadline(reached(), `${count} of ${JSON.stringify(this.all)}`);
    return this.all;
  }
}

async function write(...ids: readonly string[]): Promise<void> {
  for (const id of ids) await db.insert({ n: 1 }, id);
}

describe('PouchDB', () => {
  test('follows changes live, from the beginning or from now, until cancelled', async () => {
    const pouch = new PouchDB(`${host.baseUrl}/feeds`);
    await write('a');
    const [ids, later] = [new Seen<unknown>(), new Seen<unknown>()];
    const feed = pouch
      .changes({ live: true, since: 0, heartbeat: 1_000 })
      .on('change', (one) => ids.add(at(one, 'id')));
    const now = pouch.changes({ live: true, since: 'now', include_docs: true }).on('change', later.add);
    await ids.reach(1);
    await write('b', 'c');
    expect(await ids.reach(3)).toEqual(['a', 'b', 'c']);
    const { rev } = await db.get('b').then(({ _rev }) => ({ rev: _rev }));
    await db.destroy('b', rev);
    expect((await ids.reach(4))[3]).toBe('b');
    const [last] = (await later.reach(1)).slice(-1);
    expect(at(last, 'doc', '_id')).toBe(at(last, 'id'));
    const completed = [feed, now].map((one) => new Promise((resolve) => one.on('complete', resolve)));
    feed.cancel();
    now.cancel();
    await withDeadline(Promise.all(completed), 'the end of both feeds');
    await write('d');
    expect(ids.all).toHaveLength(4);
  });

  test('continues from a sequence number, within a limit, with documents', async () => {
    const pouch = new PouchDB(`${host.baseUrl}/feeds`);
    await write('a', 'b', 'c', 'd');
    const found = await pouch.changes({ since: 1, limit: 2, include_docs: true });
    expect(arrayAt(found, 'results').map((row) => [at(row, 'seq'), at(row, 'id'), at(row, 'doc', 'n')])).toEqual([
      [2, 'b', 1],
      [3, 'c', 1],
    ]);
    expect(at(found, 'last_seq')).toBe(3);
    const rest = await pouch.changes({ since: 3 });
    expect([arrayAt(rest, 'results').length, at(rest, 'last_seq')]).toEqual([1, 4]);
    const newest = await pouch.changes({ descending: true, limit: 1 });
    expect(arrayAt(newest, 'results').map((row) => at(row, 'id'))).toEqual(['d']);
  });

  test('filters by ids and by selectors, also live', async () => {
    const pouch = new PouchDB(`${host.baseUrl}/feeds`);
    await write('a', 'b', 'c');
    const idsOf = async (options: object) =>
      arrayAt(await pouch.changes({ since: 0, ...options }), 'results').map((row) => at(row, 'id'));
    expect(await idsOf({ doc_ids: ['c', 'a'] })).toEqual(['a', 'c']);
    expect(await idsOf({ selector: { _id: { $gte: 'b' } } })).toEqual(['b', 'c']);
    const ids = new Seen<unknown>();
    const feed = pouch
      .changes({ live: true, since: 'now', selector: { _id: { $gte: 'x' } } })
      .on('change', (one) => ids.add(at(one, 'id')));
    await write('d', 'x');
    // What is written before the feed has asked for its beginning is not among what comes.
    while (ids.all.length === 0) await write(`y${performance.now()}`);
    expect(ids.all.every((id) => String(id) >= 'x')).toBe(true);
    feed.cancel();
  });

  test('reads all changes in many batches with a limit, without a gap', async () => {
    const docs = Array.from({ length: 250 }, (_, n) => ({ _id: `doc${n}` }));
    await db.bulk({ docs });
    const pouch = new PouchDB(`${host.baseUrl}/feeds`);
    const found = await pouch.changes({ since: 0, batch_size: 30 });
    expect(arrayAt(found, 'results').map((row) => at(row, 'id'))).toEqual(docs.map(({ _id }) => _id));
  });
});

describe('nano', () => {
  test('lists changes', async () => {
    await write('a', 'b');
    const { results, last_seq } = await db.changes({ since: 1, include_docs: true });
    expect([results.map(({ id }) => id), last_seq]).toEqual([['b'], 2]);
  });

  test('follows changes in batches until its ChangesReader is stopped', async () => {
    await write('a', 'b', 'c');
    const [ids, seqs] = [new Seen<string>(), new Seen<unknown>()];
    const reader = db.changesReader.start({ since: '0', batchSize: 2, includeDocs: true, timeout: 1_000 });
    reader.on('change', ({ id }) => ids.add(id)).on('seq', seqs.add);
    expect(await ids.reach(3)).toEqual(['a', 'b', 'c']);
    await write('d');
    expect(await ids.reach(4)).toEqual(['a', 'b', 'c', 'd']);
    await seqs.reach(3);
    expect(seqs.all).toEqual([2, 3, 4]);
    // It aborts its longpoll, and tells of that as of an error.
    const stopped = new Promise((resolve) => reader.on('end', resolve).on('error', resolve));
    db.changesReader.stop();
    await withDeadline(stopped, 'the end of the reader');
    await write('e');
    expect(ids.all).toHaveLength(4);
  });

  test('reads existing changes with its ChangesReader, then ends', async () => {
    await write('a', 'b', 'c');
    const ids = new Seen<string>();
    const reader = db.changesReader.get({ since: '0', batchSize: 2, timeout: 50 });
    reader.on('change', ({ id }) => ids.add(id));
    const [last] = await withDeadline(once(reader, 'end'), 'the end of the reader');
    expect([ids.all, last]).toEqual([['a', 'b', 'c'], 3]);
  });

  test('spools existing changes with its ChangesReader', async () => {
    const docs = Array.from({ length: 500 }, (_, n) => ({ _id: `doc${n}` }));
    await db.bulk({ docs });
    let count = 0;
    const reader = db.changesReader.spool({ since: '0', batchSize: 100 });
    reader.on('batch', (batch) => {
      count += batch.length;
    });
    const [last] = await withDeadline(once(reader, 'end'), 'the end of the spool');
    expect([count, last]).toEqual([500, 500]);
  });
});

const noCurl = spawnSync('curl', ['--version']).error !== undefined;

describe.skipIf(noCurl)('curl -N', () => {
  const running: ChildProcessByStdio<null, Readable, null>[] = [];

  afterEach(() => {
    for (const curl of running.splice(0)) curl.kill();
  });

  /** The lines that come, as they come. */
  function follow(path: string): { readonly lines: Seen<string>; readonly ended: Promise<unknown> } {
    const curl = spawn('curl', ['-sN', `${host.baseUrl}${path}`], { stdio: ['ignore', 'pipe', 'ignore'] });
    running.push(curl);
    const lines = new Seen<string>();
    let text = '';
    curl.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const [...whole] = (text + chunk).split('\n');
      text = whole.pop() ?? '';
      for (const line of whole) if (line !== '') lines.add(line);
    });
    return { lines, ended: withDeadline(once(curl, 'close'), `the end of ${path}`) };
  }

  test('shows each change as it comes, and ends when the database is deleted', async () => {
    await write('a');
    const { lines, ended } = follow('/feeds/_changes?feed=continuous&heartbeat=100');
    expect(await lines.reach(1)).toEqual([
      expect.stringMatching(/^\{"seq":1,"id":"a","changes":\[\{"rev":"1-\w{32}"\}\]\}$/),
    ]);
    await write('b');
    expect((await lines.reach(2))[1]).toContain('"id":"b"');
    await nano(host.baseUrl).db.destroy('feeds');
    expect(await ended).toEqual([0, null]);
    expect(lines.all[2]).toBe('{"last_seq":2,"pending":0}');
    await nano(host.baseUrl).db.create('feeds');
  });

  test('shows events of databases from _db_updates', async () => {
    const { lines } = follow('/_db_updates?feed=eventsource');
    // Nobody says when it listens.
    while (lines.all.length === 0) await write(`doc${performance.now()}`);
    expect(lines.all[0]).toBe('data: {"db_name":"feeds","ok":true,"type":"updated"}');
  });
});
