import { describe, expect, test } from 'vitest';
import type { RowRange } from '../../../../src/database/store/contract.ts';
import { Bench, id, leavesOf, merge, put, seeAll, TINY, TINY_PAGES } from './harness.ts';

const LOCAL = id('_local/x');

describe('local documents (docs/http/documents.md#local-documents)', () => {
  test('count their revisions, need the current one, and leave nothing when deleted', async () => {
    const db = await new Bench().open();
    expect(await db.readLocal(LOCAL)).toBeUndefined();
    expect(await db.writeLocal(LOCAL, undefined, '{"n":1}', { durability: 'relaxed' })).toBe('0-1');
    expect(await db.writeLocal(LOCAL, '0-1', '{"n":2}', { durability: 'strict' })).toBe('0-2');
    expect(await db.readLocal(LOCAL)).toEqual({ id: '_local/x', rev: '0-2', body: '{"n":2}' });
    for (const stale of [undefined, '0-1', '0-3', '1-abc', '0-0']) {
      await expect(db.writeLocal(LOCAL, stale, '{}', { durability: 'relaxed' })).rejects.toMatchObject({
        code: 'conflict',
      });
    }
    await expect(db.writeLocal(LOCAL, undefined, undefined, { durability: 'relaxed' })).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await db.writeLocal(LOCAL, '0-2', undefined, { durability: 'relaxed' })).toBe('0-0');
    expect(await db.readLocal(LOCAL)).toBeUndefined();
    expect(await db.writeLocal(LOCAL, '0-0', '{"n":3}', { durability: 'relaxed' })).toBe('0-1');
    await db.close();
  });

  test('have no sequence number, and are not counted or listed', async () => {
    const db = await new Bench().open();
    await db.writeLocal(LOCAL, undefined, '{"n":1}', { durability: 'relaxed' });
    expect(await seeAll(db)).toMatchObject({ documents: {}, changes: [], rows: [], docCount: 0, updateSeq: 0 });
    await db.close();
  });

  test('survive crash, reopening, compaction and purge, whatever their size', async () => {
    const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
    const db = await bench.open();
    const names = ['_local/a\tb', '_local/\\', '_local/ö/c', '_local/big'];
    for (const name of names)
      await db.writeLocal(id(name), undefined, JSON.stringify({ name }), { durability: 'relaxed' });
    const big = `{"t":"${'x'.repeat(50_000)}"}`;
    await db.writeLocal(id('_local/big'), '0-1', big, { durability: 'relaxed' });
    const check = async (opened: typeof db) => {
      expect((await opened.readLocal(id('_local/big')))?.body).toBe(big);
      for (const name of names.slice(0, 3)) {
        expect(await opened.readLocal(id(name))).toEqual({ id: name, rev: '0-1', body: JSON.stringify({ name }) });
      }
      expect((await opened.verify()).damage).toEqual([]);
    };
    await check(await bench.crashed().open());
    const written = await put(db, 'a');
    await db.purge(new Map([[id('a'), [written]]]));
    await db.compact();
    await check(db);
    await db.close();
    await check(await bench.open());
  });

  test('of several megabytes, in characters of any length, survive crash, checkpoint and removal of others', async () => {
    const bench = new Bench();
    const db = await bench.open();
    // Whatever it is cut into, some cut falls into a character.
    const long = `{"t":"${'x😀é"'.repeat(400_000).replaceAll('"', '\\"')}","u":"${'😀'.repeat(600_000)}"}`;
    const names = ['_local/a', '_local/b', '_local/c', '_local/d', '_local/e'];
    for (const name of names) await db.writeLocal(id(name), undefined, `{"n":"${name}"}`, { durability: 'relaxed' });
    await db.writeLocal(id('_local/b'), '0-1', long, { durability: 'relaxed' });
    await db.writeLocal(id('_local/d'), '0-1', long, { durability: 'relaxed' });
    await db.setRevsLimit(5);
    const check = async (opened: typeof db) => {
      for (const name of names) {
        const isLong = name === '_local/b' || name === '_local/d';
        const body = (await opened.readLocal(id(name)))?.body;
        expect(body === (isLong ? long : `{"n":"${name}"}`), name).toBe(true);
      }
      expect(await opened.readLocal(id('_local/bb'))).toBeUndefined();
      expect(await opened.readLocal(id('_local/z'))).toBeUndefined();
      expect(opened.revsLimit).toBe(5);
      expect((await opened.verify()).damage).toEqual([]);
    };
    await check(await bench.crashed().open());
    await db.close();
    const reopened = await bench.open();
    await check(reopened);
    expect(await reopened.writeLocal(id('_local/b'), '0-2', undefined, { durability: 'relaxed' })).toBe('0-0');
    await reopened.close();
    const last = await bench.open();
    expect(await last.readLocal(id('_local/b'))).toBeUndefined();
    expect((await last.readLocal(id('_local/d')))?.body === long).toBe(true);
    await last.close();
  });

  test('are listed in id order without the settings stored beside them', async () => {
    const db = await new Bench({ settings: TINY, supports: TINY_PAGES }).open();
    await db.setSecurity('{"admins":{}}');
    await db.setRevsLimit(5);
    const names = Array.from({ length: 20 }, (_unused, index) => `_local/${String(index).padStart(2, '0')}`);
    for (const name of names) await db.writeLocal(id(name), undefined, '{}', { durability: 'relaxed' });
    const snapshot = db.snapshot();
    const list = async (range: RowRange) => {
      const found: string[] = [];
      for await (const batch of snapshot.locals(range)) for (const local of batch) found.push(local.id);
      return found;
    };
    expect(await list({})).toEqual(names);
    expect(await list({ descending: true, skip: 1 })).toEqual([...names].reverse().slice(1));
    expect(await list({ start: '_local/03', startInclusive: false, end: '_local/05' })).toEqual([
      '_local/04',
      '_local/05',
    ]);
    expect(await list({ start: 'a', end: 'z' })).toEqual([]);
    expect(await list({ start: '', end: 'zzz' })).toEqual(names);
    expect(await snapshot.localCount()).toBe(20);
    snapshot.release();
    await db.close();
  });

  test('of two writers of one document one succeeds', async () => {
    const db = await new Bench().open();
    const both = await Promise.allSettled([
      db.writeLocal(LOCAL, undefined, '{"n":1}', { durability: 'relaxed' }),
      db.writeLocal(LOCAL, undefined, '{"n":2}', { durability: 'relaxed' }),
    ]);
    expect(both.map((one) => one.status)).toEqual(['fulfilled', 'rejected']);
    expect((await db.readLocal(LOCAL))?.body).toBe('{"n":1}');
    await db.close();
  });
});

