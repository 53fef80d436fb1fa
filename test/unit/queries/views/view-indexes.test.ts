import { describe, expect, test } from 'vitest';
import { groupsOf, rowsOf, ViewFixture, withReader } from '../../../support/view-fixture.ts';

const byYear = { map: 'function (doc) { emit(doc.year, doc.title); }' };

describe('a view', () => {
  test('has the rows that the documents emit, sorted by key and then by id', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write({
      c: { year: 1990, title: 'C' },
      a: { year: 1995, title: 'A' },
      b: { year: 1990, title: 'B' },
    });
    const group = await fixture.group({ byYear });
    const rows = await withReader(group, (reader) => rowsOf(reader, 'byYear'));
    expect(rows).toEqual([
      ['b', 1990, 'B'],
      ['c', 1990, 'C'],
      ['a', 1995, 'A'],
    ]);
    group.release();
    await fixture.close();
  });

  test('follows updates and deletions', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write({ a: { year: 1 }, b: { year: 2 }, c: { year: 3 } });
    const group = await fixture.group({ byYear });
    await withReader(group, (reader) => rowsOf(reader, 'byYear'));
    await fixture.write({ a: { year: 9 }, b: undefined, d: { year: 5 } });
    const rows = await withReader(group, (reader) => rowsOf(reader, 'byYear'));
    expect(rows.map(([id]) => id)).toEqual(['c', 'd', 'a']);
    await fixture.close();
  });

  test('is reduced in groups', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write({ a: { k: [1, 1] }, b: { k: [1, 2] }, c: { k: [2, 1] }, d: { k: 7 } });
    const map = 'function (doc) { emit(doc.k, 10); }';
    const group = await fixture.group({
      sum: { map, reduce: '_sum' },
      count: { map, reduce: '_count' },
      own: { map, reduce: 'function (keys, values, rereduce) { return sum(values) + 1; }' },
    });
    await withReader(group, async (reader) => {
      expect(await groupsOf(reader, 'sum')).toEqual([[null, 40]]);
      expect(await groupsOf(reader, 'count', { groupLevel: 1 })).toEqual([
        [7, 1],
        [[1], 2],
        [[2], 1],
      ]);
      expect(await groupsOf(reader, 'own', { groupLevel: 1, descending: true })).toEqual([
        [[2], 11],
        [[1], 21],
        [7, 11],
      ]);
      expect(await groupsOf(reader, 'sum', { keys: [[1, 2], 7, 8], groupLevel: 'exact' })).toEqual([
        [[1, 2], 10],
        [7, 10],
      ]);
    });
    await fixture.close();
  });

  test('exists after a restart without reading documents', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write({ a: { year: 1 }, b: { year: 2 } });
    const group = await fixture.group({ byYear });
    await withReader(group, (reader) => rowsOf(reader, 'byYear'));
    await fixture.close();
    const again = await ViewFixture.open({ medium: fixture.medium });
    const reopened = await again.group({ byYear });
    const reader = await reopened.read('never');
    expect(await rowsOf(reader, 'byYear')).toEqual([
      ['a', 1, null],
      ['b', 2, null],
    ]);
    expect(reader.updateSeq).toBe(2);
    reader.release();
    await again.close();
  });
});
