import { describe, expect, test, vi } from 'vitest';
import { rejects, relaxed } from '../../../conformance/storage/expectations.ts';
import { createStore, factory, rawConnection, useIndexedDb } from './stores.ts';

useIndexedDb();

describe('databases', () => {
  test('only databases with the prefix and a file name are listed', async () => {
    const store = createStore();
    await store.open('mine', 'create');
    for (const name of ['other', 'settee', 'settee:', 'settee:Not a file', 'xsettee:a']) await rawConnection(name);
    expect(await store.list()).toEqual(['mine']);
  });

  test('a remainder of an aborted creation in WebKit is not listed', async () => {
    vi.spyOn(factory, 'databases').mockResolvedValue([
      { name: 'settee:aborted', version: 0 },
      { name: 'settee:mine', version: 1 },
    ]);
    expect(await createStore().list()).toEqual(['mine']);
  });

  test("a database without the service's object stores is reported as damaged", async () => {
    (await rawConnection('settee:empty', 1)).close();
    await rejects('storage_corrupt', () => createStore().open('empty', 'open'));
  });

  test('a newer format is recognized by the version of the database', async () => {
    (await rawConnection('settee:file', 7)).close();
    await expect(createStore().open('file', 'open')).rejects.toThrow(
      'storage_newer_format: File "file" has storage format 7, this version reads up to 3; update Settee to open it',
    );
  });
});

test('a file of format 1 is converted to this format, and its owners are fenced', async () => {
  const raw = await rawConnection('settee:file', 1, ['pages', 'journal', 'head']);
  const transaction = raw.transaction(['journal', 'head'], 'readwrite');
  transaction.objectStore('head').put(1, 'epoch');
  transaction.objectStore('head').put('first', 'head');
  transaction.objectStore('journal').add(1, 1);
  transaction.objectStore('journal').add('two', 2);
  await new Promise((resolve) => {
    transaction.oncomplete = resolve;
  });
  raw.close();
  const stale = await createStore().open('file', 'open');
  expect(stale.opening).toEqual({ epoch: 2, head: 'first', journal: [{ number: 2, text: 'two' }], nextJournal: 4 });
  await createStore().open('file', 'open');
  await rejects('storage_fenced', () => stale.commit(relaxed({ head: 'second' })));
});
