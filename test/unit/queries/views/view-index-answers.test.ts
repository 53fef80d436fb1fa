import { describe, expect, test } from 'vitest';
import { type Json, ViewFixture, withReader } from '../../../support/view-fixture.ts';
import { CountingMapper, counted, documents, language, openCounting } from './counting-views.ts';

const byYear = { map: 'function (doc) { emit(doc.year, null); }' };

describe('a stale answer', () => {
  test('is what the index has, and can be followed by an update', async () => {
    const mapper = new CountingMapper();
    const fixture = await openCounting(mapper);
    await fixture.write(documents(10));
    const group = await fixture.group(counted, language);
    const empty = await group.read('never');
    expect(empty.totalRows('counted')).toBe(0);
    expect(empty.updateSeq).toBe(0);
    expect(mapper.mapped).toEqual([]);
    const before = await group.read('after');
    expect(before.totalRows('counted')).toBe(0);
    // Joins the update that goes on.
    const after = await group.read('before');
    expect(after.totalRows('counted')).toBe(10);
    expect(mapper.mapped.length).toBe(10);
    expect(empty.totalRows('counted')).toBe(0);
    for (const reader of [empty, before, after]) reader.release();
    await fixture.close();
  });
});

describe('the last change of a view', () => {
  test('moves only when its own rows do', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write({ a: { year: 1, name: 'x' }, b: { year: 2, name: 'y' } });
    const group = await fixture.group({ byYear, byName: { map: 'function (doc) { emit(doc.name, 1); }' } });
    const changes = () =>
      withReader(group, async (reader) => [reader.lastChange('byYear').seq, reader.lastChange('byName').seq]);
    expect(await changes()).toEqual([2, 2]);
    await fixture.write({ a: { year: 1, name: 'z' } });
    expect(await changes()).toEqual([2, 3]);
    await fixture.write({ b: { year: 2, name: 'y', more: true } });
    expect(await changes()).toEqual([2, 3]);
    await fixture.write({ c: undefined as unknown as Json }).catch(() => undefined);
    await fixture.write({ a: undefined });
    const [years, names] = await changes();
    expect([years, names]).toEqual([fixture.database.updateSeq, fixture.database.updateSeq]);
    await fixture.close();
  });

  test('identifies a stale answer of an index that is being built', async () => {
    const mapper = new CountingMapper();
    const fixture = await openCounting(mapper, undefined, { flushRows: 20 });
    await fixture.write(documents(40));
    const group = await fixture.group(counted, language);
    const seen = new Map<number, number>();
    const look = async () => {
      const reader = await group.read('never');
      seen.set(reader.totalRows('counted'), reader.lastChange('counted').seq);
      reader.release();
    };
    mapper.before = look;
    await withReader(group, look);
    expect([...seen.keys()]).toEqual([0, 10, 20, 30, 40]);
    expect(new Set(seen.values()).size).toBe(5);
    expect(seen.get(40)).toBe(40);
    await fixture.close();
  });
});
