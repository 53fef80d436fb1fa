import { describe, expect, test } from 'vitest';
import type { RevisionPath } from '../../../../src/database/documents/contract.ts';
import { pathOf } from '../../../../src/database/documents/revisions/revision-tree.ts';
import type { Database } from '../../../../src/database/store/contract.ts';
import { Bench, id, leavesOf, merge, put, seeAll, TINY, TINY_PAGES, toWrite } from './harness.ts';

const MERGED = { newEdits: false, durability: 'relaxed' } as const;

/** The winner's revision and its ancestors. */
async function pathIn(db: Database, name: string): Promise<RevisionPath | undefined> {
  const snapshot = db.snapshot();
  const winner = (await snapshot.document(id(name)))?.leaves[0];
  snapshot.release();
  return winner && pathOf(winner);
}

describe('a replicated revision (docs/http/documents.md#replicated-writes)', () => {
  test('extends the leaf that it names', async () => {
    const db = await new Bench().open();
    await merge(db, 'a', { rev: '1-a', body: '{"n":1}' });
    await merge(db, 'a', { rev: '3-c', ids: ['c', 'b', 'a'], body: '{"n":3}' });
    expect(await leavesOf(db, 'a')).toEqual(['3-c={"n":3}']);
    expect((await seeAll(db)).changes).toEqual(['2 a']);
    await db.close();
  });

  test('that is known changes nothing: no new number, no commit, and success', async () => {
    const commits: unknown[] = [];
    const db = await new Bench({ hooks: { beforeCommit: (commit) => void commits.push(commit) } }).open();
    await merge(db, 'a', { rev: '2-b', ids: ['b', 'a'] });
    const before = commits.length;
    await merge(db, 'a', { rev: '2-b', ids: ['b', 'a'], body: '{"other":true}' });
    await merge(db, 'a', { rev: '1-a' });
    expect(commits.length).toBe(before);
    expect(await seeAll(db)).toMatchObject({ changes: ['1 a'], updateSeq: 1 });
    expect(await leavesOf(db, 'a')).toEqual(['2-b={"n":1}']);
    await db.close();
  });

  test('that is known adds ancestors that were not stored', async () => {
    const bench = new Bench();
    const db = await bench.open();
    await merge(db, 'a', { rev: '3-c', ids: ['c', 'b'], body: '{"n":3}' });
    await merge(db, 'a', { rev: '4-d', ids: ['d', 'c'], body: '{"n":4}' });
    await merge(db, 'a', { rev: '4-d', ids: ['d', 'c', 'b', 'a'], body: '{"other":true}' });
    const seen = { changes: ['3 a'], docCount: 1 };
    const path = { start: 4, ids: ['d', 'c', 'b', 'a'] };
    expect(await pathIn(db, 'a')).toEqual(path);
    expect(await leavesOf(db, 'a')).toEqual(['4-d={"n":4}']);
    expect(await seeAll(db)).toMatchObject(seen);
    // Again from the journal, and from the pages.
    const replayed = await bench.crashed().open();
    expect(await pathIn(replayed, 'a')).toEqual(path);
    expect(await leavesOf(replayed, 'a')).toEqual(['4-d={"n":4}']);
    expect(await seeAll(replayed)).toMatchObject(seen);
    await db.close();
    const again = await bench.open();
    expect(await pathIn(again, 'a')).toEqual(path);
    expect((await again.verify()).damage).toEqual([]);
    await again.close();
  });

  test('that is known and not a leaf adds its ancestors as well', async () => {
    const db = await new Bench().open();
    await merge(db, 'a', { rev: '4-d', ids: ['d', 'c'], body: '{"n":4}' });
    await merge(db, 'a', { rev: '3-c', ids: ['c', 'b', 'a'], body: '{}' });
    expect(await pathIn(db, 'a')).toEqual({ start: 4, ids: ['d', 'c', 'b', 'a'] });
    await db.close();
  });

  test('that is known ends a conflict if its ancestors connect two branches', async () => {
    const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
    const db = await bench.open();
    await merge(db, 'a', { rev: '3-c', deleted: true, body: '{"n":3}' });
    await merge(db, 'a', { rev: '1-a', body: '{"n":1}' });
    expect(await leavesOf(db, 'a')).toEqual(['1-a={"n":1}', '3-c!={"n":3}']);
    await merge(db, 'a', { rev: '3-c', ids: ['c', 'b', 'a'], deleted: true, body: '{"n":3}' });
    expect(await leavesOf(db, 'a')).toEqual(['3-c!={"n":3}']);
    expect(await seeAll(db)).toMatchObject({ changes: ['3 a deleted'], rows: [], docCount: 0, docDelCount: 1 });
    await db.compact();
    expect((await db.verify()).damage).toEqual([]);
    await db.close();
  });

  test('that is known, with ancestors beyond the limit, changes nothing', async () => {
    const commits: unknown[] = [];
    const db = await new Bench({ hooks: { beforeCommit: (commit) => void commits.push(commit) } }).open();
    await db.setRevsLimit(2);
    await merge(db, 'a', { rev: '3-c', ids: ['c', 'b'] });
    await merge(db, 'a', { rev: '5-e', ids: ['e', 'd', 'c', 'b'] });
    const before = commits.length;
    await merge(db, 'a', { rev: '5-e', ids: ['e', 'd', 'c', 'b', 'a'] });
    await merge(db, 'a', { rev: '4-d', ids: ['d', 'c', 'b', 'a'] });
    expect(commits.length).toBe(before);
    expect(await pathIn(db, 'a')).toEqual({ start: 5, ids: ['e', 'd'] });
    expect((await seeAll(db)).changes).toEqual(['2 a']);
    await db.close();
  });

  test('that is known and not a leaf, with ancestors beyond the limit of the leaf, changes nothing', async () => {
    const db = await new Bench().open();
    await db.setRevsLimit(3);
    await merge(db, 'a', { rev: '5-e', ids: ['e', 'd', 'c'] });
    await merge(db, 'a', { rev: '3-c', ids: ['c', 'b', 'a'] });
    expect(await pathIn(db, 'a')).toEqual({ start: 5, ids: ['e', 'd', 'c'] });
    expect((await seeAll(db)).changes).toEqual(['1 a']);
    await db.close();
  });

  test('makes a branch if it fits nowhere, and the winner is the live one of highest generation, then hash', async () => {
    const db = await new Bench().open();
    await merge(db, 'a', { rev: '2-b', ids: ['b', 'a'], body: '{"n":"b"}' });
    await merge(db, 'a', { rev: '2-c', ids: ['c', 'a'], body: '{"n":"c"}' });
    await merge(db, 'a', { rev: '4-x', ids: ['x', 'w', 'v', 'a'], deleted: true, body: '{}' });
    await merge(db, 'a', { rev: '1-z', body: '{"n":"z"}' });
    expect(await leavesOf(db, 'a')).toEqual(['2-c={"n":"c"}', '2-b={"n":"b"}', '1-z={"n":"z"}', '4-x!={}']);
    expect((await seeAll(db)).docCount).toBe(1);
    await db.close();
  });

  test('without a revision is refused, with all writes of its request', async () => {
    const db = await new Bench().open();
    const written = db.write([toWrite('a', { rev: '1-a' }), toWrite('b')], MERGED);
    await expect(written).rejects.toMatchObject({ code: 'bad_request' });
    expect((await seeAll(db)).rows).toEqual([]);
    await db.close();
  });

  test('with any text as its hash survives journal, page and reopening', async () => {
    const bench = new Bench();
    const db = await bench.open();
    const revs = ['1-a"b', '1-😀', '1-x,y;z', '1-<^=!~:', '1-\\'];
    await db.write(
      revs.map((one) => toWrite('a', { rev: one })),
      MERGED,
    );
    const leaves = revs.map((one) => `${one}={"n":1}`).sort();
    const replayed = await bench.crashed().open();
    expect([...(await leavesOf(replayed, 'a'))].sort()).toEqual(leaves);
    await db.close();
    const again = await bench.open();
    expect([...(await leavesOf(again, 'a'))].sort()).toEqual(leaves);
    expect((await again.verify()).damage).toEqual([]);
    await again.close();
  });

  test('with ancestors below a stemmed root keeps the other leaves and the size of their bodies', async () => {
    const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
    const db = await bench.open();
    await merge(db, 'a', { rev: '3-c', body: '{"n":"c"}' });
    await merge(db, 'a', { rev: '4-d', ids: ['d', 'c'], body: '{"n":"d"}' });
    await merge(db, 'a', { rev: '4-e', ids: ['e', 'c'], body: '{"n":"e"}' });
    await merge(db, 'a', { rev: '5-f', ids: ['f', 'd', 'c', 'b', 'a'], body: '{"n":"f"}' });
    const leaves = ['5-f={"n":"f"}', '4-e={"n":"e"}'];
    expect(await leavesOf(db, 'a')).toEqual(leaves);
    expect((await db.verify()).damage).toEqual([]);
    await db.compact();
    expect(await leavesOf(db, 'a')).toEqual(leaves);
    await db.close();
  });

  test('that adds ancestors keeps a large losing leaf through a compaction', async () => {
    const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
    const db = await bench.open();
    const large = JSON.stringify({ text: 'x'.repeat(2_500) });
    await merge(db, 'a', { rev: '3-c', body: '{"n":"c"}' });
    await merge(db, 'a', { rev: '4-e', ids: ['e', 'c'], body: large });
    await merge(db, 'a', { rev: '5-f', ids: ['f', 'd', 'c', 'b', 'a'], body: '{"n":"f"}' });
    for (let index = 0; index < 10; index++) await put(db, `other ${index}`, { body: large });
    await db.compact();
    await db.close();
    const again = await bench.open();
    expect(await leavesOf(again, 'a')).toEqual(['5-f={"n":"f"}', `4-e=${large}`]);
    expect((await again.verify()).damage).toEqual([]);
    await again.close();
  });

  test('of ten thousand conflicts of one document is added within seconds', async () => {
    const db = await new Bench().open();
    const writes = Array.from({ length: 10_000 }, (_unused, index) =>
      toWrite('a', { rev: `1-${index}x`, body: `{"i":${index}}` }),
    );
    await db.write(writes, MERGED);
    expect((await leavesOf(db, 'a')).length).toBe(10_000);
    await put(db, 'a', { rev: '1-5x', body: '{}' });
    await db.close();
  });
});
