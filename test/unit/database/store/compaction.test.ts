import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import type { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import { Bench, FILE, id, leavesOf, merge, put, seeAll, settle, TINY, TINY_PAGES, toWrite } from './harness.ts';

const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;

function tinyBench(): Bench {
  return new Bench({ settings: TINY, supports: TINY_PAGES });
}

/** The bodies of the winner's path, the newest first. */
async function bodiesOfPath(db: StoredDatabase, name: string): Promise<(string | undefined)[]> {
  const snapshot = db.snapshot();
  const bodies: (string | undefined)[] = [];
  const record = await snapshot.document(id(name));
  for (let node = record?.leaves[0]; node !== undefined; node = node.parent) bodies.push(await snapshot.body(node));
  snapshot.release();
  return bodies;
}

describe('compaction', () => {
  test('removes the bodies of replaced revisions and keeps those of all leaves', async () => {
    const db = await tinyBench().open();
    await merge(db, 'a', { rev: '1-a', body: '{"n":"a"}' });
    await merge(db, 'a', { rev: '2-b', ids: ['b', 'a'], body: '{"n":"b"}' });
    await merge(db, 'a', { rev: '2-c', ids: ['c', 'a'], body: '{"n":"c"}' });
    await merge(db, 'a', { rev: '2-d', ids: ['d', 'a'], body: '{"n":"d"}', deleted: true });
    await db.compact();
    expect(await leavesOf(db, 'a')).toEqual(['2-c={"n":"c"}', '2-b={"n":"b"}', '2-d!={"n":"d"}']);
    expect(await bodiesOfPath(db, 'a')).toEqual(['{"n":"c"}', undefined]);
    await db.close();
  });

  test('removes bodies of replaced revisions that only the journal holds so far', async () => {
    const db = await new Bench().open();
    const first = await put(db, 'a', { body: '{"n":1}' });
    await put(db, 'a', { rev: first, body: '{"n":2}' });
    expect(await bodiesOfPath(db, 'a')).toEqual(['{"n":2}', '{"n":1}']);
    await db.compact();
    expect(await bodiesOfPath(db, 'a')).toEqual(['{"n":2}', undefined]);
    await db.close();
  });

  test('removes empty bodies of replaced revisions on all branches', async () => {
    const bench = new Bench();
    const db = await bench.open();
    await merge(db, 'a', { rev: '1-a', body: '{}' });
    await merge(db, 'a', { rev: '2-b', ids: ['b', 'a'], body: '{}' });
    await merge(db, 'a', { rev: '2-c', ids: ['c', 'a'], body: '{}', deleted: true });
    const first = await put(db, 'single', { body: '{}' });
    const second = await put(db, 'single', { rev: first, body: '{"n":2}' });
    await put(db, 'single', { rev: second, deleted: true, body: '{}' });
    await put(db, 'leaf', { body: '{}' });
    const before = await seeAll(db);
    expect(await bodiesOfPath(db, 'single')).toEqual(['{}', '{"n":2}', '{}']);
    await db.compact();
    expect(await seeAll(db)).toEqual(before);
    expect(await bodiesOfPath(db, 'a')).toEqual(['{}', undefined]);
    expect(await bodiesOfPath(db, 'single')).toEqual(['{}', undefined, undefined]);
    expect(await bodiesOfPath(db, 'leaf')).toEqual(['{}']);
    expect((await db.verify()).damage).toEqual([]);
    await db.close();
    const again = await bench.open();
    expect(await bodiesOfPath(again, 'single')).toEqual(['{}', undefined, undefined]);
    await again.close();
  });

  test('forgets ancestors beyond a lowered limit, however many documents there are', async () => {
    const bench = new Bench();
    const db = await bench.open();
    const names = Array.from({ length: 5_000 }, (_unused, index) => `d${index}`);
    const ids = ['f', 'e', 'd', 'c', 'b', 'a'];
    await db.write(
      names.map((name) => toWrite(name, { rev: '6-f', ids, body: '{"n":6}' })),
      { newEdits: false, durability: 'relaxed' },
    );
    await merge(db, 'd7', { rev: '5-x', ids: ['x', ...ids.slice(2)], deleted: true });
    const before = await seeAll(db);
    await db.setRevsLimit(3);
    await db.compact();
    expect(await seeAll(db)).toEqual(before);
    expect(await bodiesOfPath(db, 'd0')).toEqual(['{"n":6}', undefined, undefined]);
    expect(await bodiesOfPath(db, 'd4999')).toEqual(['{"n":6}', undefined, undefined]);
    // The other leaf keeps its three, 5-x, 4-d and 3-c, and the winner's path goes down to where it meets them.
    expect(await bodiesOfPath(db, 'd7')).toEqual(['{"n":6}', undefined, undefined, undefined]);
    expect((await db.verify()).damage).toEqual([]);
    await db.setRevsLimit(1);
    await db.compact();
    expect(await bodiesOfPath(db, 'd7')).toEqual(['{"n":6}']);
    await db.close();
  });

  test('trims documents while they are written, and the result survives a crash', async () => {
    const bench = tinyBench();
    const db = await bench.open();
    const names = Array.from({ length: 40 }, (_unused, index) => `d${index}`);
    const revs = new Map<string, string>();
    const writeAll = async () => {
      for (const name of names) {
        const rev = revs.get(name);
        revs.set(name, await put(db, name, { ...(rev === undefined ? {} : { rev }), body: '{}' }));
      }
    };
    for (let round = 0; round < 3; round++) await writeAll();
    await db.setRevsLimit(2);
    const compaction = db.compact();
    await writeAll();
    await compaction;
    await writeAll();
    // The owner is left alone, as if it had crashed.
    const again = await bench.open();
    for (const name of names) {
      expect(await leavesOf(again, name)).toEqual([`${revs.get(name)}={}`]);
      expect(await bodiesOfPath(again, name)).toHaveLength(2);
    }
    expect((await again.verify()).damage).toEqual([]);
    await again.close();
  });

  test('makes the file small again, keeps visible content, and still knows a revision without a body', async () => {
    const bench = tinyBench();
    const db = await bench.open();
    const body = (round: number) => JSON.stringify({ round, text: 'x'.repeat(200) });
    let revs = (
      await db.write(
        Array.from({ length: 30 }, (_unused, index) => toWrite(`d${index}`, { body: body(0) })),
        NEW_EDITS,
      )
    ).map((outcome) => outcome.rev ?? '');
    const first = revs[7] ?? '';
    for (let round = 1; round < 10; round++) {
      const writes = revs.map((current, index) => toWrite(`d${index}`, { rev: current, body: body(round) }));
      revs = (await db.write(writes, NEW_EDITS)).map((outcome) => outcome.rev ?? '');
    }
    const before = await seeAll(db);
    await db.compact();
    const { diskSize, dataSize } = await db.info();
    expect(diskSize).toBeLessThan(2 * dataSize);
    expect(diskSize).toBeGreaterThan(30 * 200);
    expect(await seeAll(db)).toEqual(before);
    await merge(db, 'd7', { rev: first, body: '{"late":true}' });
    expect(await seeAll(db)).toEqual(before);
    expect((await db.verify()).damage).toEqual([]);
    await db.close();
    const again = await bench.open();
    expect(await seeAll(again)).toMatchObject({ documents: before.documents, changes: before.changes });
    await again.close();
  });

  test('of an empty database ends, and a second call joins the first', async () => {
    const db = await tinyBench().open();
    const [one, other] = [db.compact(), db.compact()];
    expect(db.compactRunning).toBe(true);
    await Promise.all([one, other]);
    expect(db.compactRunning).toBe(false);
    await db.close();
  });

  test('ends while writes continue, and delays none of them', async () => {
    const bench = tinyBench();
    const db = await bench.open();
    for (let index = 0; index < 50; index++) {
      const first = await put(db, `d${index}`, { body: `{"t":"${'x'.repeat(200)}"}` });
      await put(db, `d${index}`, { rev: first, body: `{"t":"${'y'.repeat(200)}"}` });
    }
    let running = true;
    const writers = Array.from({ length: 3 }, async (_unused, writer) => {
      for (let count = 0; running && count < 5_000; count++) await put(db, `w${writer} ${count}`);
      return running ? 'stopped first' : 'went on';
    });
    await db.compact();
    const report = await db.verify();
    running = false;
    expect(await Promise.all(writers)).toEqual(['went on', 'went on', 'went on']);
    expect(report.damage).toEqual([]);
    expect((await db.verify()).damage).toEqual([]);
    await db.close();
  });

  test('during updates of the documents that it moves loses no update and mixes up no body', async () => {
    const bench = tinyBench();
    const db = await bench.open();
    const names = Array.from({ length: 40 }, (_unused, index) => `d${index}`);
    const revs = new Map<string, string>();
    for (const name of names) revs.set(name, await put(db, name, { body: JSON.stringify({ name, count: 0 }) }));
    for (let round = 1; round <= 6; round++) {
      const compaction = db.compact();
      for (const name of names) {
        const current = revs.get(name) ?? '';
        revs.set(name, await put(db, name, { rev: current, body: JSON.stringify({ name, count: round }) }));
      }
      await compaction;
    }
    for (const name of names) {
      expect(await leavesOf(db, name)).toEqual([`${revs.get(name)}=${JSON.stringify({ name, count: 6 })}`]);
    }
    expect((await db.verify()).damage).toEqual([]);
    await db.close();
  });

  test('on a full medium fails with the reason, changes nothing, and can be tried again', async () => {
    let full = false;
    const bench = new Bench({
      settings: TINY,
      supports: TINY_PAGES,
      hooks: {
        beforeCommit: () => {
          if (full) throw new DatabaseError('storage_full', 'The test medium is full');
        },
      },
    });
    const db = await bench.open();
    for (let index = 0; index < 20; index++) {
      const first = await put(db, `d${index}`, { body: `{"t":"${'x'.repeat(200)}"}` });
      await put(db, `d${index}`, { rev: first, body: '{"n":2}' });
    }
    const before = await seeAll(db);
    full = true;
    await expect(db.compact()).rejects.toMatchObject({ code: 'storage_full' });
    expect(db.compactRunning).toBe(false);
    expect(await seeAll(db)).toEqual(before);
    full = false;
    await db.compact();
    expect(await seeAll(db)).toEqual(before);
    expect((await db.verify()).damage).toEqual([]);
    expect(bench.failures).toEqual([]);
    await db.close();
  });

  test("returns unused space to the system if the file doesn't shrink by itself", async () => {
    for (const [shrinks, times] of [
      [true, 0],
      [false, 1],
    ] as const) {
      const compacted: string[] = [];
      const bench = new Bench({
        supports: { ...TINY_PAGES, shrinks },
        hooks: { onCompact: (file) => void compacted.push(file) },
      });
      const db = await bench.open();
      await put(db, 'a');
      await db.compact();
      expect(compacted).toEqual(Array.from({ length: times }, () => FILE));
      await db.close();
    }
  });

  test('returns space only after the emptied pages are dropped, as the smaller file would keep them otherwise', async () => {
    let pagesAtHandOver = 0;
    const pages = () => bench.medium.files.get(FILE)?.pages.size ?? 0;
    const bench: Bench = new Bench({
      settings: TINY,
      supports: { ...TINY_PAGES, shrinks: false },
      hooks: {
        beforeCommit: ({ dropPages = [] }) => (dropPages.length > 0 ? settle() : undefined),
        onCompact: () => {
          pagesAtHandOver = pages();
        },
      },
    });
    const db = await bench.open();
    for (let index = 0; index < 50; index++) await put(db, `d${index}`, { body: `{"t":"${'x'.repeat(200)}"}` });
    await db.compact();
    await settle();
    expect(pagesAtHandOver).toBe(pages());
    await db.close();
  });

  test('is among the running tasks from its start to its end, with its progress in changes', async () => {
    const bench = tinyBench();
    const db = await bench.open();
    for (let index = 0; index < 60; index++) {
      const first = await put(db, `d${index}`, { body: `{"t":"${'x'.repeat(50)}"}` });
      if (index % 2 === 0) await put(db, `d${index}`, { rev: first, body: `{"t":"${'y'.repeat(50)}"}` });
    }
    expect(bench.tasks.list()).toEqual([]);
    const seen: number[] = [];
    bench.hooks.beforeCommit = () => void seen.push(...bench.tasks.list().map((task) => task.changes_done));
    const compaction = db.compact();
    expect(bench.tasks.list()).toEqual([
      {
        type: 'database_compaction',
        pid: '<0.1.0>',
        database: 'db',
        task: 'db',
        status: 'Starting',
        progress: 0,
        changes_done: 0,
        total_changes: 0,
        started_on: 1_700_000_000,
        updated_on: 1_700_000_000,
      },
    ]);
    await compaction;
    expect(bench.tasks.list()).toEqual([]);
    expect(seen).toEqual([...seen].sort((left, right) => left - right));
    expect(seen[0]).toBe(0);
    expect(Math.max(...seen)).toBeGreaterThan(30);
    expect(Math.max(...seen)).toBeLessThan(60);
    await db.close();
  });

  test('is no longer a task after it failed', async () => {
    const bench = tinyBench();
    const db = await bench.open();
    const first = await put(db, 'a', { body: `{"t":"${'x'.repeat(200)}"}` });
    await put(db, 'a', { rev: first });
    bench.hooks.beforeCommit = () => Promise.reject(new DatabaseError('storage_full', 'The test medium is full'));
    await expect(db.compact()).rejects.toMatchObject({ code: 'storage_full' });
    expect(bench.tasks.list()).toEqual([]);
    delete bench.hooks.beforeCommit;
    await db.close();
  });
});

describe('space without compaction', () => {
  test('is freed by one checkpoint and dropped before the next one writes', async () => {
    const writing: (readonly number[])[] = [];
    const room = { dirtyBytes: 2 ** 20, journalBytes: 2 ** 20 };
    const bench = new Bench({
      // A commit takes ten documents in, and a checkpoint so long that the next one is due when it ends.
      settings: { ...TINY, ...room, journalRecords: 14, sliceBytes: 5_000, groupBytes: 70 },
      supports: TINY_PAGES,
      hooks: {
        beforeCommit: ({ writePages = [], dropPages = [] }) => {
          if (writePages.some(({ value }) => typeof value === 'string')) writing.push(dropPages);
        },
      },
    });
    const db = await bench.open();
    const revs = new Map<string, string>();
    const names = Array.from({ length: 100 }, (_unused, index) => `d${index}`);
    for (let round = 0; round < 30; round++) {
      await Promise.all(
        names.map(async (name) => {
          const current = revs.get(name);
          revs.set(name, await put(db, name, current === undefined ? {} : { rev: current }));
        }),
      );
    }
    expect(writing.length).toBeGreaterThan(20);
    expect(writing.flat()).toEqual([]);
    await db.close();
  });

  test('is kept small by more frequent checkpoints in a file much larger than its live content', async () => {
    const [plain, bloated] = [await countCheckpoints(undefined), await countCheckpoints(100 * 2 ** 20)];
    expect(plain).toBeGreaterThan(1);
    expect(bloated).toBeGreaterThan(3 * plain);
  });

  test('stays within a small multiple of the live content during random updates', async () => {
    const bench = new Bench({ settings: { ...TINY, packFrom: 100_000 }, supports: TINY_PAGES });
    const db = await bench.open();
    const revs = new Map<string, string>();
    let seed = 7;
    for (let count = 0; count < 3_000; count++) {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      const name = `d${seed % 100}`;
      const current = revs.get(name);
      const body = JSON.stringify({ count, text: 'x'.repeat(100) });
      revs.set(name, await put(db, name, { body, ...(current === undefined ? {} : { rev: current }) }));
      if (count === 100) await db.setRevsLimit(3);
    }
    await settle();
    const { diskSize, dataSize } = await db.info();
    expect(diskSize).toBeLessThan(4 * dataSize);
    expect((await db.verify()).damage).toEqual([]);
    await db.close();
  });
});

/** Checkpoints that a thousand writes bring about, in a file that takes so many bytes. */
async function countCheckpoints(fileBytes: number | undefined): Promise<number> {
  let checkpoints = 0;
  const unbounded = { journalRecords: 1e9, journalBytes: 1e9 };
  const bench = new Bench({
    settings: { ...TINY, ...unbounded, dirtyBytes: 12_000 },
    supports: TINY_PAGES,
    hooks: {
      onSize: (bytes) => fileBytes ?? bytes,
      beforeCommit: ({ truncateJournal }) => {
        if (truncateJournal !== undefined) checkpoints++;
      },
    },
  });
  const db = await bench.open();
  for (let count = 0; count < 1_000; count++) await put(db, `d${count}`);
  await settle();
  const counted = checkpoints;
  await db.close();
  return counted;
}
