import { describe, expect, test } from 'vitest';
import { decodeNotes } from '../../../../src/database/purging/purge-notes.ts';
import { planPurge } from '../../../../src/database/purging/purge-plan.ts';
import { Bench, id, leavesOf, merge, put, seeAll, TINY, TINY_PAGES } from '../store/harness.ts';
import {
  checkpoint,
  checkpointText,
  DAY,
  hasLocal,
  note,
  passDays,
  purge,
  RULES,
  remove,
  tombstone,
  tombstones,
} from './support.ts';

describe('automatic purges (docs/http/databases.md#automatic-purge)', () => {
  test('remove tombstones that are old, and no others', async () => {
    const bench = new Bench();
    const db = await bench.open();
    await tombstone(db, 'old');
    await put(db, 'alive');
    await note(db);
    passDays(bench, 60);
    await tombstone(db, 'young');
    await note(db);
    passDays(bench, 39);
    expect(await purge(bench, db)).toBe(0);
    passDays(bench, 1);
    expect(await purge(bench, db)).toBe(1);
    expect(await tombstones(db)).toEqual(['young']);
    expect(await seeAll(db)).toMatchObject({ docCount: 1, docDelCount: 1 });
    expect(bench.logged).toContain('db: purged 1 deleted documents, up to sequence number 3');
    passDays(bench, 60);
    expect(await purge(bench, db)).toBe(1);
    expect(await purge(bench, db)).toBe(0);
    await db.close();
  });

  test('keep a document as long as one of its leaves is live, and count from its last change', async () => {
    const bench = new Bench();
    const db = await bench.open();
    await remove(db, 'a', await put(db, 'a'));
    await merge(db, 'a', { rev: '1-b' });
    await remove(db, 'later', await put(db, 'later'));
    await note(db);
    passDays(bench, 90);
    await merge(db, 'later', { rev: '1-c', deleted: true });
    await note(db);
    passDays(bench, 11);
    expect(await purge(bench, db)).toBe(0);
    await remove(db, 'a', '1-b');
    await note(db);
    passDays(bench, 89);
    expect(await purge(bench, db)).toBe(1);
    expect(await leavesOf(db, 'later')).toEqual([]);
    passDays(bench, 11);
    expect(await purge(bench, db)).toBe(1);
    expect(await leavesOf(db, 'a')).toEqual([]);
    await db.close();
  });

  test('leave a document alone that was created again since it was found', async () => {
    const bench = new Bench();
    const db = await bench.open();
    await tombstone(db, 'a');
    await tombstone(db, 'b');
    const outcome = await Promise.all([put(db, 'a'), db.purgeTombstones([id('a'), id('b'), id('none')], 4)]);
    expect([...outcome[1].purged.keys()]).toEqual(['b']);
    expect(await seeAll(db)).toMatchObject({ rows: ['a'], docCount: 1, docDelCount: 0 });
    await db.close();
  });

  test('look at each change once, however often they run', async () => {
    const bench = new Bench();
    const db = await bench.open();
    for (let n = 0; n < 5; n++) await put(db, `live${n}`);
    await note(db);
    passDays(bench, 101);
    await purge(bench, db);
    const notes = decodeNotes(await db.purgeNotes());
    expect(notes.done).toBe(5);
    await db.close();
  });

  test('go in batches, and a run that ends early is continued by the next one', async () => {
    const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
    const db = await bench.open();
    for (let n = 0; n < 25; n++) await tombstone(db, `t${n}`);
    await note(db);
    passDays(bench, 101);
    let looked = 0;
    expect(await purge(bench, db, { batchSize: 10, isEnded: () => ++looked > 15 })).toBe(10);
    expect(db.purgeSeq).toBe(1);
    expect(await purge(bench, db, { batchSize: 10 })).toBe(15);
    expect(db.purgeSeq).toBe(3);
    expect(await tombstones(db)).toEqual([]);
    await db.close();
  });

  test('remove nothing by a clock that was set back, or never set', async () => {
    const bench = new Bench();
    const db = await bench.open();
    await note(db);
    const { time } = bench.clock;
    await put(db, 'first');
    await note(db);
    bench.clock.time = time - 400 * DAY * 1_000;
    await tombstone(db, 'a');
    await note(db);
    bench.clock.time = 1_000;
    await tombstone(db, 'b');
    await note(db);
    bench.clock.time = time + 50 * DAY * 1_000;
    expect(await purge(bench, db)).toBe(0);
    bench.clock.time = time + 101 * DAY * 1_000;
    expect(await purge(bench, db)).toBe(0);
    await put(db, 'c');
    await note(db);
    passDays(bench, 101);
    expect(await purge(bench, db)).toBe(2);
    await db.close();
  });
});

