import { forceCloseDatabase } from 'fake-indexeddb';
import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { rejects, relaxed } from '../../../conformance/storage/expectations.ts';
import { abortAs, createStore, prepared, rawConnection, spyOnTransactions, useIndexedDb } from './stores.ts';

useIndexedDb();

/** Takes a transaction's connection away, as a browser does when site data is cleared. */
function forceClose(transaction: IDBTransaction): void {
  Reflect.apply(forceCloseDatabase, undefined, [transaction.db]);
}

describe('a lost connection', () => {
  test('that the browser closed is reported as storage_closed, and the file can be opened again', async () => {
    const transactions = spyOnTransactions();
    const store = createStore();
    const file = await prepared(store);
    forceClose(must(transactions.at(-1)));
    await rejects('storage_closed', () => file.read(2, 'text'));
    await rejects('storage_closed', () => file.commit(relaxed({ head: 'x' })));
    await file.close();
    const reopened = await store.open('file', 'open');
    expect(reopened.opening.head).toBe('first');
  });

  test('gives a commit in progress an unknown outcome', async () => {
    const transactions = spyOnTransactions();
    const store = createStore();
    const file = await prepared(store);
    const refused = rejects('write_outcome_unknown', () => file.commit(relaxed({ head: 'second' })));
    abortAs(must(transactions.at(-1)), 'AbortError');
    await refused;
    expect((await store.open('file', 'open')).opening.head).toBe('first');
  });

  test('is closed for an upgrade by newer code', async () => {
    const file = await prepared(createStore(2000));
    const upgraded = await rawConnection('settee:file', 4);
    await rejects('storage_closed', () => file.read(2, 'text'));
    upgraded.close();
  });

  test("of a file that is opening doesn't block its removal", async () => {
    const store = createStore(2000);
    await (await store.open('file', 'create')).close();
    const opening = store.open('file', 'open').then(
      () => 'opened',
      () => 'refused',
    );
    await createStore(2000).destroy('file');
    await opening;
    expect(await store.list()).toEqual([]);
  });
});
