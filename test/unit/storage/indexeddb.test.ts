import './backends.ts';
import { forceCloseDatabase, IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { must } from '../../../src/base/shared/assert.ts';
import { createIndexedDbPageStore } from '../../../src/storage/indexeddb/indexeddb-page-store.ts';
import { type EarlyCommits, earlyCommitsFor } from '../../../src/storage/indexeddb/write-transaction.ts';
import type { Commit, PageFile, PageStore } from '../../../src/storage/page-store.ts';
import { allPages, rejects, relaxed, storedContent } from '../../conformance/storage/expectations.ts';
import { patient } from '../../support/patience.ts';

let factory: IDBFactory;
let stores: PageStore[];

beforeEach(() => {
  factory = new IDBFactory();
  stores = [];
});

afterEach(async () => {
  vi.restoreAllMocks();
  for (const store of stores) await store.close().catch(() => undefined);
});

function createStore(deadlineMs?: number, earlyCommits?: EarlyCommits): PageStore {
  const store = createIndexedDbPageStore({ prefix: 'settee:', indexedDB: factory, deadlineMs, earlyCommits });
  stores.push(store);
  return store;
}

/** A connection as a tab has it that runs no code of ours: it takes no notice of a version change. */
function rawConnection(name: string, version?: number, stores_: readonly string[] = []): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = factory.open(name, version);
    request.onupgradeneeded = () => {
      for (const store of stores_) request.result.createObjectStore(store);
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

interface Held {
  release(): Promise<void>;
}

/** Keeps a write transaction on the stores open, as a frozen tab does, by asking again and again. */
function hold(database: IDBDatabase, names: readonly string[]): Held {
  const transaction = database.transaction([...names], 'readwrite');
  let isHeld = true;
  const ask = (): void => {
    if (isHeld) transaction.objectStore(must(names[0])).get(-1).onsuccess = ask;
  };
  ask();
  return {
    release: () =>
      new Promise((resolve) => {
        isHeld = false;
        transaction.oncomplete = () => resolve();
      }),
  };
}

/** Ends a transaction as the browser does by itself: with an error, which `abort()` leaves it without. */
function abortAs(transaction: IDBTransaction, name: string): void {
  Reflect.get(transaction, '_abort').call(transaction, name);
}

/** Makes the next request of a kind end its transaction as a browser does that has no space left. */
function failNext(method: 'put' | 'add'): void {
  const original = IDBObjectStore.prototype[method];
  vi.spyOn(IDBObjectStore.prototype, method).mockImplementationOnce(function (this: IDBObjectStore, value, key) {
    const request = original.call(this, value, key);
    request.addEventListener('success', () => {
      abortAs(this.transaction, 'QuotaExceededError');
    });
    return request;
  });
}

function spyOnTransactions(): IDBTransaction[] {
  const transactions: IDBTransaction[] = [];
  const original = IDBDatabase.prototype.transaction;
  vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (this: IDBDatabase, ...parameters) {
    const transaction = original.apply(this, parameters);
    transactions.push(transaction);
    return transaction;
  });
  return transactions;
}

/** Takes a transaction's connection away, as a browser does when site data is cleared. */
function forceClose(transaction: IDBTransaction): void {
  Reflect.apply(forceCloseDatabase, undefined, [transaction.db]);
}

async function prepared(store: PageStore): Promise<PageFile> {
  const file = await store.open('file', 'create');
  await file.commit(relaxed({ writePages: [{ number: 2, value: 'two' }], head: 'first' }));
  return file;
}

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

describe('deadlines', () => {
  test("a blocked commit that wasn't sent fails with storage_blocked, changes nothing, and works later", async () => {
    const file = await prepared(createStore(300, 'none'));
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
    const file = await prepared(createStore(400, 'none'));
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
    const file = await prepared(createStore(300, 'appends'));
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
    const file = await prepared(createStore(200, 'appends'));
    const raw = await rawConnection('settee:file');
    const held = hold(raw, ['pages']);
    setTimeout(() => void held.release(), 300);
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
      const file = await prepared(createStore(3000, earlyCommits));
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
    const file = await prepared(createStore(3000, 'appends'));
    const commits = vi.spyOn(IDBTransaction.prototype, 'commit');
    const read = file.read(2, 'text');
    await Promise.resolve();
    expect(commits).toHaveBeenCalledOnce();
    expect(await read).toBe('two');
  });

  test('an aborted transaction without a reason is reported as fenced if another owner is current', async () => {
    const stale = await prepared(createStore(3000, 'appends'));
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
    const file = await prepared(createStore(300));
    const raw = await rawConnection('settee:file');
    const held = hold(raw, ['pages', 'head']);
    await rejects('storage_blocked', () => run(file));
    await held.release();
    raw.close();
    await run(file);
  });

  test('a removal that a frozen tab blocks fails with storage_blocked, and happens once the tab releases the file', async () => {
    const store = createStore(300);
    await (await store.open('file', 'create')).close();
    const frozen = await rawConnection('settee:file');
    await rejects('storage_blocked', () => store.destroy('file'));
    frozen.close();
    await createStore(3000).destroy('file');
    expect(await store.list()).toEqual([]);
  });

  test('a creation that a pending removal blocks fails with storage_blocked, and creates nothing later', async () => {
    const store = createStore(300);
    await (await store.open('file', 'create')).close();
    const frozen = await rawConnection('settee:file');
    await rejects('storage_blocked', () => store.destroy('file'));
    await rejects('storage_blocked', () => store.open('file', 'create'));
    frozen.close();
    await createStore(3000).destroy('file');
    expect(await store.list()).toEqual([]);
  });

  test('a blocked opening fails with storage_blocked', async () => {
    const store = createStore(300);
    await (await store.open('file', 'create')).close();
    const raw = await rawConnection('settee:file');
    const held = hold(raw, ['journal', 'head']);
    await rejects('storage_blocked', () => store.open('file', 'open'));
    await held.release();
    raw.close();
    await store.open('file', 'open');
  });
});

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

test('claims do not accumulate, and a stale owner still finds its successor', async () => {
  const store = createStore();
  const first = await store.open('file', 'create');
  await first.commit(relaxed({ truncateJournal: 2 }));
  await first.close();
  let stale: PageFile | undefined;
  for (let opening = 2; opening <= 3200; opening += 1) {
    const file = await store.open('file', 'open');
    await file.commit({ durability: 'strict', truncateJournal: file.opening.nextJournal });
    if (opening === 2500) stale = file;
    else await file.close();
  }
  const last = await createStore().open('file', 'open');
  expect(last.opening.epoch).toBe(3201);
  expect(last.opening.journal).toEqual([]);
  const staleNext = must(stale).opening.nextJournal;
  await rejects('storage_fenced', () => must(stale).commit(relaxed({ journal: { number: staleNext, text: 'x' } })));
  const raw = await rawConnection('settee:file');
  const count = await new Promise<number>((resolve) => {
    const request = raw.transaction('journal').objectStore('journal').count();
    request.onsuccess = () => resolve(request.result);
  });
  raw.close();
  expect(count).toBeLessThanOrEqual(2 * 1024 + 129);
});

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
