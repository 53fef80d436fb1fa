import { describe, expect, test } from 'vitest';
import * as newest from './tanstack-db.mjs';
import { collect, type Note, open, show, until, type Version } from './tanstack-support.ts';

const map = (key: string) => `function (doc) { if (doc.list) emit(${key}, doc.text); }`;
const views = { stars: { map: map('doc.stars') }, lists: { map: map('[doc.list, doc.created]') } };

const day = (number: number) => new Date(Date.UTC(2026, 0, 1) + number * 60_000).toISOString();
const id = (number: number) => `n${String(number).padStart(6, '0')}`;

async function openMany(count: number, change: (note: Note, index: number) => object = (note) => note) {
  const opened = await open();
  await opened.notes.fetch('/db/notes/_design/d', { method: 'PUT', headers: {}, body: JSON.stringify({ views }) });
  for (let from = 0; from < count; from += 10_000) {
    const numbers = Array.from({ length: Math.min(10_000, count - from) }, (_, index) => from + index);
    await opened.notes.bulk(
      numbers.map((number) => {
        const note = { text: `${number}`, stars: number, created: day(number), list: `l${number % 100}` };
        return { _id: id(number), ...(change(note, number) as Note) };
      }),
    );
  }
  await opened.notes.view('d/stars', { limit: 0 });
  opened.asked.length = 0;
  /** Rows of views, and documents, that were sent since the last call. */
  const sent = () => {
    const of = (pattern: RegExp) =>
      opened.asked
        .filter(({ path }) => pattern.test(path))
        .flatMap(({ answer }) => answer.results ?? [answer])
        .reduce((sum, { rows, docs = [] }) => sum + (rows ?? docs).length, 0);
    const counts = { rows: of(/_view/), documents: of(/_all_docs|_find/) };
    opened.asked.length = 0;
    return counts;
  };
  return { ...opened, sent };
}

const versions: [string, Version][] = [
  ['the newest', newest],
  ['the oldest', newest.oldest],
];

describe.each(versions)('a view on demand, in %s version', (_, version) => {
  const { createLiveQueryCollection, eq, gt, inArray, lt } = version;

  test.each([
    ['d/stars', ['stars'], /are no arrays: let "keyFields" be a string/],
    ['d/lists', 'list', /are arrays: let "keyFields" be an array/],
    ['d/none', 'list', /not_found/],
  ])('with keys of another kind, or without rows to read, says so: %s by %o', async (view, keyFields, reason) => {
    const { notes } = await openMany(3);
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const collection = collect({ database: notes, view, syncMode: 'on-demand', keyFields, onError }, version);
    const all = show(createLiveQueryCollection((query) => query.from({ note: collection })));
    await expect(all.preload()).rejects.toThrow();
    expect(errors[0]).toMatchObject({ message: expect.stringMatching(reason) });
  });

  test('is paged from both ends without being loaded, of 100,000', { timeout: 300_000 }, async () => {
    const { notes, sent } = await openMany(100_000);
    const collection = collect(
      { database: notes, view: 'd/stars', syncMode: 'on-demand', keyFields: 'stars' },
      version,
    );
    const latest = show(
      createLiveQueryCollection((query) =>
        query
          .from({ note: collection })
          .orderBy(({ note }) => note.stars, 'desc')
          .limit(10),
      ),
    );
    await until(() =>
      expect(latest.toArray.map(({ stars }) => stars)).toEqual([...Array(10)].map((_, i) => 99_999 - i)),
    );
    await latest.utils.setWindow({ offset: 10, limit: 10 });
    await until(() => expect(latest.toArray.at(-1)?.stars).toBe(99_980));
    const first = sent();
    expect(first.rows).toBeLessThan(100);
    expect(first.documents).toBeLessThan(100);
    const middle = show(
      createLiveQueryCollection((query) =>
        query
          .from({ note: collection })
          .where(({ note }) => gt(note.stars, 50_000))
          .orderBy(({ note }) => note.stars)
          .limit(5),
      ),
    );
    await until(() =>
      expect(middle.toArray.map(({ stars }) => stars)).toEqual([50_001, 50_002, 50_003, 50_004, 50_005]),
    );
    expect(sent().rows).toBeLessThan(50);
    expect(collection.size).toBeLessThan(60);

    // Followed, in what was loaded.
    await notes.put({ _id: 'new', text: 'new', stars: 50_002.5, list: 'l' });
    await until(() => expect(middle.toArray.map(({ text }) => text)).toContain('new'));
    await notes.put({ _id: 'other', text: 'other', stars: 70_000.5, list: 'l' });
    await notes.put({ _id: 'next', text: 'next', stars: 50_003.5, list: 'l' });
    await until(() => expect(middle.toArray.map(({ text }) => text)).toContain('next'));
    expect(collection.has('other')).toBe(false);
    expect(sent().rows).toBeLessThan(1_000);
    // The oldest version loads all rows then.
    if (version === newest.oldest) return;
    await notes.update(id(50_001), (note) => ({ ...note, text: 'gone', list: '' }));
    await until(() => expect(middle.toArray[0]?.stars).toBe(50_002));
    expect(collection.has(id(50_001))).toBe(false);
    expect(sent().rows).toBeLessThan(1_000);
  });

  test('takes equal first fields, and an order by the next one, as a range', async () => {
    const { notes, sent } = await openMany(20_000);
    const collection = collect(
      { database: notes, view: 'd/lists', syncMode: 'on-demand', keyFields: ['list', 'created'] },
      version,
    );
    const order = { direction: 'desc', stringSort: 'lexical' } as const;
    const latest = show(
      createLiveQueryCollection((query) =>
        query
          .from({ note: collection })
          .where(({ note }) => eq(note.list, 'l7'))
          .orderBy(({ note }) => note.created, order)
          .limit(3),
      ),
    );
    await until(() => expect(latest.toArray.map(({ text }) => text)).toEqual(['19907', '19807', '19707']));
    await latest.utils.setWindow({ offset: 3, limit: 3 });
    await until(() => expect(latest.toArray.map(({ text }) => text)).toEqual(['19607', '19507', '19407']));
    expect(sent().rows).toBeLessThan(50);
    const early = show(
      createLiveQueryCollection((query) =>
        query
          .from({ note: collection })
          .where(({ note }) => inArray(note.list, ['l3', 'l8']))
          .where(({ note }) => lt(note.created, day(300))),
      ),
    );
    await until(() =>
      expect(early.toArray.map(({ text }) => text).sort()).toEqual(['103', '108', '203', '208', '3', '8']),
    );
    expect(sent()).toEqual({ rows: 6, documents: 6 });
  });

  test('asks for many keys with one request, also after a change', async () => {
    const { notes, asked } = await openMany(2_000);
    const collection = collect(
      { database: notes, view: 'd/stars', syncMode: 'on-demand', keyFields: 'stars' },
      version,
    );
    const wanted = Array.from({ length: 100 }, (_, index) => 7 * index);
    const some = show(
      createLiveQueryCollection((query) =>
        query.from({ note: collection }).where(({ note }) => inArray(note.stars, wanted)),
      ),
    );
    const reads = () => asked.filter(({ path }) => path.includes('/_view/'));
    await until(() => expect(some.size).toBe(100));
    // Two look at the kind of keys that there are.
    expect(reads().filter(({ answer }) => answer.rows === undefined).length).toBe(1);
    expect(reads().length).toBeLessThanOrEqual(3);
    asked.length = 0;
    await notes.update(id(8), (note) => ({ ...note, text: 'moved', stars: 7 }));
    await until(() => expect(some.size).toBe(101));
    await notes.update(id(7), (note) => ({ ...note, text: 'gone', stars: 5_000 }));
    await until(() => expect(some.size).toBe(100));
    expect(reads().length).toBe(2);
  });

  test('asks documents for what the key does not have, and fills the page', async () => {
    const { notes, sent } = await openMany(5_000, (note, index) => ({ ...note, text: index % 50 === 0 ? 'x' : 'y' }));
    const collection = collect(
      { database: notes, view: 'd/stars', syncMode: 'on-demand', keyFields: 'stars' },
      version,
    );
    const few = show(
      createLiveQueryCollection((query) =>
        query
          .from({ note: collection })
          .where(({ note }) => eq(note.text, 'x'))
          .orderBy(({ note }) => note.stars)
          .limit(4),
      ),
    );
    await until(() => expect(few.toArray.map(({ stars }) => stars)).toEqual([0, 50, 100, 150]));
    const { rows, documents } = sent();
    expect(rows).toBeLessThan(1_000);
    expect(documents).toBeLessThan(20);
  });
});

