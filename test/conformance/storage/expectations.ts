import { assert } from 'chai';
import { type ErrorCode, isDatabaseError } from '../../../src/base/errors/database-error.ts';
import type { Commit, PageFile, PageNumber, PageStore } from '../../../src/storage/page-store.ts';

/** Fails unless `run` throws or rejects with the given code. */
export async function rejects(code: ErrorCode, run: () => unknown, what = 'the operation'): Promise<void> {
  let error: unknown;
  try {
    await run();
  } catch (thrown) {
    error = thrown;
  }
  assert.isDefined(error, `${what} should fail with ${code}`);
  if (!isDatabaseError(error, code)) throw new Error(`${what} should fail with ${code}, not with ${error}`);
  assert.isAbove(error.reason.length, 20, 'the reason says what to do');
}

export function relaxed(parts: Omit<Commit, 'durability'>): Commit {
  return { durability: 'relaxed', ...parts };
}

/** Pages with an odd number hold bytes, the others text, so that a test knows how to read a page. */
export async function readPage(file: PageFile, page: PageNumber): Promise<string | readonly number[] | undefined> {
  if (page % 2 === 0) return file.read(page, 'text');
  const bytes = await file.read(page, 'bytes');
  return bytes === undefined ? undefined : [...bytes];
}

export interface FileContent {
  readonly head: string | undefined;
  readonly journal: readonly (readonly [number: number, text: string])[];
  readonly pages: readonly (readonly [page: PageNumber, value: string | readonly number[] | undefined])[];
}

/** All that a file holds, as its newest owner sees it. */
export async function contentOf(file: PageFile): Promise<FileContent> {
  const pages: FileContent['pages'][number][] = [];
  for await (const batch of file.pageNumbers(0)) {
    for (const page of batch) pages.push([page, await readPage(file, page)]);
  }
  const journal = file.opening.journal.map(({ number, text }) => [number, text] as const);
  return { head: file.opening.head, journal, pages };
}

/** Opens the file anew, reads all of it, and closes it. */
export async function storedContent(store: PageStore, name: string): Promise<FileContent> {
  const file = await store.open(name, 'open');
  const content = await contentOf(file);
  await file.close();
  return content;
}

export async function allPages(file: PageFile, from: PageNumber = 0): Promise<PageNumber[]> {
  const numbers: PageNumber[] = [];
  for await (const batch of file.pageNumbers(from)) numbers.push(...batch);
  return numbers;
}
