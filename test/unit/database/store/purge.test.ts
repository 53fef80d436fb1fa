import { describe, expect, test, vi } from 'vitest';
import type { DocId, RevId } from '../../../../src/database/documents/contract.ts';
import { Bench, Gate, id, leavesOf, merge, put, rev, seeAll, settle, TINY, TINY_PAGES } from './harness.ts';

function of(revisions: Readonly<Record<string, readonly string[]>>): Map<DocId, RevId[]> {
  return new Map(Object.entries(revisions).map(([name, revs]) => [id(name), revs.map(rev)]));
}

describe('purge (docs/http/databases.md#purge)', () => {
  test('of the only leaf removes the document: no tombstone, no change, one more step of both counters', async () => {
    const db = await new Bench().open();
    const first = await put(db, 'a');
    const second = await put(db, 'a', { rev: first, body: '{"n":2}' });
    await put(db, 'b');
    const outcome = await db.purge(of({ a: [second] }));
    expect(outcome.purgeSeq).toBe(1);
    expect([...outcome.purged]).toEqual([['a', [second]]]);
    expect(await seeAll(db)).toMatchObject({
      changes: ['3 b'],
      rows: ['b'],
      docCount: 1,
      docDelCount: 0,
      updateSeq: 4,
    });
    expect([db.purgeSeq, (await db.info()).purgeSeq, db.snapshot().purgeSeq]).toEqual([1, 1, 1]);
    expect(await leavesOf(db, 'a')).toEqual([]);
    expect(await put(db, 'a')).toBe(first);
    await db.close();
  });

  test('of one branch keeps the others, and gives the document a new sequence number', async () => {
    const db = await new Bench().open();
    await merge(db, 'a', { rev: '2-b', ids: ['b', 'a'] });
    await merge(db, 'a', { rev: '3-d', ids: ['d', 'c', 'a'] });
    const outcome = await db.purge(of({ a: ['3-d'] }));
    expect([...outcome.purged]).toEqual([['a', ['3-d']]]);
    expect(await leavesOf(db, 'a')).toEqual(['2-b={"n":1}']);
    expect((await seeAll(db)).changes).toEqual(['3 a']);
    await db.close();
  });

  test('ignores unknown documents and revisions, and revisions that are not leaves', async () => {
    const db = await new Bench().open();
    const first = await put(db, 'a');
    const second = await put(db, 'a', { rev: first, body: '{"n":2}' });
    const outcome = await db.purge(of({ a: [first], b: [first], c: [] }));
    expect(outcome).toEqual({ purgeSeq: 0, purged: new Map() });
    expect(await leavesOf(db, 'a')).toEqual([`${second}={"n":2}`]);
    expect(db.updateSeq).toBe(2);
    await db.close();
  });

  test('of a deleted document reduces the count of deleted documents', async () => {
    const db = await new Bench().open();
    const first = await put(db, 'a');
    const gone = await put(db, 'a', { rev: first, deleted: true, body: '{}' });
    await db.purge(of({ a: [gone] }));
    expect(await seeAll(db)).toMatchObject({ docCount: 0, docDelCount: 0, changes: [] });
    await db.close();
  });

  test('of the winner promotes a live leaf, and updates the counts', async () => {
    const db = await new Bench().open();
    await merge(db, 'a', { rev: '1-a', deleted: true, body: '{}' });
    await merge(db, 'a', { rev: '1-b' });
    expect(await seeAll(db)).toMatchObject({ docCount: 1, docDelCount: 0 });
    await db.purge(of({ a: ['1-b'] }));
    expect(await seeAll(db)).toMatchObject({ docCount: 0, docDelCount: 1, changes: ['3 a deleted'] });
    await db.close();
  });

  test('is replayed after a crash, without a leak', async () => {
    const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
    const db = await bench.open();
    for (let index = 0; index < 30; index++)
      await put(db, `d${index}`, { body: `{"text":"${'x'.repeat(100)}${index}"}` });
    const seen = await seeAll(db);
    const purged = Object.fromEntries(
      Object.entries(seen.documents)
        .slice(0, 20)
        .map(([name, { leaves }]) => [name, [leaves[0]?.split('=')[0] ?? '']]),
    );
    await db.purge(of(purged));
    const after = await seeAll(db);
    expect(after.docCount).toBe(10);
    const crashed = await bench.crashed().open();
    expect(await seeAll(crashed)).toMatchObject({ documents: after.documents, changes: after.changes, docCount: 10 });
    expect(crashed.purgeSeq).toBe(1);
    expect((await crashed.verify()).damage).toEqual([]);
    await crashed.compact();
    expect((await crashed.verify()).damage).toEqual([]);
    await db.close();
  });

  test('and later writes in the same commit are replayed in order', async () => {
    const bench = new Bench();
    const db = await bench.open();
    const first = await put(db, 'a', { body: '{"n":1}' });
    const second = await put(db, 'a', { rev: first, body: '{"n":2}' });
    const [, again] = await Promise.all([db.purge(of({ a: [second] })), put(db, 'a', { body: '{"n":1}' })]);
    expect(again).toBe(first);
    const seen = await seeAll(db);
    expect(seen).toMatchObject({ docCount: 1, rows: ['a'] });
    const crashed = await bench.crashed().open();
    expect(await seeAll(crashed)).toMatchObject({ documents: seen.documents, changes: seen.changes, docCount: 1 });
    await db.close();
  });

  describe('during a compaction', () => {
    /** A database whose compaction goes on when the gate is opened. */
    async function compacting() {
      const gate = new Gate();
      let hold = false;
      const bench = new Bench({
        settings: TINY,
        supports: TINY_PAGES,
        hooks: { beforeCommit: () => (hold ? gate.opened : undefined) },
      });
      const db = await bench.open();
      const revisions = of({ a: [await put(db, 'a')] });
      hold = true;
      const compaction = db.compact();
      await settle();
      expect(db.compactRunning).toBe(true);
      const end = () => {
        hold = false;
        gate.open();
        return compaction;
      };
      return { db, revisions, end };
    }

    test('waits for the end of the compaction', async () => {
      const { db, revisions, end } = await compacting();
      const purge = db.purge(revisions);
      await settle();
      expect(db.purgeSeq).toBe(0);
      await end();
      expect(await purge).toEqual({ purgeSeq: 1, purged: revisions });
      await db.close();
    });

    test('is refused if the compaction takes too long', async () => {
      const { db, revisions, end } = await compacting();
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      try {
        const refused = expect(db.purge(revisions)).rejects.toMatchObject({ code: 'purge_during_compaction' });
        vi.advanceTimersByTime(30_000);
        await refused;
      } finally {
        vi.useRealTimers();
      }
      await end();
      expect(db.purgeSeq).toBe(0);
      await db.close();
    });
  });
});