test('without fields of the key, all rows of the range are read, and only the documents that are meant', async () => {
  const { notes, sent } = await openMany(300);
  const range = { startkey: 100, endkey: 199 };
  const collection = collect({ database: notes, view: 'd/stars', syncMode: 'on-demand', range });
  const few = show(
    newest.createLiveQueryCollection((query) =>
      query.from({ note: collection }).where(({ note }) => newest.like(note.text, '15%')),
    ),
  );
  await until(() => expect(few.size).toBe(10));
  expect(sent()).toEqual({ rows: 100, documents: 10 });
  await notes.update(id(155), (note) => ({ ...note, text: 'other' }));
  await until(() => expect(few.size).toBe(9));
  await notes.update(id(120), (note) => ({ ...note, text: '15' }));
  await until(() => expect(few.has(id(120))).toBe(true));
  await notes.update(id(120), (note) => ({ ...note, text: '15', stars: 500 }));
  await until(() => expect(few.has(id(120))).toBe(false));
});

test('has null first in both directions, and rows that equal the last one', async () => {
  const stars = [null, 3, 1, 2, 2, 2, null, 4];
  const { notes } = await openMany(stars.length, (note, index) => ({ ...note, stars: stars[index] }));
  const collection = collect({ database: notes, view: 'd/stars', syncMode: 'on-demand', keyFields: 'stars' });
  const ordered = (direction: 'asc' | 'desc') =>
    show(
      newest.createLiveQueryCollection((query) =>
        query
          .from({ note: collection })
          .orderBy(({ note }) => note.stars, direction)
          .limit(5),
      ),
    );
  const least = ordered('asc');
  await until(() => expect(least.toArray.map((note) => note.stars)).toEqual([null, null, 1, 2, 2]));
  expect(collection.size).toBe(6);
  const most = ordered('desc');
  await until(() => expect(most.toArray.map((note) => note.stars)).toEqual([null, null, 4, 3, 2]));
  await most.utils.setWindow({ offset: 5, limit: 5 });
  await until(() => expect(most.toArray.map((note) => note.stars)).toEqual([2, 2, 1]));
});
