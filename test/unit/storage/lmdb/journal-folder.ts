/** LMDB stores with journals in segments, and what a process that dies leaves of them. */
import { readdirSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type JournalFunctions, systemFunctions } from '../../../../src/storage/lmdb/journal-file.ts';
import type { LmdbOptions } from '../../../../src/storage/lmdb/lmdb-page-store.ts';
import type { Commit, PageFile, PageStore } from '../../../../src/storage/page-store.ts';
import { relaxed, storedContent } from '../../../conformance/storage/expectations.ts';
import { createStore as createStoreIn, folder } from './stores.ts';

export function createStore({
  path = join(folder, 'now'),
  ...options
}: { path?: string } & LmdbOptions = {}): PageStore {
  return createStoreIn(path, options);
}

export function created(functions: Partial<JournalFunctions> = {}): Promise<PageFile> {
  return createStore({ functions: { ...systemFunctions, ...functions } }).open('file', 'create');
}

export function append(number: number, text = `r${number}`): Commit {
  return relaxed({ journal: { number, text } });
}

/** A record that goes through LMDB, since it comes with a page. */
export function appendWithPage(number: number): Commit {
  return relaxed({ journal: { number, text: `p${number}` }, writePages: [{ number: 2 * number, value: 'page' }] });
}

export async function appendAll(file: PageFile, numbers: readonly number[]): Promise<void> {
  for (const number of numbers) await file.commit(append(number));
}

/** The store as a process that dies now leaves it. */
export async function leftBehind(name = 'then'): Promise<{ readonly store: PageStore; readonly inside: string }> {
  const path = join(folder, name);
  await rm(path, { recursive: true, force: true });
  await cp(join(folder, 'now'), path, { recursive: true });
  return { store: createStore({ path }), inside: join(path, 'file') };
}

export const inside = (): string => join(folder, 'now', 'file');

export function segments(path = inside()): string[] {
  return readdirSync(path)
    .filter((name) => name.endsWith('.log'))
    .sort();
}

export async function journalIn(store: PageStore): Promise<string[]> {
  return (await storedContent(store, 'file')).journal.map(([number, text]) => `${number}:${text}`);
}

export async function openedJournal(): Promise<string[]> {
  return journalIn((await leftBehind()).store);
}

export function failure(code: string): Error {
  return Object.assign(new Error('it broke'), { code });
}
