/** Stores on a fake IndexedDB, and what browsers and other tabs do to their databases. */
import '../backends.ts';
import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, vi } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { createIndexedDbPageStore } from '../../../../src/storage/indexeddb/indexeddb-page-store.ts';
import type { EarlyCommits } from '../../../../src/storage/indexeddb/write-transaction.ts';
import type { PageFile, PageStore } from '../../../../src/storage/page-store.ts';
import { relaxed } from '../../../conformance/storage/expectations.ts';

export let factory: IDBFactory;
let stores: PageStore[];

/** Gives each test of a file an IndexedDB of its own, and closes its stores. */
export function useIndexedDb(): void {
  beforeEach(() => {
    factory = new IDBFactory();
    stores = [];
  });

  afterEach(async () => {
    vi.restoreAllMocks();
    for (const store of stores) await store.close().catch(() => undefined);
  });
}

export function createStore(deadlineMs?: number, earlyCommits?: EarlyCommits): PageStore {
  const store = createIndexedDbPageStore({ prefix: 'settee:', indexedDB: factory, deadlineMs, earlyCommits });
  stores.push(store);
  return store;
}

/** A connection as a tab has it that runs no code of ours: it takes no notice of a version change. */
export function rawConnection(name: string, version?: number, stores_: readonly string[] = []): Promise<IDBDatabase> {
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
export function hold(database: IDBDatabase, names: readonly string[]): Held {
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
export function abortAs(transaction: IDBTransaction, name: string): void {
  Reflect.get(transaction, '_abort').call(transaction, name);
}

/** Makes the next request of a kind end its transaction as a browser does that has no space left. */
export function failNext(method: 'put' | 'add'): void {
  const original = IDBObjectStore.prototype[method];
  vi.spyOn(IDBObjectStore.prototype, method).mockImplementationOnce(function (this: IDBObjectStore, value, key) {
    const request = original.call(this, value, key);
    request.addEventListener('success', () => {
      abortAs(this.transaction, 'QuotaExceededError');
    });
    return request;
  });
}

export function spyOnTransactions(): IDBTransaction[] {
  const transactions: IDBTransaction[] = [];
  const original = IDBDatabase.prototype.transaction;
  vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (this: IDBDatabase, ...parameters) {
    const transaction = original.apply(this, parameters);
    transactions.push(transaction);
    return transaction;
  });
  return transactions;
}

export async function prepared(store: PageStore): Promise<PageFile> {
  const file = await store.open('file', 'create');
  await file.commit(relaxed({ writePages: [{ number: 2, value: 'two' }], head: 'first' }));
  return file;
}
