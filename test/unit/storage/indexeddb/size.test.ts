import { describe, expect, test, vi } from 'vitest';
import { rejects, relaxed } from '../../../conformance/storage/expectations.ts';
import { createStore, failNext, prepared, spyOnTransactions, useIndexedDb } from './stores.ts';

useIndexedDb();

describe('the size of a file', () => {
  const page = (number: number) => ({ number, value: 'x'.repeat(1000) });

  test('is known without reading the pages, also after reopening', async () => {
    const file = await prepared(createStore());
    await file.commit(relaxed({ writePages: [page(10), page(11), page(12)] }));
    await file.commit(relaxed({ dropPages: [2, 11] }));
    await file.close();
    const count = vi.spyOn(IDBObjectStore.prototype, 'count');
    const again = await createStore().open('file', 'open');
    const transactions = spyOnTransactions();
    // Two of four pages with 3,003 characters, and the head's five.
    expect(await again.size()).toBe(1507);
    expect(transactions).toEqual([]);
    expect(count).not.toHaveBeenCalled();
  });

  test('is right after a crash, whatever kind of commit was last', async () => {
    const file = await createStore().open('file', 'create');
    const number = file.opening.nextJournal;
    await file.commit(relaxed({ journal: { number, text: 'with pages' }, writePages: [page(1), page(2)] }));
    expect(await (await createStore().open('file', 'open')).size()).toBe(2010);
    const next = await createStore().open('file', 'open');
    await next.commit(relaxed({ dropPages: [1] }));
    expect(await (await createStore().open('file', 'open')).size()).toBe(1010);
  });

  test("doesn't count a page that this owner or an earlier one dropped", async () => {
    const file = await createStore().open('file', 'create');
    await file.commit(relaxed({ writePages: [1, 2, 3, 4].map(page) }));
    await file.commit(relaxed({ dropPages: [1, 2] }));
    await file.commit(relaxed({ dropPages: [1, 2, 3] }));
    expect(await file.size()).toBe(1000);
    const again = await createStore().open('file', 'open');
    await again.commit(relaxed({ dropPages: [2, 3, 9], writePages: [page(5)] }));
    expect(await again.size()).toBe(2000);
    expect(await (await createStore().open('file', 'open')).size()).toBe(2000);
  });

  test('is counted without looking up a page that this owner wrote', async () => {
    const file = await createStore().open('file', 'create');
    const own = file.opening.epoch * 2 ** 29;
    await file.commit(relaxed({ writePages: [page(own), page(own + 1)] }));
    const lookUps = vi.spyOn(IDBObjectStore.prototype, 'getKey');
    await file.commit(relaxed({ dropPages: [own] }));
    expect(lookUps).not.toHaveBeenCalled();
    expect(await file.size()).toBe(1000);
  });

  test('is unchanged if a commit fails', async () => {
    const file = await prepared(createStore());
    // The page's three characters and the head's five.
    expect(await file.size()).toBe(8);
    failNext('put');
    await rejects('storage_full', () => file.commit(relaxed({ writePages: [page(7)] })));
    await createStore().open('file', 'open');
    await rejects('storage_fenced', () => file.commit(relaxed({ dropPages: [2] })));
    expect(await file.size()).toBe(8);
    expect(await (await createStore().open('file', 'open')).size()).toBe(8);
  });
});