describe('peers (docs/http/databases.md#peers-of-a-database)', () => {
  async function withTombstones(names: readonly string[]) {
    const bench = new Bench();
    const db = await bench.open();
    for (const name of names) await tombstone(db, name);
    await note(db);
    passDays(bench, 101);
    const planned = async (rules = RULES) => {
      const notes = decodeNotes(await db.purgeNotes());
      const { peers } = await planPurge(db, rules, notes, Math.floor(bench.clock.time / 1_000));
      return Object.fromEntries(peers.map((peer) => [peer.id.slice('_local/'.length), peer]));
    };
    return { bench, db, planned };
  }

  test('keep what is after their checkpoints', async () => {
    const { bench, db, planned } = await withTombstones(['a', 'b', 'c']);
    await checkpoint(db, 'phone', 2, 'source');
    await checkpoint(db, 'couchdb', 5);
    expect(await purge(bench, db)).toBe(1);
    expect(await tombstones(db)).toEqual(['b', 'c']);
    expect(await planned()).toMatchObject({ phone: { state: 'behind', seq: 2 }, couchdb: { state: 'behind', seq: 5 } });
    await checkpoint(db, 'phone', 6, 'source');
    expect(await purge(bench, db)).toBe(1);
    await checkpoint(db, 'couchdb', 6);
    expect(await purge(bench, db)).toBe(1);
    expect(await planned()).toMatchObject({ phone: { state: 'passed', side: 'source' }, couchdb: { side: 'unknown' } });
    await db.close();
  });

  test('that write to the database, or have numbers of another one, keep nothing', async () => {
    const { bench, db, planned } = await withTombstones(['a', 'b']);
    await checkpoint(db, 'push', 1, 'target');
    await checkpoint(db, 'far', 99);
    await checkpoint(db, 'text', '3-g1AAA');
    await db.writeLocal(id('_local/own'), undefined, '{"history":[],"session_id":"mine"}', { durability: 'relaxed' });
    expect(await purge(bench, db)).toBe(2);
    expect(Object.keys(await planned())).toEqual(['far', 'push', 'text']);
    // It was beyond the database's numbers once: it is of another one, also when the database has caught up.
    for (let n = 0; n < 100; n++) await put(db, `n${n}`);
    expect(await planned()).toMatchObject({ far: { state: 'target' }, push: { state: 'target' } });
    await db.close();
  });

  test('count again if someone else wrote a number of another database into their checkpoint', async () => {
    const { bench, db } = await withTombstones(['a', 'b']);
    await checkpoint(db, 'pouchdb', 0);
    expect(await purge(bench, db)).toBe(0);
    await checkpoint(db, 'pouchdb', 9_007_199_254_740_991);
    await db.writeLocal(id('_local/hold'), undefined, checkpointText(1), { durability: 'relaxed' });
    expect(await purge(bench, db)).toBe(0);
    await checkpoint(db, 'pouchdb', 0);
    await db.writeLocal(id('_local/hold'), '0-1', undefined, { durability: 'relaxed' });
    expect(await purge(bench, db)).toBe(0);
    await checkpoint(db, 'pouchdb', 4);
    expect(await purge(bench, db)).toBe(2);
    await db.close();
  });

  test('beyond a number keep tombstones, and are not listed', async () => {
    const { bench, db, planned } = await withTombstones(['a', 'b']);
    for (let n = 0; n < 130; n++)
      await checkpoint(db, `a${String(n).padStart(3, '0')}${'x'.repeat(8_100)}`, 4, 'source');
    await checkpoint(db, 'phone', 2, 'source');
    expect(await purge(bench, db)).toBe(1);
    const notes = await db.purgeNotes();
    expect(notes?.length).toBeLessThan(1_200_000);
    const peers = await planned();
    expect(Object.keys(peers).length).toBe(129);
    expect(peers['phone']).toBeUndefined();
    expect(await tombstones(db)).toEqual(['b']);
    await db.close();
  });

  test('that admins ignore keep nothing', async () => {
    const { bench, db } = await withTombstones(['a']);
    await checkpoint(db, 'pouchdb', 0);
    expect(await purge(bench, db)).toBe(0);
    const rules = { ...RULES, ignored: new Set(['_local/pouchdb']) };
    expect(await purge(bench, db, { rules })).toBe(1);
    expect(await hasLocal(db, 'pouchdb')).toBe(true);
    await db.close();
  });

  test('that are silent for too long are forgotten, and begin again if the checkpoint is surely theirs', async () => {
    const { bench, db, planned } = await withTombstones(['a', 'b']);
    await checkpoint(db, 'phone', 1, 'source');
    await checkpoint(db, 'pouchdb', 2);
    await purge(bench, db);
    for (let day = 0; day < 199; day++) {
      passDays(bench, 1);
      await purge(bench, db);
    }
    expect(await tombstones(db)).toEqual(['a', 'b']);
    expect(await planned()).toMatchObject({ phone: { state: 'behind', silent: 199 * DAY } });
    passDays(bench, 1);
    expect(await purge(bench, db)).toBe(2);
    expect([await hasLocal(db, 'phone'), await hasLocal(db, 'pouchdb')]).toEqual([false, true]);
    expect(await planned()).toMatchObject({ pouchdb: { state: 'forgotten' } });
    const told = bench.logged.filter((line) => line.includes('is forgotten'));
    expect(told).toEqual([
      'db: the replication of _local/phone, at sequence number 1, was silent for 200 days and is forgotten. Its checkpoint was removed, so it begins again if it comes back.',
      'db: the replication of _local/pouchdb, at sequence number 2, was silent for 200 days and is forgotten. Its checkpoint stays, since it may be that of a replication into this database.',
    ]);
    passDays(bench, 1);
    await purge(bench, db);
    expect(bench.logged.filter((line) => line.includes('is forgotten'))).toHaveLength(2);
    // One that comes back counts again.
    await checkpoint(db, 'phone', 3, 'source');
    await checkpoint(db, 'pouchdb', 3);
    expect(await planned()).toMatchObject({ phone: { silent: 0 }, pouchdb: { silent: 0 } });
    await db.close();
  });

  test('are not silent while no run could see them: a jump of the clock counts as one day', async () => {
    const { bench, db, planned } = await withTombstones(['a']);
    await checkpoint(db, 'phone', 1, 'source');
    await purge(bench, db);
    passDays(bench, 4_000);
    expect(await purge(bench, db)).toBe(0);
    expect(await planned()).toMatchObject({ phone: { state: 'behind', silent: DAY } });
    passDays(bench, -4_000);
    await purge(bench, db);
    expect(await planned()).toMatchObject({ phone: { state: 'behind', silent: DAY } });
    await db.close();
  });

  test('that have read all changes are not silent, also if purges raise the numbers', async () => {
    const { bench, db, planned } = await withTombstones(['a']);
    await checkpoint(db, 'phone', 2, 'source');
    expect(await purge(bench, db)).toBe(1);
    await note(db);
    for (let day = 0; day < 400; day++) {
      passDays(bench, 1);
      await purge(bench, db);
    }
    expect(await planned()).toMatchObject({ phone: { state: 'passed', silent: 0, seq: 2 } });
    expect(db.seqAt(Math.floor(bench.clock.time / 1_000))).toBe(3);
    await db.close();
  });

  test('say when they were last seen', async () => {
    const { bench, db, planned } = await withTombstones(['a']);
    await checkpoint(db, 'phone', 2, 'source');
    const first = Math.floor(bench.clock.time / 1_000);
    await purge(bench, db);
    passDays(bench, 3);
    await purge(bench, db);
    expect((await planned())['phone']?.seen).toBe(first);
    await checkpoint(db, 'phone', 3, 'source');
    await purge(bench, db);
    expect((await planned())['phone']?.seen).toBe(first + 3 * DAY);
    await db.close();
  });
});
