import { describe, expect, test } from 'vitest';
import { Bench, leavesOf, put, seeAll, toWrite } from './harness.ts';
import { FIRST, FOURTH, SECOND, TOMBSTONE } from './known-revisions.ts';

describe('revisions of new edits', () => {
  test('depend on the edit only, through update, deletion and recreation', async () => {
    const db = await new Bench().open();
    expect(await put(db, 'a', { body: '{"n":1}' })).toBe(FIRST);
    expect(await put(db, 'a', { rev: FIRST, body: '{"n":2}' })).toBe(SECOND);
    expect(await put(db, 'a', { rev: SECOND, deleted: true, body: '{}' })).toBe(TOMBSTONE);
    expect(await put(db, 'a', { body: '{"n":1}' })).toBe(FOURTH);
    expect(await leavesOf(db, 'a')).toEqual([`${FOURTH}={"n":1}`]);
    expect(await put(db, 'another id', { body: '{"n":1}' })).toBe(FIRST);
    await db.close();
  });

  test("are refused for a generation that can't be counted, and the document is unchanged", async () => {
    const db = await new Bench().open();
    const last = '9007199254740991-a';
    await db.write([toWrite('a', { rev: last })], { newEdits: false, durability: 'relaxed' });
    await expect(put(db, 'a', { rev: last, body: '{"n":2}' })).rejects.toMatchObject({ code: 'bad_request' });
    expect(await leavesOf(db, 'a')).toEqual([`${last}={"n":1}`]);
    await db.close();
  });

  test('refused for their generation refuse all others of an all_or_nothing request', async () => {
    const db = await new Bench().open();
    const last = '9007199254740991-a';
    await db.write([toWrite('a', { rev: last })], { newEdits: false, durability: 'relaxed' });
    const writes = [toWrite('b'), toWrite('a', { rev: last, body: '{"n":2}' }), toWrite('c')];
    const refused = db.write(writes, { newEdits: true, durability: 'relaxed', allOrNothing: true });
    const other = put(db, 'd');
    await expect(refused).rejects.toMatchObject({ code: 'bad_request' });
    expect(await other).toBe(FIRST);
    expect((await seeAll(db)).changes).toEqual(['1 a', '2 d']);
    await db.close();
  });
});

describe('the conflict check', () => {
  test.each([
    ['no revision on a live document', {}],
    ['a revision that was replaced', { rev: FIRST }],
    ['a revision that never was', { rev: '1-00000000000000000000000000000000' }],
  ])('refuses %s', async (_what, write) => {
    const db = await new Bench().open();
    await put(db, 'a', { body: '{"n":1}' });
    await put(db, 'a', { rev: FIRST, body: '{"n":2}' });
    await expect(put(db, 'a', { ...write, body: '{"n":3}' })).rejects.toMatchObject({ code: 'conflict' });
    expect(await leavesOf(db, 'a')).toEqual([`${SECOND}={"n":2}`]);
    expect(db.updateSeq).toBe(2);
    await db.close();
  });

  test('refuses a revision of a missing document', async () => {
    const db = await new Bench().open();
    await expect(put(db, 'a', { rev: FIRST })).rejects.toMatchObject({ code: 'conflict' });
    expect(await seeAll(db)).toMatchObject({ documents: {}, updateSeq: 0, docCount: 0 });
    await db.close();
  });

  test('lets a losing leaf and a deleted one be extended', async () => {
    const db = await new Bench().open();
    const merged = { newEdits: false, durability: 'relaxed' } as const;
    await db.write(
      [toWrite('a', { rev: '2-z', ids: ['z', 'r'] }), toWrite('a', { rev: '2-b', ids: ['b', 'r'] })],
      merged,
    );
    await db.write([toWrite('a', { rev: '2-c', ids: ['c', 'r'], deleted: true })], merged);
    const losing = await put(db, 'a', { rev: '2-b', deleted: true, body: '{}' });
    expect(losing).toMatch(/^3-/);
    const revived = await put(db, 'a', { rev: '2-c', body: '{"n":3}' });
    expect(await leavesOf(db, 'a')).toEqual([`${revived}={"n":3}`, '2-z={"n":1}', `${losing}!={}`]);
    await db.close();
  });
});
