import './backends.ts';
import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createIndexedDbPageStore } from '../../../src/storage/indexeddb/indexeddb-page-store.ts';
import type { EarlyCommits } from '../../../src/storage/indexeddb/write-transaction.ts';
import type { PageFile, PageStore } from '../../../src/storage/page-store.ts';
import { rejects, relaxed } from '../../conformance/storage/expectations.ts';

const PAGES = 20;

let store: PageStore;

beforeEach(() => {
  store = createStore();
});

afterEach(async () => {
  vi.restoreAllMocks();
  await store.close();
});

function createStore(earlyCommits?: EarlyCommits): PageStore {
  return createIndexedDbPageStore({ prefix: 'settee:', indexedDB: new IDBFactory(), earlyCommits });
}

async function prepared(): Promise<PageFile> {
  const file = await store.open('file', 'create');
  const writePages = Array.from({ length: PAGES }, (_, index) => ({ number: index + 1, value: `page ${index + 1}` }));
  await file.commit(relaxed({ writePages }));
  return file;
}

/** One page whose value the browser can't give any more, as where the file that it keeps large values in is gone. */
function breakPage(broken: number, onRead: () => void = () => undefined): void {
  const { get } = IDBObjectStore.prototype;
  vi.spyOn(IDBObjectStore.prototype, 'get').mockImplementation(function get_(this: IDBObjectStore, key) {
    if (this.name !== 'pages' || key !== broken) return get.call(this, key);
    onRead();
    const operation = (): never => {
      throw new DOMException('Failed to read large IndexedDB value', 'DataError');
    };
    return Reflect.get(this.transaction, '_execRequestAsync').call(this.transaction, { source: this, operation });
  });
}

describe.each(['all', 'none'] as const)("a page that can't be read, with early commits: %s", (earlyCommits) => {
  beforeEach(() => {
    store = createStore(earlyCommits);
  });

  test('fails alone, and pages requested in the same turn are read', async () => {
    const file = await prepared();
    breakPage(3);
    const reads = [1, 2, 3, 4, 5].map(async (page) => file.read(page, 'text'));
    const results = await Promise.allSettled(reads);
    const found = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(found).toEqual(['page 1', 'page 2', 'page 4', 'page 5']);
    await rejects('storage_failed', async () => reads[2]);
  });

  test("doesn't affect pages that are read ahead with it", async () => {
    const file = await prepared();
    const asked = new Promise<void>((resolve) => breakPage(10, resolve));
    for (const page of [1, 2, 3]) await file.read(page, 'text');
    const others = Array.from({ length: PAGES }, (_, index) => index + 1).filter((page) => page !== 10);
    await asked;
    const values = await Promise.all(others.map((page) => file.read(page, 'text')));
    expect(values).toEqual(others.map((page) => `page ${page}`));
  });
});
