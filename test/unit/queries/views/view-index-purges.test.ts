import { describe, expect, test } from 'vitest';
import { design, rowsOf, ViewFixture, withReader } from '../../../support/view-fixture.ts';
import { CountingMapper, counted, documents, language, openCounting } from './counting-views.ts';

describe('a purge', () => {
  test('removes the rows of purged documents, and maps no other documents', async () => {
    const mapper = new CountingMapper();
    const fixture = await openCounting(mapper);
    await fixture.write(documents(20));
    const group = await fixture.group(counted, language);
    await withReader(group, async () => undefined);
    mapper.mapped.length = 0;
    const gone = ['d00003', 'd00011'];
    for (const name of gone) {
      const { id, rev } = { ...design({}, {}, name), id: name as never, rev: fixture.revOf(name) };
      await fixture.database.purge(new Map([[id, [rev]]]));
    }
    await withReader(group, async (reader) => {
      const ids = (await rowsOf(reader, 'counted')).map(([name]) => name);
      expect(ids.length).toBe(18);
      expect(ids).not.toContain('d00003');
      expect(reader.lastChange('counted')).toEqual({ seq: 20, purgeSeq: 2 });
    });
    expect(mapper.mapped).toEqual([]);
    await fixture.close();
  });

  test('is the last change of the views from which it removes rows', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write({ a: { year: 1 }, b: { name: 'y' }, c: { year: 2, name: 'z' }, d: {} });
    const views = {
      byYear: { map: 'function (doc) { if (doc.year) emit(doc.year, 1); }' },
      byName: { map: 'function (doc) { if (doc.name) emit(doc.name, 1); }' },
    };
    const changes = async () =>
      withReader(await fixture.group(views), async (reader) => [
        reader.lastChange('byYear'),
        reader.lastChange('byName'),
      ]);
    const purge = (name: string) => fixture.database.purge(new Map([[name as never, [fixture.revOf(name)]]]));
    expect(await changes()).toEqual([
      { seq: 4, purgeSeq: 0 },
      { seq: 4, purgeSeq: 0 },
    ]);
    await purge('d');
    expect(await changes()).toEqual([
      { seq: 4, purgeSeq: 0 },
      { seq: 4, purgeSeq: 0 },
    ]);
    await purge('a');
    expect(await changes()).toEqual([
      { seq: 4, purgeSeq: 2 },
      { seq: 4, purgeSeq: 0 },
    ]);
    await purge('c');
    const expected = [
      { seq: 4, purgeSeq: 3 },
      { seq: 4, purgeSeq: 3 },
    ];
    expect(await changes()).toEqual(expected);
    await fixture.close();
  });

  test('of more documents than one portion identifies each state between', async () => {
    const fixture = await ViewFixture.open({ parts: { settings: { flushRows: 10 } } });
    await fixture.write(documents(60));
    const group = await fixture.group({ counted: { map: 'function (doc) { emit(doc._id, 1); }', reduce: '_count' } });
    await withReader(group, async () => undefined);
    const ids = Array.from({ length: 45 }, (_unused, n) => `d${`${n}`.padStart(5, '0')}`);
    await fixture.database.purge(new Map(ids.map((name) => [name as never, [fixture.revOf(name)]])));
    const seen = new Map<string, number>();
    const updated = group.read('before');
    for (let isDone = false; !isDone; ) {
      const reader = await group.read('never');
      const tag = JSON.stringify(reader.lastChange('counted'));
      const rows = reader.totalRows('counted');
      expect(seen.get(tag) ?? rows, tag).toBe(rows);
      seen.set(tag, rows);
      isDone = rows === 15;
      reader.release();
      await new Promise((resolve) => setImmediate(resolve));
    }
    (await updated).release();
    expect(await withReader(group, async (reader) => reader.lastChange('counted'))).toEqual({ seq: 60, purgeSeq: 1 });
    await fixture.close();
  });
});