describe('settings', () => {
  test('have their defaults, and survive crash and reopening', async () => {
    const bench = new Bench();
    const db = await bench.open();
    expect(db.security).toBe('{}');
    expect(db.revsLimit).toBe(1_000);
    const security = '{"admins":{"names":["ä\\n"],"roles":[]},"extra":12345678901234567890}';
    await db.setSecurity(security);
    await db.setRevsLimit(7);
    expect([db.security, db.revsLimit]).toEqual([security, 7]);
    const crashed = await bench.crashed().open();
    expect([crashed.security, crashed.revsLimit]).toEqual([security, 7]);
    await db.close();
    const again = await bench.open();
    expect([again.security, again.revsLimit]).toEqual([security, 7]);
    await again.close();
  });
});

describe('the revisions limit (docs/http/documents.md#stemming)', () => {
  async function ancestry(db: Awaited<ReturnType<Bench['open']>>, name: string): Promise<number[]> {
    const snapshot = db.snapshot();
    const generations: number[] = [];
    const record = await snapshot.document(id(name));
    for (let node = record?.leaves[0]; node !== undefined; node = node.parent) generations.push(node.generation);
    snapshot.release();
    return generations;
  }

  async function update(db: Awaited<ReturnType<Bench['open']>>, times: number): Promise<void> {
    for (let count = 0; count < times; count++) {
      const [leaf] = await leavesOf(db, 'a');
      const current = leaf?.slice(0, leaf.indexOf('='));
      await put(db, 'a', { body: `{"n":${count}}`, ...(current === undefined ? {} : { rev: current }) });
    }
  }

  test('forgets ancestors beyond it with the next write', async () => {
    const db = await new Bench().open();
    await update(db, 5);
    expect(await ancestry(db, 'a')).toEqual([5, 4, 3, 2, 1]);
    await db.setRevsLimit(3);
    expect(await ancestry(db, 'a')).toEqual([5, 4, 3, 2, 1]);
    await update(db, 1);
    expect(await ancestry(db, 'a')).toEqual([6, 5, 4]);
    await db.setRevsLimit(1);
    await update(db, 1);
    expect(await ancestry(db, 'a')).toEqual([7]);
    await db.close();
  });

  test('cuts a longer path when it is merged in', async () => {
    const db = await new Bench().open();
    await db.setRevsLimit(2);
    await merge(db, 'a', { rev: '4-d', ids: ['d', 'c', 'b', 'a'] });
    expect(await ancestry(db, 'a')).toEqual([4, 3]);
    await db.close();
  });

  test.each([
    ['lowered', 3],
    ['raised above the default', 1_005],
  ])('is %s: a replay of the journal forgets exactly what the first run forgot', async (_what, limit) => {
    const bench = new Bench();
    const db = await bench.open();
    await update(db, 4);
    await db.setRevsLimit(limit);
    const ids = Array.from({ length: 1_010 }, (_unused, index) => `h${1_010 - index}`);
    await merge(db, 'long', { rev: '1010-h1010', ids });
    await update(db, 2);
    expect((await ancestry(db, 'long')).length).toBe(limit);
    const crashed = await bench.crashed().open();
    expect(await ancestry(crashed, 'a')).toEqual(await ancestry(db, 'a'));
    expect((await ancestry(crashed, 'long')).length).toBe(limit);
    await db.close();
  });

  test('applies in a replay as it did for writes that shared a commit with its change', async () => {
    const bench = new Bench();
    const db = await bench.open();
    await update(db, 6);
    const [leaf = ''] = await leavesOf(db, 'a');
    const current = leaf.slice(0, leaf.indexOf('='));
    await Promise.all([db.setRevsLimit(2), put(db, 'a', { rev: current, body: '{"last":1}' })]);
    const crashed = await bench.crashed().open();
    expect(await ancestry(crashed, 'a')).toEqual(await ancestry(db, 'a'));
    await db.close();
  });
});
