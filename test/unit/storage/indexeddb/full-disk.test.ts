import { describe, expect, test } from 'vitest';
import { allPages, rejects, relaxed, storedContent } from '../../../conformance/storage/expectations.ts';
import { createStore, failNext, prepared, useIndexedDb } from './stores.ts';

useIndexedDb();

describe('a full disk', () => {
  test.each([
    { method: 'put', commit: relaxed({ writePages: [{ number: 4, value: 'four' }], head: 'second' }) },
    { method: 'add', commit: relaxed({ journal: { number: 2, text: 'two' }, head: 'second', dropPages: [2] }) },
    { method: 'add', commit: relaxed({ journal: { number: 2, text: 'two' } }) },
  ] as const)(
    'fails a commit with storage_full at $method as a whole, and the file still works',
    async ({ method, commit }) => {
      const file = await prepared(createStore());
      failNext(method);
      await rejects('storage_full', () => file.commit(commit));
      expect(await allPages(file)).toEqual([2]);
      expect(await file.isCurrent()).toBe(true);
      await file.commit(relaxed({ journal: { number: 2, text: 'after' } }));
      expect(await storedContent(createStore(), 'file')).toEqual({
        head: 'first',
        journal: [[2, 'after']],
        pages: [[2, 'two']],
      });
    },
  );

  test('lets an opening without room for a claim read, and leaves the file to its owner', async () => {
    const file = await prepared(createStore());
    await file.commit(relaxed({ journal: { number: 2, text: 'two' } }));
    failNext('put');
    const reader = await createStore().open('file', 'open');
    expect(reader.opening).toMatchObject({ head: 'first', journal: [{ number: 2, text: 'two' }], nextJournal: 4 });
    expect(await reader.read(2, 'text')).toBe('two');
    expect(await reader.isCurrent()).toBe(true);
    expect(await file.isCurrent()).toBe(true);
    await file.commit(relaxed({ journal: { number: 3, text: 'mine' } }));
    await rejects('storage_fenced', () => reader.commit(relaxed({ journal: { number: 4, text: 'late' } })));
    await reader.close();
    expect((await storedContent(createStore(), 'file')).journal).toEqual([
      [2, 'two'],
      [3, 'mine'],
    ]);
  });

  test('lets such an opening take over the file with its first commit that has room', async () => {
    const file = await prepared(createStore());
    failNext('put');
    const reader = await createStore().open('file', 'open');
    failNext('add');
    await rejects('storage_full', () => reader.commit(relaxed({ dropPages: [2] })));
    await reader.commit(relaxed({ journal: { number: 3, text: 'three' }, writePages: [{ number: 3, value: 'page' }] }));
    expect(await reader.isCurrent()).toBe(true);
    await rejects('storage_fenced', () => file.commit(relaxed({ journal: { number: 2, text: 'stale' } })));
    await rejects('storage_fenced', () => file.commit(relaxed({ dropPages: [2] })));
    await reader.commit(relaxed({ head: 'second', truncateJournal: 4 }));
    const found = await createStore().open('file', 'open');
    expect(found.opening).toMatchObject({ epoch: 3, head: 'second', journal: [], nextJournal: 5 });
    expect(await allPages(found)).toEqual([2, 3]);
  });

  test('lets a file that was only read be closed without a write', async () => {
    await prepared(createStore());
    failNext('put');
    const reader = await createStore().open('file', 'open');
    await reader.close();
    expect((await createStore().open('file', 'open')).opening.epoch).toBe(2);
  });
});
