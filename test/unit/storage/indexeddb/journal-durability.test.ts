import { describe, expect, test, vi } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { createIndexedDbPageStore } from '../../../../src/storage/indexeddb/indexeddb-page-store.ts';
import { relaxed } from '../../../conformance/storage/expectations.ts';
import { patient } from '../../../support/patience.ts';
import {
  begin,
  closeHandles,
  createGate,
  createStore,
  factory,
  files,
  reopened,
  stores,
  textsInDatabase,
  useJournalFiles,
  Writing,
} from './journal-files.ts';

useJournalFiles();

describe('durability with journal files', () => {
  test.for(['commit', 'close'] as const)('a strict %s copies records from files to IndexedDB', async (how) => {
    const writing = await begin();
    await writing.reachFile();
    await writing.appendMany(3);
    if (how === 'commit') await writing.file.commit({ durability: 'strict' });
    else await writing.file.close();
    expect(await textsInDatabase()).toEqual(writing.texts);
    files.root.folders.clear();
    expect((await reopened()).texts).toEqual(writing.texts);
  });

  test('a strict commit also copies what a previous owner left in files', async () => {
    const writing = await begin();
    await writing.reachFile();
    await writing.appendMany(3);
    const { file } = await reopened();
    await file.commit({ durability: 'strict' });
    files.root.folders.clear();
    expect((await reopened()).texts).toEqual(writing.texts);
  });

  test('a segment is removed after the truncation that frees it is durable', async () => {
    const writing = await begin();
    await writing.reachFile();
    const [segment] = files.paths;
    const order: string[] = [];
    const transaction = IDBDatabase.prototype.transaction;
    vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (this: IDBDatabase, ...call) {
      const made = transaction.apply(this, call);
      const durability = call[2]?.durability;
      made.addEventListener('complete', () => order.push(`${durability} commit`));
      return made;
    });
    files.onOperation = (name) => {
      if (name === 'removeEntry') order.push('removal');
    };
    await writing.file.commit(relaxed({ head: 'head', truncateJournal: writing.next }));
    await vi.waitFor(() => expect(files.paths).not.toContain(segment), patient);
    expect(order).toEqual(['relaxed commit', 'strict commit', 'removal']);
  });

  test("a head doesn't survive without a previous record that it keeps", async () => {
    const writing = await begin();
    await writing.reachFile();
    await writing.appendMany(3);
    await writing.file.commit(relaxed({ head: 'behind them', truncateJournal: writing.next - 2 }));
    // A power cut that takes the files.
    files.root.folders.clear();
    const { texts, file } = await reopened();
    expect(file.opening.head).toBe('behind them');
    expect(texts).toEqual(writing.texts.slice(-2));
  });

  test('closing while a segment is begun leaves no segment and no note of one', async () => {
    const gate = createGate();
    const store = createStore(1, gate.pass);
    const writing = new Writing(await store.open('file', 'create'));
    await writing.appendMany(2);
    await gate.reached;
    const closed = writing.file.close();
    gate.open();
    await closed;
    await store.close();
    const plain = createIndexedDbPageStore({ prefix: 'settee:', indexedDB: factory });
    stores.push(plain);
    expect((await plain.open('file', 'open')).opening.journal.map(({ text }) => text)).toEqual(writing.texts);
    await vi.waitFor(() => expect(files.paths).toEqual([]), patient);
  });

  test('records after a truncation that keeps them are kept', async () => {
    const writing = await begin();
    await writing.reachFile();
    await writing.appendMany(4);
    await writing.file.commit(relaxed({ head: 'head', truncateJournal: writing.next - 2 }));
    await writing.appendMany(3);
    expect((await reopened()).texts).toEqual(writing.texts.slice(-5));
  });

  test('a properly closed file has no segments, and none are looked for when it is opened', async () => {
    const writing = await begin();
    await writing.reachFile();
    await writing.file.commit(relaxed({ head: 'head', truncateJournal: writing.next }));
    await writing.append();
    await writing.file.close();
    expect(files.paths).toEqual([]);
    const asked: string[] = [];
    files.onOperation = (name) => asked.push(name);
    expect((await reopened()).texts).toEqual(writing.texts.slice(-1));
    expect(asked).toEqual([]);
  });

  test('a removed file removes its segments, and a new one of that name has none of them', async () => {
    const writing = await begin();
    await writing.reachFile();
    await must(stores[0]).destroy('file');
    expect(files.paths).toEqual([]);
    const again = new Writing(await createStore().open('file', 'create'));
    await again.append('new');
    expect((await reopened()).texts).toEqual(['new']);
  });

  test('segments of an earlier file of the same name are ignored and removed', async () => {
    const writing = await begin();
    await writing.reachFile();
    const [stranger = ''] = files.paths;
    closeHandles();
    await new Promise((resolve) => {
      factory.deleteDatabase('settee:file').onsuccess = resolve;
    });
    const again = new Writing(await createStore().open('file', 'create'));
    await vi.waitFor(async () => {
      await again.append();
      expect(files.paths).toHaveLength(1);
      expect(files.paths).not.toContain(stranger);
    }, patient);
    await again.appendMany(3);
    expect((await reopened()).texts).toEqual(again.texts);
  });
});
