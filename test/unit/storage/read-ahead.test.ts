import './backends.ts';
import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createIndexedDbPageStore } from '../../../src/storage/indexeddb/indexeddb-page-store.ts';
import type { Page, PageFile, PageStore } from '../../../src/storage/page-store.ts';

/** As many as take several rounds of reading ahead. */
const PAGES = 100;

let factory: IDBFactory;
let store: PageStore;
let reads: number[];

beforeEach(() => {
  factory = new IDBFactory();
  store = createStore();
  reads = [];
  const { get } = IDBObjectStore.prototype;
  vi.spyOn(IDBObjectStore.prototype, 'get').mockImplementation(function get_(this: IDBObjectStore, key) {
    if (this.name === 'pages') reads.push(Number(key));
    return get.call(this, key);
  });
});

afterEach(async () => {
  vi.restoreAllMocks();
  await store.close();
});

function createStore(): PageStore {
  return createIndexedDbPageStore({ prefix: 'settee:', indexedDB: factory });
}

/** A file with pages 1 up to `PAGES`, opened anew. */
async function reopened(textOf = (page: number) => `page ${page}`): Promise<PageFile> {
  const created = await store.open('file', 'create');
  const writePages: Page[] = Array.from({ length: PAGES }, (_, index) => ({
    number: index + 1,
    value: textOf(index + 1),
  }));
  await created.commit({ durability: 'relaxed', writePages });
  await created.close();
  return store.open('file', 'open');
}

/** Reads pages of the file one after another, with time for what comes after each. */
async function readApart(file: PageFile, pages: readonly number[]): Promise<void> {
  for (const page of pages) {
    expect(await file.read(page, 'text')).toBe(`page ${page}`);
    await settled();
  }
}

/** Reads so many pages: 10, 20 and so on, with time for what comes after each. */
async function readTens(file: PageFile, count: number): Promise<void> {
  for (let page = 1; page <= count; page++) {
    await file.read(page * 10, 'text');
    await settled();
  }
}

/** Until nothing more is read, however long the reading takes. */
async function settled(): Promise<void> {
  for (let before = -1; before < reads.length; ) {
    before = reads.length;
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

const counted = (): number => new Set(reads).size;

describe('reading ahead in a small file', () => {
  test("doesn't start for two read pages", async () => {
    const file = await reopened();
    await readApart(file, [10, 20]);
    expect(reads).toEqual([10, 20]);
  });

  test('starts with the next pages, and in the end has read all, each once', async () => {
    const file = await reopened();
    await readApart(file, [10, 20, 30]);
    expect(reads.slice(0, 5)).toEqual([10, 20, 30, 31, 32]);
    expect(counted()).toBe(3 + 8);
    await readApart(file, [40]);
    expect(counted()).toBe(3 + 8 + 1 + 16);
    // Each that nobody has asked for, in an order of its own.
    const others = Array.from({ length: PAGES }, (_, index) => ((index * 37) % 101) + 1).filter(
      (page) => page <= PAGES && ![10, 20, 30, 40].includes(page),
    );
    await readApart(file, others);
    expect(counted()).toBe(PAGES);
    expect(reads.length).toBe(PAGES);
  });

  test('keeps a page for one read only, so that a second read reads it again', async () => {
    const file = await reopened();
    await readApart(file, [10, 20, 30, 40]);
    reads.length = 0;
    expect(await file.read(41, 'text')).toBe('page 41');
    expect(reads).toEqual([]);
    expect(await file.read(41, 'text')).toBe('page 41');
    expect(reads[0]).toBe(41);
  });

  test("doesn't keep a page that is dropped", async () => {
    const file = await reopened();
    await readApart(file, [10, 20, 30, 40]);
    await file.commit({ durability: 'relaxed', dropPages: [41, 60] });
    expect(await file.read(41, 'text')).toBeUndefined();
    expect(await file.read(60, 'text')).toBeUndefined();
    expect(await file.read(42, 'text')).toBe('page 42');
  });

  test('never delays a requested page', async () => {
    const file = await reopened();
    await readApart(file, [10, 20]);
    const chain = file.read(30, 'text');
    // As a leaf leads on to a body.
    const next = (async () => {
      await chain;
      return file.read(80, 'text');
    })();
    expect(await next).toBe('page 80');
    expect(reads.slice(0, 4)).toEqual([10, 20, 30, 80]);
  });

  test("doesn't keep a failed read, so that the next request reads the page again", async () => {
    const file = await reopened();
    await readApart(file, [10, 20, 30, 40]);
    const { transaction } = IDBDatabase.prototype;
    let failing = false;
    vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function begin(this: IDBDatabase, ...parts) {
      if (failing) throw new DOMException('made up', 'UnknownError');
      return transaction.apply(this, parts);
    });
    expect(await file.read(70, 'text')).toBe('page 70');
    const before = reads.length;
    failing = true;
    await settled();
    failing = false;
    expect(reads.length).toBe(before);
    expect(await file.read(71, 'text')).toBe('page 71');
    expect(reads[before]).toBe(71);
  });

  test("doesn't start for a file of more than 16 MB", async () => {
    const large = 'x'.repeat(200_000);
    const file = await reopened((page) => `page ${page} ${large}`);
    for (const page of [1, 20, 40, 60, 80, 100]) {
      expect(await file.read(page, 'text')).toBe(`page ${page} ${large}`);
      await settled();
    }
    expect(reads).toEqual([1, 20, 40, 60, 80, 100]);
  });

  test("doesn't start for a file of more than 2,048 pages", async () => {
    const file = await store.open('many', 'create');
    const writePages: Page[] = Array.from({ length: 2_049 }, (_, index) => ({ number: index + 1, value: 'small' }));
    await file.commit({ durability: 'relaxed', writePages });
    await readTens(file, 6);
    expect(reads).toEqual([10, 20, 30, 40, 50, 60]);
  });

  test('keeps at most 8 MB of all files together', async () => {
    const large = 'x'.repeat(150_000);
    const file = await reopened((page) => `page ${page} ${large}`);
    await readTens(file, 10);
    // 8 MB hold 55 pages of 150 kB.
    expect(counted()).toBeGreaterThan(55);
    expect(counted()).toBeLessThanOrEqual(55 + 10);
  });

  test('ends with the file, which releases its pages', async () => {
    const large = 'x'.repeat(150_000);
    const file = await reopened((page) => `page ${page} ${large}`);
    await readTens(file, 10);
    await file.close();
    const again = await store.open('file', 'open');
    reads.length = 0;
    await readTens(again, 5);
    // With no room it would be 5, and here page 50 was there when it was asked for.
    expect(counted()).toBe(4 + 8 + 16);
  });
});
