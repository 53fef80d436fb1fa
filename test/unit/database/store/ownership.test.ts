import { describe, expect, test } from 'vitest';
import { Bench, FILE, id, leavesOf, put, seeAll, settle, TINY, TINY_PAGES } from './harness.ts';

describe('a database that another owner opened', () => {
  async function twoOwners() {
    const bench = new Bench({ settings: { ...TINY, cacheBytes: 0 }, supports: TINY_PAGES });
    const stale = await bench.open();
    for (let index = 0; index < 30; index++) await put(stale, `d${index}`, { body: `{"n":${index}}` });
    await stale.verify();
    const owner = await bench.open();
    return { bench, stale, owner };
  }

  test('is fenced: every write fails with storage_fenced and changes nothing', async () => {
    const { bench, stale, owner } = await twoOwners();
    const before = await seeAll(owner);
    for (let times = 0; times < 3; times++) {
      await expect(put(stale, `late ${times}`)).rejects.toMatchObject({ code: 'storage_fenced' });
    }
    await expect(stale.writeLocal(id('_local/x'), undefined, '{}', { durability: 'relaxed' })).rejects.toMatchObject({
      code: 'storage_fenced',
    });
    await expect(stale.setSecurity('{}')).rejects.toMatchObject({ code: 'storage_fenced' });
    await expect(stale.flush()).rejects.toMatchObject({ code: 'storage_fenced' });
    expect(bench.failures.length).toBe(1);
    expect(await leavesOf(stale, 'late 0')).toEqual([]);
    expect(await seeAll(owner)).toEqual(before);
    expect((await owner.verify()).damage).toEqual([]);
    await stale.close().catch(() => undefined);
    expect(await seeAll(owner)).toEqual(before);
    await owner.close();
  });

  test('never reports a document as missing if its pages are gone', async () => {
    const { stale, owner } = await twoOwners();
    for (let index = 0; index < 30; index++) {
      const [leaf = ''] = await leavesOf(owner, `d${index}`);
      await put(owner, `d${index}`, { rev: leaf.slice(0, leaf.indexOf('=')), body: '{"new":true}' });
    }
    await owner.compact();
    await settle();
    let fenced = 0;
    for (let index = 0; index < 30; index++) {
      try {
        expect(await leavesOf(stale, `d${index}`)).toHaveLength(1);
      } catch (error) {
        expect(error).toMatchObject({ code: 'storage_fenced' });
        fenced++;
      }
    }
    expect(fenced).toBeGreaterThan(0);
    await expect(seeAll(stale)).rejects.toMatchObject({ code: 'storage_fenced' });
    await stale.close().catch(() => undefined);
    expect((await owner.verify()).damage).toEqual([]);
    await owner.close();
  });

  test('is fenced in its background work', async () => {
    const { bench, stale, owner } = await twoOwners();
    const pages = () => new Map(bench.medium.files.get(FILE)?.pages);
    await settle();
    const before = pages();
    await expect(stale.compact()).rejects.toMatchObject({ code: 'storage_fenced' });
    await stale.close().catch(() => undefined);
    expect(pages()).toEqual(before);
    expect((await seeAll(owner)).docCount).toBe(30);
    await owner.close();
  });
});

describe('a database whose file was removed', () => {
  test('fails with storage_deleted, for reads and writes', async () => {
    const bench = new Bench({ settings: { ...TINY, cacheBytes: 0 }, supports: TINY_PAGES });
    const db = await bench.open();
    for (let index = 0; index < 30; index++) await put(db, `d${index}`);
    await bench.store().destroy(FILE);
    await expect(seeAll(db)).rejects.toMatchObject({ code: 'storage_deleted' });
    await expect(put(db, 'a')).rejects.toMatchObject({ code: 'storage_deleted' });
    await expect(put(db, 'b')).rejects.toMatchObject({ code: 'storage_deleted' });
    await db.close().catch(() => undefined);
  });
});
