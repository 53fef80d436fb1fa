import { describe, expect, test } from 'vitest';
import { createLiveQueryCollection, eq, gt, like, lte } from './tanstack-db.mjs';
import { collect, open, show, until } from './tanstack-support.ts';

describe('on demand', () => {
  async function openMany(count: number) {
    const opened = await open();
    for (let from = 0; from < count; from += 10_000) {
      await opened.notes.bulk(
        Array.from({ length: Math.min(10_000, count - from) }, (_, index) => {
          const number = from + index;
          const created = new Date(Date.UTC(2026, 0, 1) + number * 60_000).toISOString();
          return {
            _id: `n${String(number).padStart(6, '0')}`,
            text: `${number}`,
            stars: number,
            created,
            list: `l${number % 1000}`,
          };
        }),
      );
    }
    opened.asked.length = 0;
    return opened;
  }

  test('only the rows that queries show are requested, of 100,000', { timeout: 300_000 }, async () => {
    const { notes, asked, rowsOf } = await openMany(100_000);
    const collection = collect({ database: notes, syncMode: 'on-demand', createIndexes: true });
    const byList = show(
      createLiveQueryCollection((query) => query.from({ note: collection }).where(({ note }) => eq(note.list, 'l7'))),
    );
    await until(() => expect(byList.size).toBe(100));
    expect(rowsOf('/_find')).toBe(100);
    asked.length = 0;

    const newest = show(
      createLiveQueryCollection((query) =>
        query
          .from({ note: collection })
          .orderBy(({ note }) => note.stars, 'desc')
          .limit(10),
      ),
    );
    await until(() => expect(newest.size).toBe(10));
    expect(newest.toArray.map(({ stars }) => stars)).toEqual(Array.from({ length: 10 }, (_, i) => 99_999 - i));
    expect(rowsOf('/_find')).toBeLessThanOrEqual(20);
    asked.length = 0;

    await newest.utils.setWindow({ offset: 10, limit: 10 });
    await until(() => expect(newest.toArray.at(-1)?.stars).toBe(99_980));
    expect(rowsOf('/_find')).toBeLessThanOrEqual(30);
    expect(collection.size).toBeLessThan(150);
    asked.length = 0;

    await notes.put({ _id: 'new', text: 'new', stars: 200_000, list: 'l7' });
    await until(() => expect(byList.has('new')).toBe(true));
    await notes.put({ _id: 'other', text: 'other', stars: 50, list: 'other' });
    await notes.put({ _id: 'last', text: 'last', list: 'l7' });
    await until(() => expect(byList.has('last')).toBe(true));
    expect(collection.has('other')).toBe(false);
    expect(rowsOf('/_find')).toBeLessThanOrEqual(5);
  });

  test('a query by date pages through its documents, and one by text loads what it must', async () => {
    const { notes, asked, rowsOf } = await openMany(2_000);
    const collection = collect({ database: notes, syncMode: 'on-demand', createIndexes: true });
    const oldest = show(
      createLiveQueryCollection((query) =>
        query
          .from({ note: collection })
          .where(({ note }) => gt(note.created, '2026-01-01T01'))
          .orderBy(({ note }) => note.created, { direction: 'asc', stringSort: 'lexical' })
          .limit(5),
      ),
    );
    await until(() => expect(oldest.toArray.map(({ text }) => text)).toEqual(['60', '61', '62', '63', '64']));
    await oldest.utils.setWindow({ offset: 5, limit: 5 });
    await until(() => expect(oldest.toArray.map(({ text }) => text)).toEqual(['65', '66', '67', '68', '69']));
    expect(rowsOf('/_find')).toBeLessThanOrEqual(30);
    asked.length = 0;
    const beginning = show(
      createLiveQueryCollection((query) =>
        query.from({ note: collection }).where(({ note }) => like(note.text, '199%')),
      ),
    );
    await until(() => expect(beginning.size).toBe(11));
    expect(rowsOf('/_find')).toBe(11);
  });

  test('documents that leave what was asked for are removed, and those of an ended query are not read again', async () => {
    const { notes, rowsOf, asked } = await openMany(100);
    const collection = collect({ database: notes, syncMode: 'on-demand' });
    const few = createLiveQueryCollection((query) =>
      query.from({ note: collection }).where(({ note }) => lte(note.stars, 3)),
    );
    const subscription = few.subscribeChanges(() => undefined);
    await until(() => expect(few.size).toBe(4));
    await notes.update('n000002', (note) => ({ text: '', ...note, stars: 30 }));
    await until(() => expect(few.size).toBe(3));
    expect(collection.has('n000002')).toBe(false);
    await notes.update('n000050', (note) => ({ text: '', ...note, stars: 0 }));
    await until(() => expect(few.size).toBe(4));
    subscription.unsubscribe();
    await few.cleanup();
    asked.length = 0;
    await notes.update('n000001', (note) => ({ ...note, text: 'changed' }));
    await until(() => expect(collection.has('n000001')).toBe(false));
    expect(rowsOf('/_find')).toBe(0);
  });

  test('an order without an index fails with what is to be done', async () => {
    const { notes } = await openMany(10);
    const collection = collect({ database: notes, syncMode: 'on-demand' });
    const ordered = createLiveQueryCollection((query) =>
      query
        .from({ note: collection })
        .orderBy(({ note }) => note.stars)
        .limit(2),
    );
    await expect(ordered.preload()).rejects.toMatchObject({ error: 'no_usable_index' });
  });

  test('what the app inserts is shown while it is written, and after it if a query asks for it', async () => {
    const { notes } = await openMany(10);
    const collection = collect({ database: notes, syncMode: 'on-demand' });
    const few = show(
      createLiveQueryCollection((query) => query.from({ note: collection }).where(({ note }) => eq(note.list, 'l3'))),
    );
    await until(() => expect(few.size).toBe(1));
    const inserted = collection.insert({ _id: 'a', text: 'a', list: 'l3' });
    expect(few.has('a')).toBe(true);
    await inserted.isPersisted.promise;
    expect(few.has('a')).toBe(true);
    expect(collection.get('a')?._rev).toMatch(/^1-/);
  });
});
