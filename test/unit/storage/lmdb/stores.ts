/** LMDB stores in a folder, and a file in them. */
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach } from 'vitest';
import { createLmdbPageStore, type LmdbOptions } from '../../../../src/storage/lmdb/lmdb-page-store.ts';
import type { PageFile, PageStore } from '../../../../src/storage/page-store.ts';
import { relaxed } from '../../../conformance/storage/expectations.ts';
import { temporaryFolder } from '../backends.ts';

export let folder: string;
let stores: PageStore[];

/** Gives each test of a file a folder of its own; then closes its stores and removes it. */
export function useStoreFolder(): void {
  beforeEach(async () => {
    folder = await temporaryFolder();
    stores = [];
  });

  afterEach(async () => {
    for (const store of stores) await store.close();
    await rm(folder, { recursive: true, force: true });
  });
}

export function createStore(path = folder, options: LmdbOptions = {}): PageStore {
  const store = createLmdbPageStore(path, options);
  stores.push(store);
  return store;
}

export async function prepared(store: PageStore): Promise<PageFile> {
  const file = await store.open('file', 'create');
  const journal = { number: 2, text: 'two' };
  await file.commit(relaxed({ journal, head: 'head', writePages: [{ number: 2, value: 'page' }] }));
  return file;
}

export async function prepareClosed(): Promise<void> {
  await (await prepared(createStore())).close();
}
