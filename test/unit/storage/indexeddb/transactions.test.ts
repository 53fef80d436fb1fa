import { describe, expect, test } from 'vitest';
import { relaxed } from '../../../conformance/storage/expectations.ts';
import { createStore, hold, prepared, rawConnection, spyOnTransactions, useIndexedDb } from './stores.ts';

useIndexedDb();

describe('transactions', () => {
  test('an append opens only the journal, a page read only the pages, and the durability is passed on', async () => {
    const file = await prepared(createStore());
    const transactions = spyOnTransactions();
    await file.commit(relaxed({ journal: { number: 2, text: 'a' } }));
    await file.commit({ durability: 'strict', journal: { number: 3, text: 'b' } });
    await file.commit(relaxed({ writePages: [{ number: 4, value: 'p' }] }));
    await file.read(2, 'text');
    await file.commit({ durability: 'strict' });
    const seen = transactions.map((transaction) => [
      transaction.mode,
      transaction.durability,
      [...transaction.objectStoreNames],
    ]);
    expect(seen).toEqual([
      ['readwrite', 'relaxed', ['journal']],
      ['readwrite', 'strict', ['journal']],
      ['readwrite', 'relaxed', ['head', 'pages']],
      ['readonly', 'default', ['pages']],
      ['readwrite', 'strict', ['head']],
    ]);
  });

  test('reads requested in one turn share a transaction', async () => {
    const file = await prepared(createStore());
    const transactions = spyOnTransactions();
    await Promise.all([2, 4, 6, 2].map((page) => file.read(page, 'text')));
    await file.read(2, 'text');
    expect(transactions.length).toBe(2);
  });

  test("an append doesn't wait for transactions on pages and head, nor a read for those on the journal", async () => {
    const file = await prepared(createStore(2000));
    const raw = await rawConnection('settee:file');
    const pages = hold(raw, ['pages', 'head']);
    await file.commit(relaxed({ journal: { number: 2, text: 'a' } }));
    await pages.release();
    const journal = hold(raw, ['journal']);
    expect(await file.read(2, 'text')).toBe('two');
    await journal.release();
    raw.close();
  });

  test('closing makes relaxed commits durable with one strict commit', async () => {
    const store = createStore();
    const file = await prepared(store);
    const transactions = spyOnTransactions();
    await file.close();
    expect(transactions.map((transaction) => transaction.durability)).toEqual(['strict']);
    const again = await store.open('file', 'open');
    await again.commit({ durability: 'strict' });
    transactions.length = 0;
    await again.close();
    expect(transactions).toEqual([]);
  });
});
