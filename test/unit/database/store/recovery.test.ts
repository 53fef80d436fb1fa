import { describe, expect, test } from 'vitest';
import type { Commit, PageStore } from '../../../../src/storage/page-store.ts';
import { Bench, Gate, id, leavesOf, merge, put, seeAll, settle, TINY, TINY_PAGES, toWrite } from './harness.ts';

const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;

function tinyBench(): Bench {
  return new Bench({ settings: TINY, supports: TINY_PAGES });
}

function withLoss(store: PageStore, loss: string): PageStore {
  const open: PageStore['open'] = async (...request) => {
    const file = await store.open(...request);
    const opening = { ...file.opening, loss };
    return new Proxy(file, {
      get: (target, key) => {
        const value: unknown = key === 'opening' ? opening : Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
  return new Proxy(store, { get: (target, key) => (key === 'open' ? open : Reflect.get(target, key, target)) });
}

describe('opening after a crash', () => {
  test('finds what was acknowledged, skips numbers that may have been seen, and records the crash', async () => {
    const bench = new Bench();
    const db = await bench.open();
    const before = await db.info();
    const written = await put(db, 'a');
    bench.clock.time += 1_000;
    const crashed = bench.crashed();
    crashed.clock.time += 1_000;
    const again = await crashed.open();
    expect(await leavesOf(again, 'a')).toEqual([`${written}={"n":1}`]);
    const info = await again.info();
    expect(info.uuid).toBe(before.uuid);
    expect(info.instanceStartTime).toBe('1700000001000000');
    expect(info.updateSeq).toBe(10_000);
    await put(again, 'b');
    expect((await seeAll(again)).changes).toEqual(['1 a', `${info.updateSeq + 1} b`]);
    await again.close();
  });

  test('logs why writes may be missing, if the storage knows', async () => {
    const bench = new Bench();
    await put(await bench.open(), 'a');
    const crashed = bench.crashed();
    const wrapped = new Bench({ medium: crashed.medium, wrap: (store) => withLoss(store, 'its folder is gone') });
    await wrapped.open();
    expect(wrapped.logged).toContain('db: its folder is gone');
    expect((await crashed.open()).name).toBe('db');
    expect(crashed.logged).not.toContain('db: its folder is gone');
  });

  test('moves the start time forward, even if the clock was set back', async () => {
    const bench = new Bench();
    await put(await bench.open(), 'a');
    const crashed = bench.crashed();
    crashed.clock.time -= 1_000_000;
    expect((await (await crashed.open()).info()).instanceStartTime).toBe('1700000000000001');
  });

  test('raises the sequence ceiling with the first record that needs it, in a strict commit', async () => {
    const commits: Commit[] = [];
    const bench = new Bench({ hooks: { beforeCommit: (commit) => void commits.push(commit) } });
    const first = await bench.open();
    const parts = () => commits.map(({ durability, head, journal }) => [durability, !!head, !!journal]);
    // A file is begun with room for some.
    expect(parts()).toEqual([['strict', true, false]]);
    expect(JSON.parse(commits[0]?.head ?? '')).toMatchObject({ seqCeiling: 10_000, clean: false });
    commits.length = 0;
    await put(first, 'a');
    expect(parts()).toEqual([['relaxed', false, true]]);
    await first.close();
    const db = await bench.open();
    commits.length = 0;
    await put(db, 'b');
    await put(db, 'c');
    expect(parts()).toEqual([
      ['strict', true, true],
      ['relaxed', false, true],
    ]);
    expect(JSON.parse(commits[0]?.head ?? '')).toMatchObject({ seqCeiling: 10_002, clean: false });
    await db.close();
  });

  test('assigns the number above the ceiling in a strict commit', async () => {
    const commits: Commit[] = [];
    const db = await new Bench({ hooks: { beforeCommit: (commit) => void commits.push(commit) } }).open();
    const many = (count: number) => Array.from({ length: count }, (_unused, n) => toWrite(`${commits.length}-${n}`));
    await db.write(many(10_000), NEW_EDITS);
    await put(db, 'above');
    const records = commits.filter(({ journal }) => journal !== undefined);
    expect(records.map(({ durability }) => durability)).toEqual(['relaxed', 'strict']);
    expect(JSON.parse(records.at(-1)?.head ?? '')).toMatchObject({ seqCeiling: 20_001 });
    await db.close();
  });

  test('leaves room in the ceiling for more commits as large as a large one', async () => {
    const bench = new Bench();
    await (await bench.open()).close();
    const db = await bench.open();
    await db.write(
      Array.from({ length: 1_000 }, (_unused, index) => toWrite(`d${index}`)),
      NEW_EDITS,
    );
    expect(JSON.parse(bench.medium.files.get('file')?.head ?? '')).toMatchObject({ seqCeiling: 51_000 });
    await db.close();
  });

  test('treats a file that was closed properly, and written to since, as not closed', async () => {
    const bench = new Bench();
    const db = await bench.open();
    await put(db, 'a');
    await db.close();
    const again = await bench.open();
    const { instanceStartTime } = await again.info();
    await put(again, 'b');
    const crashed = bench.crashed();
    crashed.clock.time += 1_000;
    const info = await (await crashed.open()).info();
    expect(info.instanceStartTime).not.toBe(instanceStartTime);
    expect(info.updateSeq).toBeGreaterThan(10_000);
    await again.close();
  });

  test('stores a full journal after the first response was sent', async () => {
    const bench = new Bench();
    const db = await bench.open();
    for (let index = 0; index < 10; index++) await put(db, `d${index}`);
    let commits = 0;
    const crashed = bench.crashed({ beforeCommit: () => void commits++ });
    const again = await crashed.open({ journalRecords: 5 });
    commits = 0;
    expect(await leavesOf(again, 'd7')).toHaveLength(1);
    // An answer is given in the turn in which all is at hand for it.
    for (let step = 0; step < 1_000; step++) await undefined;
    expect(commits).toBe(0);
    await settle();
    expect(commits).toBeGreaterThan(0);
    expect(crashed.medium.files.get('file')?.journal.size).toBe(0);
    await again.close();
  });

  test('repeatedly keeps the last 32 losses in the history, and the fact that there were more', async () => {
    let bench = new Bench();
    await put(await bench.open(), 'a');
    const told: [number, boolean][] = [];
    for (let crashes = 1; crashes <= 34; crashes++) {
      bench = bench.crashed();
      const db = await bench.open();
      await put(db, `after ${crashes}`);
      const { lineage, isLineageComplete } = await db.origin();
      told.push([lineage.length, isLineageComplete]);
    }
    expect([told[0], told[30], told[31], told[33]]).toEqual([
      [1, true],
      [31, true],
      [32, false],
      [32, false],
    ]);
  });

  test("repeatedly doesn't make the file grow", async () => {
    let bench = new Bench();
    await put(await bench.open(), 'a');
    const sizes: number[] = [];
    for (let times = 0; times < 60; times++) {
      bench = bench.crashed();
      const db = await bench.open();
      await put(db, `after ${times % 3}`).catch(() => undefined);
      await db.verify();
      sizes.push((await db.info()).diskSize);
    }
    expect(sizes.at(-1)).toBeLessThan((sizes[40] ?? 0) * 1.1);
  });

  test('replays exactly what the journal holds: documents, order, counts, bodies', async () => {
    const bench = new Bench({ supports: TINY_PAGES, settings: { packFrom: 800 } });
    const db = await bench.open();
    const first = await put(db, 'a', { body: '{}' });
    await put(db, 'b', { body: `{"t":"${'x'.repeat(3_000)}"}` });
    await merge(db, 'c', { rev: '3-x', ids: ['x', 'y'], body: '{"é":"😀"}' });
    await merge(db, 'c', { rev: '3-z', ids: ['z', 'y'], deleted: true, body: '{"kept":true}' });
    await put(db, 'a', { rev: first, deleted: true, body: '{}' });
    await db.write(
      Array.from({ length: 20 }, (_unused, index) =>
        toWrite(`many ${index}`, { body: `{"text":"${'y'.repeat(60)}"}` }),
      ),
      NEW_EDITS,
    );
    await db.writeLocal(id('_local/x'), undefined, '{"n":1}', { durability: 'relaxed' });
    const { updateSeq: _ignored, ...expected } = await seeAll(db);
    const again = await bench.crashed().open();
    expect(await seeAll(again)).toMatchObject(expected);
    expect((await again.verify()).damage).toEqual([]);
    await again.compact();
    expect(await seeAll(again)).toMatchObject(expected);
    expect((await again.verify()).damage).toEqual([]);
    await again.close();
  });

  test('with a journal far over its limits stores and drops nothing before it answers, and everything afterwards', async () => {
    const bench = tinyBench();
    const first = await bench.open();
    const revs = new Map<string, string>();
    for (let index = 0; index < 60; index++) revs.set(`d${index}`, await put(first, `d${index}`));
    await first.close();
    const unbounded = { journalRecords: 1e9, journalBytes: 1e9, dirtyBytes: 1e9 };
    const second = await bench.open(unbounded);
    for (const [name, current] of revs) await put(second, name, { rev: current, body: '{"n":2}' });
    const { documents, rows, docCount } = await seeAll(second);

    const pages: number[] = [];
    const hooks = {
      beforeCommit: ({ writePages = [], dropPages = [] }: Commit) => {
        for (const page of [...writePages.map(({ number }) => number), ...dropPages]) pages.push(page);
      },
    };
    const crashed = bench.crashed(hooks);
    const db = await crashed.open();
    expect(await leavesOf(db, 'd7')).toEqual(documents['d7']?.leaves);
    expect(db.snapshot().docCount).toBe(docCount);
    expect(pages).toEqual([]);
    // What the journal left for later is made for a walk, and once more by nobody.
    expect((await seeAll(db)).rows).toEqual(rows);
    await put(db, 'd60');
    expect((await seeAll(db)).docCount).toBe(docCount + 1);
    expect(pages.length).toBeGreaterThan(0);
    expect((await db.verify()).damage).toEqual([]);
    await db.close();
    const { documents: found } = await seeAll(await crashed.open());
    expect(Object.keys(found)).toHaveLength(61);
    for (const [name, { leaves }] of Object.entries(documents)) expect(found[name]?.leaves).toEqual(leaves);
  });

  test.each(['before', 'after'] as const)(
    '%s any commit loses nothing, leaves nothing half-done and no garbage',
    async (when) => {
      const media: { bench: Bench; acknowledged: number }[] = [];
      let acknowledged = 0;
      let watching = false;
      const note = () => {
        if (watching) media.push({ bench: bench.crashed(), acknowledged });
      };
      const hooks = when === 'before' ? { beforeCommit: note } : { afterCommit: note };
      const bench: Bench = new Bench({ settings: TINY, supports: TINY_PAGES, hooks });
      let db = await bench.open();
      watching = true;
      for (let index = 0; index < 40; index++) {
        const [leaf = ''] = await leavesOf(db, `d${index % 7}`);
        const current = leaf.slice(0, leaf.indexOf('='));
        const body = `{"n":${index},"t":"${'x'.repeat(10 * (index % 13))}"}`;
        await put(db, `d${index % 7}`, { body, ...(current === '' ? {} : { rev: current }) });
        acknowledged = index + 1;
        if (index % 11 === 10) await db.compact();
        if (index === 25) {
          await db.close();
          db = await bench.open();
          await db.compact();
        }
      }
      await db.close();
      expect(media.length).toBeGreaterThan(70);
      for (const medium of media) {
        const again = await medium.bench.open();
        const found = (await seeAll(again)).documents;
        const numbers = Object.values(found).map(({ leaves }) => Number(/"n":(\d+)/.exec(leaves[0] ?? '')?.[1]));
        const last = Math.max(-1, ...numbers);
        expect([medium.acknowledged - 1, medium.acknowledged]).toContain(last);
        for (const number of numbers) expect(number).toBeGreaterThan(last - 7);
        expect(numbers.length).toBe(Math.min(7, last + 1));
        expect((await again.verify()).damage).toEqual([]);
        await again.close();
      }
    },
  );

  test('drops body pages that were stored for a checkpoint that never ended', async () => {
    // A page that is begun while one checkpoint runs, and stored by the next, which does not end.
    let crash: Bench | undefined;
    let flips = 0;
    let hold: Gate | undefined;
    const bench: Bench = new Bench({
      supports: TINY_PAGES,
      settings: { ...TINY, journalRecords: 20, journalBytes: 1e6, sliceBytes: 300 },
      hooks: {
        beforeCommit: async (commit) => {
          if (commit.writePages !== undefined && flips === 0) await hold?.opened;
          if (commit.head === undefined || commit.truncateJournal === undefined) return;
          flips++;
          if (flips === 2) crash = bench.crashed();
        },
      },
    });
    const db = await bench.open();
    hold = new Gate();
    for (let index = 0; index < 20; index++) await put(db, `d${index}`, { body: `{"n":${index}}` });
    await settle();
    const during = Array.from({ length: 3 }, (_unused, index) =>
      put(db, `during ${index}`, { body: `{"n":${index}}` }),
    );
    hold.open();
    await Promise.all(during);
    for (let n = 1; crash === undefined; n++) {
      await put(db, `after ${n}`);
      if (n % 100 === 0) await settle();
    }
    const again = await crash.open();
    expect((await again.verify()).damage).toEqual([]);
  });

  test('drops what an interrupted compaction left before it wrote anything', async () => {
    const bench = tinyBench();
    const db = await bench.open();
    for (let index = 0; index < 30; index++) {
      const first = await put(db, `d${index}`, { body: `{"n":${index},"t":"${'x'.repeat(90)}"}` });
      if (index % 2 === 0) await put(db, `d${index}`, { rev: first, deleted: true, body: '{}' });
    }
    await db.close();
    const crashes: Bench[] = [];
    const second: Bench = new Bench({
      medium: bench.medium,
      settings: TINY,
      supports: TINY_PAGES,
      hooks: { afterCommit: () => void crashes.push(second.crashed()) },
    });
    await (await second.open()).compact();
    expect(crashes.length).toBeGreaterThan(3);
    for (const crash of crashes) {
      const again = await crash.open();
      expect((await again.verify()).damage).toEqual([]);
      expect((await seeAll(again)).docCount).toBe(15);
    }
  });
});

describe('opening after a proper close', () => {
  test('replays nothing, and changes nothing in the file', async () => {
    const bench = tinyBench();
    const db = await bench.open();
    for (let index = 0; index < 20; index++) await put(db, `d${index}`);
    const { documents, changes } = await seeAll(db);
    await db.close();
    expect([...(bench.medium.files.get('file')?.journal.values() ?? [])]).toEqual([]);
    const again = await bench.open();
    expect(await seeAll(again)).toMatchObject({ documents, changes, updateSeq: 20 });
    await put(again, 'next');
    expect(again.updateSeq).toBe(21);
    expect((await again.verify()).damage).toEqual([]);
    await again.close();
  });

  test("repeatedly doesn't make the file grow", async () => {
    const bench = tinyBench();
    const sizes: number[] = [];
    for (let times = 0; times < 20; times++) {
      const db = await bench.open();
      await merge(db, 'a', { rev: '1-a' });
      await db.writeLocal(id('_local/x'), times === 0 ? undefined : `0-${times}`, '{}', { durability: 'relaxed' });
      sizes.push((await db.info()).diskSize);
      await db.close();
    }
    expect(sizes.at(-1)).toBeLessThan((sizes[5] ?? 0) * 1.2);
  });
});

describe('a file that cannot be opened', () => {
  test.each([
    ['of a newer format', '{"format":3}', 'storage_newer_format'],
    ['of this format without a checksum', '{"format":2}', 'storage_corrupt'],
    ['whose head is no JSON', '{"format":', 'storage_corrupt'],
    ['whose head is no head', '[]', 'storage_corrupt'],
  ])('is reported: %s', async (_what, head, code) => {
    const bench = new Bench();
    await put(await bench.open(), 'a');
    const file = bench.medium.files.get('file');
    if (file === undefined) throw new Error('no file');
    file.head = head;
    await expect(bench.open()).rejects.toMatchObject({ code });
  });

  test('is reported if its journal is damaged', async () => {
    const bench = new Bench();
    await put(await bench.open(), 'a');
    const journal = bench.medium.files.get('file')?.journal;
    for (const record of journal?.values() ?? [])
      journal?.set(record.number, { number: record.number, text: '{"r":[[' });
    await expect(bench.open()).rejects.toMatchObject({ code: 'storage_corrupt' });
  });
});
