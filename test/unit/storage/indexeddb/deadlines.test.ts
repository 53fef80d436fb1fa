import { describe, expect, test, vi } from 'vitest';
import { earlyCommitsFor } from '../../../../src/storage/indexeddb/write-transaction.ts';
import type { Commit, PageFile } from '../../../../src/storage/page-store.ts';
import { allPages, rejects, relaxed, storedContent } from '../../../conformance/storage/expectations.ts';
import { patient } from '../../../support/patience.ts';
import { abortAs, createStore, hold, prepared, rawConnection, spyOnTransactions, useIndexedDb } from './stores.ts';

useIndexedDb();

/** Deadlines of reads: one that tests wait for, and one that no test reaches. What is not blocked must meet the short one, too, on a busy machine. */
const SHORT_MS = 1_000;
const LONG_MS = 60_000;

describe('deadlines', () => {
  test("a blocked commit that wasn't sent fails with storage_blocked, changes nothing, and works later", async () => {
    const file = await prepared(createStore(SHORT_MS, 'none'));
    const raw = await rawConnection('settee:file');
    const held = hold(raw, ['pages', 'journal', 'head']);
    await rejects('storage_blocked', () => file.commit(relaxed({ head: 'late', dropPages: [2] })));
    const journal = { number: 2, text: 'late' };
    await rejects('storage_blocked', () => file.commit(relaxed({ journal, head: 'late' })));
    await held.release();
    raw.close();
    await file.commit(relaxed({ journal: { number: 2, text: 'on time' } }));
    expect(await storedContent(createStore(), 'file')).toEqual({
      head: 'first',
      journal: [[2, 'on time']],
      pages: [[2, 'two']],
    });
  });

  test('a commit waits three times as long as a read', async () => {
    const file = await prepared(createStore(SHORT_MS, 'none'));
    const raw = await rawConnection('settee:file');
    const held = hold(raw, ['pages', 'journal', 'head']);
    const commit = file.commit(relaxed({ head: 'late' }));
    await rejects('storage_blocked', async () => file.read(2, 'text'));
    await held.release();
    raw.close();
    await commit;
    expect((await storedContent(createStore(), 'file')).head).toBe('late');
  });

  test('a blocked append that was sent is carried out later, and other commits fail with storage_blocked meanwhile', async () => {
    const file = await prepared(createStore(SHORT_MS, 'appends'));
    const raw = await rawConnection('settee:file');
    const held = hold(raw, ['journal']);
    const append = file.commit(relaxed({ journal: { number: 2, text: 'two' } }));
    await rejects('storage_blocked', () => file.commit(relaxed({ truncateJournal: 2 })));
    await held.release();
    raw.close();
    await append;
    expect((await storedContent(createStore(), 'file')).journal).toEqual([[2, 'two']]);
  });

  test('a read that waits behind a commit of its own file has the time of a commit', async () => {
    const file = await prepared(createStore(SHORT_MS, 'appends'));
    const raw = await rawConnection('settee:file');
    const held = hold(raw, ['pages']);
    setTimeout(() => void held.release(), 1.5 * SHORT_MS);
    const commit = file.commit(relaxed({ writePages: [{ number: 3, value: 'three' }] }));
    const read = file.read(2, 'text');
    await commit;
    expect(await read).toBe('two');
    raw.close();
  });

  const append: Commit = relaxed({ journal: { number: 2, text: 'two' } });
  const checkpoint: Commit = relaxed({ head: 'second', writePages: [{ number: 3, value: 'three' }], dropPages: [2] });
  test.each([
    { earlyCommits: 'all', what: 'an append', commit: append, expected: 1 },
    { earlyCommits: 'all', what: 'a checkpoint', commit: checkpoint, expected: 1 },
    { earlyCommits: 'appends', what: 'an append', commit: append, expected: 1 },
    { earlyCommits: 'appends', what: 'a checkpoint', commit: checkpoint, expected: 0 },
    { earlyCommits: 'none', what: 'an append', commit: append, expected: 0 },
    { earlyCommits: 'none', what: 'a checkpoint', commit: checkpoint, expected: 0 },
  ] as const)(
    'with early commits "$earlyCommits", $what calls commit() in its own turn $expected times, so that a frozen owner blocks no other',
    async ({ earlyCommits, commit, expected }) => {
      const file = await prepared(createStore(LONG_MS, earlyCommits));
      const transactions = spyOnTransactions();
      const commits = vi.spyOn(IDBTransaction.prototype, 'commit');
      const done = file.commit(commit);
      // Pages of an earlier epoch are looked up first; these are of no epoch.
      if (commit === checkpoint) await vi.waitFor(() => expect(transactions).toHaveLength(2), patient);
      expect(commits).toHaveBeenCalledTimes(expected);
      await done;
    },
  );

  test('a read calls commit() in its own turn', async () => {
    const file = await prepared(createStore(LONG_MS, 'appends'));
    const commits = vi.spyOn(IDBTransaction.prototype, 'commit');
    const read = file.read(2, 'text');
    await Promise.resolve();
    expect(commits).toHaveBeenCalledOnce();
    expect(await read).toBe('two');
  });

  test('an aborted transaction without a reason is reported as fenced if another owner is current', async () => {
    const stale = await prepared(createStore(LONG_MS, 'appends'));
    await createStore().open('file', 'open');
    const original = IDBObjectStore.prototype.add;
    vi.spyOn(IDBObjectStore.prototype, 'add').mockImplementationOnce(function (this: IDBObjectStore, value, key) {
      const request = original.call(this, value, key);
      request.addEventListener('error', () => abortAs(this.transaction, 'AbortError'));
      return request;
    });
    await rejects('storage_fenced', () => stale.commit(append));
  });

  test.each([
    [
      'Chromium',
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
      'all',
    ],
    ['Firefox', 'Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0', 'appends'],
    [
      'Safari',
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15',
      'none',
    ],
    [
      'Chrome on iOS',
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0.0.0 Mobile/15E148 Safari/604.1',
      'none',
    ],
    ['Node', undefined, 'all'],
  ])('early commits are used for the right operations in %s', (_name, userAgent, expected) => {
    expect(earlyCommitsFor(userAgent)).toBe(expected);
  });

  test.each([
    { name: 'a read', run: (file: PageFile) => file.read(2, 'text') },
    { name: 'pageNumbers', run: (file: PageFile) => allPages(file) },
    { name: 'isCurrent', run: (file: PageFile) => file.isCurrent() },
  ])('$name that is blocked fails with storage_blocked, and works later', async ({ run }) => {
    const file = await prepared(createStore(SHORT_MS));
    const raw = await rawConnection('settee:file');
    const held = hold(raw, ['pages', 'head']);
    await rejects('storage_blocked', () => run(file));
    await held.release();
    raw.close();
    await run(file);
  });

  test('a removal that a frozen tab blocks fails with storage_blocked, and happens once the tab releases the file', async () => {
    const store = createStore(SHORT_MS);
    await (await store.open('file', 'create')).close();
    const frozen = await rawConnection('settee:file');
    await rejects('storage_blocked', () => store.destroy('file'));
    frozen.close();
    await createStore(LONG_MS).destroy('file');
    expect(await store.list()).toEqual([]);
  });

  test('a creation that a pending removal blocks fails with storage_blocked, and creates nothing later', async () => {
    const store = createStore(SHORT_MS);
    await (await store.open('file', 'create')).close();
    const frozen = await rawConnection('settee:file');
    await rejects('storage_blocked', () => store.destroy('file'));
    await rejects('storage_blocked', () => store.open('file', 'create'));
    frozen.close();
    await createStore(LONG_MS).destroy('file');
    expect(await store.list()).toEqual([]);
  });

  test('a blocked opening fails with storage_blocked', async () => {
    const store = createStore(SHORT_MS);
    await (await store.open('file', 'create')).close();
    const raw = await rawConnection('settee:file');
    const held = hold(raw, ['journal', 'head']);
    await rejects('storage_blocked', () => store.open('file', 'open'));
    await held.release();
    raw.close();
    await store.open('file', 'open');
  });
});
