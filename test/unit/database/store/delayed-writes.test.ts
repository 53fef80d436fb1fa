import { describe, expect, test } from 'vitest';
import { Bench, leavesOf, seeAll, settle, toWrite } from './harness.ts';
import { FIRST } from './known-revisions.ts';

describe('delayed writes', () => {
  test('are written by the next flush, in order, and conflicts are dropped silently', async () => {
    const db = await new Bench().open();
    await db.writeDelayed([toWrite('a')]);
    await db.writeDelayed([toWrite('b'), toWrite('a', { body: '{"n":2}' })]);
    expect(db.updateSeq).toBe(0);
    await db.flush();
    expect(await seeAll(db)).toMatchObject({ changes: ['1 a', '2 b'] });
    expect(await leavesOf(db, 'a')).toEqual([`${FIRST}={"n":1}`]);
    await db.close();
  });

  test('are written when the database closes', async () => {
    const bench = new Bench();
    const db = await bench.open();
    await db.writeDelayed([toWrite('a')]);
    await db.close();
    const again = await bench.open();
    expect((await seeAll(again)).rows).toEqual(['a']);
    await again.close();
  });

  test('of which a thousand wait are written at once, without a timer', async () => {
    const db = await new Bench().open();
    await db.writeDelayed(Array.from({ length: 1_000 }, (_unused, index) => toWrite(`d${index}`)));
    await settle();
    expect(db.updateSeq).toBe(1_000);
    await db.close();
  });

  test('with 4 MiB of text are written at once', async () => {
    const db = await new Bench().open();
    await db.writeDelayed([toWrite('a', { body: `{"t":"${'x'.repeat(4 * 1024 * 1024)}"}` })]);
    await settle();
    expect((await db.info()).docCount).toBe(1);
    await db.close();
  });

  test('can be added in any number at once', async () => {
    const db = await new Bench().open();
    await db.writeDelayed(Array.from({ length: 200_000 }, () => toWrite('same')));
    await db.flush();
    expect((await seeAll(db)).changes).toEqual(['1 same']);
    await db.close();
  });
});

/** A database whose storage holds back every commit until `goOn` is called. */
async function openStalled() {
  let goOn = () => {};
  const going = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const hooks: { beforeCommit?: () => Promise<void> } = {};
  const db = await new Bench({ hooks }).open();
  hooks.beforeCommit = () => going;
  return { db, goOn };
}

const settles = (promise: unknown) => {
  let settled = false;
  const note = () => {
    settled = true;
  };
  Promise.resolve(promise).then(note, note);
  return () => settled;
};

describe('delayed writes while storage is slow', () => {
  test.each([
    ['ten thousand documents', Array.from({ length: 10_000 }, (_unused, index) => toWrite(`d${index}`)), 10_001],
    ['16 MiB of text', [toWrite('large', { body: JSON.stringify({ s: 'x'.repeat(16 * 1024 * 1024) }) })], 2],
  ])('of %s are accepted, and later ones wait for room', async (_what, writes, documents) => {
    const { db, goOn } = await openStalled();
    expect(db.writeDelayed(writes)).toBe(undefined);
    const late = db.writeDelayed([toWrite('late')]);
    const isTaken = settles(late);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isTaken()).toBe(false);
    goOn();
    await late;
    await db.flush();
    expect((await seeAll(db)).docCount).toBe(documents);
    await db.close();
  });

  test('wait so that no more are accepted than there is room for', async () => {
    const { db, goOn } = await openStalled();
    const half = (name: string) => [toWrite(name, { body: JSON.stringify({ s: name.repeat(8 * 1024 * 1024) }) })];
    await db.writeDelayed(half('a'));
    await db.writeDelayed(half('b'));
    const late = ['c', 'd', 'e'].map((name) => db.writeDelayed(half(name)));
    const taken = late.map(settles);
    goOn();
    await late[0];
    expect(taken.map((isTaken) => isTaken())).toContain(false);
    await Promise.all(late);
    await db.flush();
    expect((await seeAll(db)).rows).toEqual(['a', 'b', 'c', 'd', 'e']);
    await db.close();
  });

  test('that wait for room fail with storage_closed when the database closes', async () => {
    const { db, goOn } = await openStalled();
    await db.writeDelayed(Array.from({ length: 10_000 }, () => toWrite('a')));
    const late = db.writeDelayed([toWrite('late')]);
    const closed = db.close();
    goOn();
    await expect(late).rejects.toMatchObject({ code: 'storage_closed' });
    await closed;
  });

  test('that wait for room fail with storage_deleted when the database is deleted', async () => {
    const { db, goOn } = await openStalled();
    await db.writeDelayed(Array.from({ length: 10_000 }, () => toWrite('a')));
    const late = db.writeDelayed([toWrite('late')]);
    const gone = db.discard();
    goOn();
    await expect(late).rejects.toMatchObject({ code: 'storage_deleted' });
    await gone;
  });
});
