import { describe, expect, onTestFinished, test } from 'vitest';
import type { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import { Bench, id, leavesOf, merge, put, seeAll, settle, TINY, TINY_PAGES, toWrite } from './harness.ts';

const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;
// Without a cache every read goes to the medium, so that a page that was dropped too early is missed.
const UNCACHED = { ...TINY, cacheBytes: 0 };

function tinyBench(hooks = {}): Bench {
  return new Bench({ settings: UNCACHED, supports: TINY_PAGES, hooks });
}

const NAMES = Array.from({ length: 50 }, (_unused, index) => `d${String(index).padStart(2, '0')}`);

async function fill(db: StoredDatabase): Promise<void> {
  for (const name of NAMES) await put(db, name, { body: JSON.stringify({ name, old: 'x'.repeat(40) }) });
}

/** A database with fifty documents, which is closed after the test. */
async function openFilled(hooks = {}): Promise<{ readonly bench: Bench; readonly db: StoredDatabase }> {
  const bench = tinyBench(hooks);
  const db = await bench.open();
  onTestFinished(() => db.close());
  await fill(db);
  return { bench, db };
}

/** The same, with a snapshot of it, which is released after the test. */
async function openWithSnapshot() {
  const { bench, db } = await openFilled();
  const snapshot = db.snapshot();
  onTestFinished(() => snapshot.release());
  return { bench, db, snapshot };
}

/** Replaces every document, twice, and compacts: all pages there were are garbage then. */
async function churn(db: StoredDatabase): Promise<void> {
  for (const round of [1, 2]) {
    for (const name of NAMES) {
      const [leaf = ''] = await leavesOf(db, name);
      await put(db, name, { rev: leaf.slice(0, leaf.indexOf('=')), body: JSON.stringify({ name, round }) });
    }
  }
  await db.compact();
}

describe('a snapshot', () => {
  test('shows its state through writes, checkpoints and compaction', async () => {
    const { db, snapshot } = await openWithSnapshot();
    const before = await seeAll(db);
    await churn(db);
    expect([snapshot.updateSeq, snapshot.docCount, snapshot.docDelCount]).toEqual([50, 50, 0]);
    const records = await snapshot.documents(NAMES.map(id));
    const bodies = await snapshot.bodies(records.flatMap((record) => record?.leaves ?? []));
    expect(bodies).toEqual(NAMES.map((name) => JSON.stringify({ name, old: 'x'.repeat(40) })));
    const changes: string[] = [];
    for await (const batch of snapshot.changes({ since: 0 }))
      for (const row of batch) changes.push(`${row.seq} ${row.id}`);
    expect(changes).toEqual(before.changes);
  });

  test('keeps the pages that it needs, which are dropped when it is released', async () => {
    const { bench, db } = await openFilled();
    await db.verify();
    const pages = () => new Set(bench.medium.files.get('file')?.pages.keys());
    const held = pages();
    const snapshot = db.snapshot();
    await churn(db);
    await settle();
    expect([...held].filter((page) => !pages().has(page))).toEqual([]);
    snapshot.release();
    await settle();
    const left = [...held].filter((page) => pages().has(page));
    expect(left).toEqual([]);
    expect((await db.verify()).damage).toEqual([]);
  });

  test('that is released twice is released once', async () => {
    const db = await tinyBench().open();
    const [one, other] = [db.snapshot(), db.snapshot()];
    one.release();
    one.release();
    await fill(db);
    await churn(db);
    expect(await other.document(id('d00'))).toBeUndefined();
    other.release();
    await db.close();
  });
});

describe('a snapshot that became too old', () => {
  const MINUTE = 61_000;

  async function outlive(bench: Bench, db: StoredDatabase): Promise<void> {
    bench.clock.time += MINUTE;
    await churn(db);
    await settle();
  }

  test('continues its list of rows after the last returned row', async () => {
    const { bench, db, snapshot } = await openWithSnapshot();
    const rows: string[] = [];
    for await (const batch of snapshot.rows({})) {
      if (rows.length === 0) await outlive(bench, db);
      rows.push(...batch.map((row) => row.id));
    }
    expect(rows).toEqual(NAMES);
  });

  test('continues descending, with skip, and in local documents', async () => {
    const { bench, db } = await openFilled();
    for (const name of NAMES) await db.writeLocal(id(`_local/${name}`), undefined, '{}', { durability: 'relaxed' });
    const snapshot = db.snapshot();
    onTestFinished(() => snapshot.release());
    const rows: string[] = [];
    for await (const batch of snapshot.rows({ descending: true, skip: 3 })) {
      if (rows.length === 0) await outlive(bench, db);
      rows.push(...batch.map((row) => row.id));
    }
    expect(rows).toEqual([...NAMES].reverse().slice(3));
    const locals: string[] = [];
    for await (const batch of snapshot.locals({})) {
      if (locals.length === 0) {
        for (const name of NAMES)
          await db.writeLocal(id(`_local/${name}`), '0-1', '{"n":2}', { durability: 'relaxed' });
        await outlive(bench, db);
      }
      locals.push(...batch.map((local) => local.id));
    }
    expect(locals).toEqual(NAMES.map((name) => `_local/${name}`));
  });

  async function listDown(bench: Bench, db: StoredDatabase, meanwhile: () => Promise<void>): Promise<string[]> {
    const snapshot = db.snapshot();
    onTestFinished(() => snapshot.release());
    const given: string[] = [];
    try {
      for await (const batch of snapshot.changes({ since: 0, descending: true })) {
        const isFirst = given.length === 0;
        for (const row of batch) given.push(`${row.seq} ${row.id}`);
        if (!isFirst) continue;
        await meanwhile();
        bench.clock.time += MINUTE;
        await db.compact();
        await settle();
      }
    } finally {
      snapshot.release();
    }
    return given;
  }

  test('continues changes in descending order if only listed and new documents have changed', async () => {
    const { bench, db } = await openFilled();
    const before = (await seeAll(db)).changes;
    const given = await listDown(bench, db, async () => {
      const [leaf = ''] = await leavesOf(db, 'd49');
      await put(db, 'd49', { rev: leaf.slice(0, leaf.indexOf('=')), body: '{"again":true}' });
      for (let index = 0; index < 20; index++) await put(db, `new ${index}`);
    });
    expect(given).toEqual(before.toReversed());
  });

  test('fails changes in descending order if an unlisted document has moved up', async () => {
    const { bench, db } = await openFilled();
    const listed = listDown(bench, db, async () => {
      const [leaf = ''] = await leavesOf(db, 'd00');
      await put(db, 'd00', { rev: leaf.slice(0, leaf.indexOf('=')), body: '{"again":true}' });
    });
    await expect(listed).rejects.toMatchObject({
      code: 'cancelled',
      reason: 'Changes moved while they were read from the newest down. Send the request again.',
    });
  });

  test('misses no change: unlisted ones are returned at their new place', async () => {
    const { bench, db, snapshot } = await openWithSnapshot();
    const given: string[] = [];
    let last = 0;
    for await (const batch of snapshot.changes({ since: 0 })) {
      if (last === 0) await outlive(bench, db);
      for (const row of batch) {
        expect(row.seq).toBeGreaterThan(last);
        last = row.seq;
        given.push(row.id);
      }
    }
    expect(new Set(given)).toEqual(new Set(NAMES));
    expect(given.slice(-50)).toEqual(NAMES);
  });

  test('continues a list while others use the same snapshot', async () => {
    const { bench, db, snapshot } = await openWithSnapshot();
    const rows: string[] = [];
    for await (const batch of snapshot.rows({})) {
      if (rows.length === 0) {
        await outlive(bench, db);
        // Renews the snapshot under the walk's feet.
        expect(await snapshot.document(id('d07'))).toMatchObject({ seq: 150 - 50 + 8 });
      }
      rows.push(...batch.map((row) => row.id));
    }
    expect(rows).toEqual(NAMES);
  });

  test('fails with `cancelled`, not with damage, if a body is gone', async () => {
    const { bench, db, snapshot } = await openWithSnapshot();
    const [record] = await snapshot.documents([id('d00')]);
    const [leaf] = record?.leaves ?? [];
    if (leaf === undefined) throw new Error('no leaf');
    await outlive(bench, db);
    await expect(snapshot.body(leaf)).rejects.toMatchObject({ code: 'cancelled' });
    await expect(snapshot.bodies([leaf])).rejects.toMatchObject({ code: 'cancelled' });
    // A fresh look finds the document as it is now.
    expect((await leavesOf(db, 'd00'))[0]).toContain('"round":2');
  });

  test('keeps no garbage on the medium', async () => {
    const { bench, db, snapshot } = await openWithSnapshot();
    await outlive(bench, db);
    const pages = bench.medium.files.get('file')?.pages.size ?? 0;
    snapshot.release();
    await settle();
    expect(bench.medium.files.get('file')?.pages.size).toBe(pages);
  });
});

describe('reading while the medium is slow', () => {
  test('finds its pages for a read in progress, whatever checkpoints end meanwhile', async () => {
    let slow = false;
    const hooks = {
      onRead: async (_page: number, value: string | Uint8Array | undefined) => {
        if (slow) await settle();
        return value;
      },
    };
    const { db } = await openFilled(hooks);
    for (const name of NAMES) await db.writeLocal(id(`_local/${name}`), undefined, '{}', { durability: 'relaxed' });
    await db.verify();
    slow = true;
    const reads = Promise.all([db.readLocal(id('_local/d33')), leavesOf(db, 'd33'), seeAll(db)]);
    slow = false;
    await db.write(
      NAMES.map((name) => toWrite(`other ${name}`)),
      NEW_EDITS,
    );
    for (const name of NAMES) await db.writeLocal(id(`_local/${name}`), '0-1', '{"n":2}', { durability: 'relaxed' });
    await merge(db, 'd33', { rev: '9-z', body: '{"new":true}' });
    await db.compact();
    const [local, leaves, seen] = await reads;
    expect(local).toEqual({ id: '_local/d33', rev: '0-1', body: '{}' });
    expect(leaves.length).toBe(1);
    expect(seen.rows).toEqual(NAMES);
  });
});

describe('a snapshot of a database opened after a crash', () => {
  test('is readable through the first checkpoint, even if that stores nothing but replayed writes', async () => {
    const before = tinyBench();
    const db = await before.open();
    // So full that no page is repacked: that would make a state of its own.
    const body = JSON.stringify({ filled: 'x'.repeat(250) });
    for (const name of NAMES) await put(db, name, { body });
    await db.verify();
    await put(db, 'replayed', { body });
    const reopened = await before.crashed().open();
    const snapshot = reopened.snapshot();
    await reopened.verify();
    await settle();
    const records = await snapshot.documents(NAMES.map(id));
    expect(records.filter((record) => record === undefined)).toEqual([]);
    for (const name of NAMES) expect(await snapshot.document(id(name))).toBeDefined();
    snapshot.release();
    await reopened.close();
  });
});
