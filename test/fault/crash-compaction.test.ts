import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLmdbPageStore } from '../../src/storage/lmdb/lmdb-page-store.ts';
import type { PageFile } from '../../src/storage/page-store.ts';

const PAGES = 3_000;
/** Drops whose list of freed pages takes LMDB more than a page to write down. */
const DROPPED = 256;

/**
 * After a compacting copy LMDB has no list of free pages at all. lmdb-js 3.5.6 does not survive a transaction there
 * that begins that list with a long one: the process aborts in mdb_page_alloc, or commits fail with MDB_BAD_TXN.
 */
test('a file that was compacted before a crash accepts large drops as its first commits', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'settee-compaction-'));
  const store = createLmdbPageStore(folder);
  const file = await store.open('a', 'create');
  const numbers = await writePages(file);
  await file.compact?.();
  const kept = await dropFirst(file, numbers);
  await file.commit({ durability: 'strict', writePages: [{ number: 2 ** 32 + PAGES + 1, value: 'later' }] });
  for (const number of kept) expect(await file.read(number, 'text')).toBe(textOf(number));
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

async function writePages(file: PageFile): Promise<number[]> {
  const numbers = Array.from({ length: PAGES }, (_, index) => 2 ** 32 + index);
  for (let from = 0; from < PAGES; from += 100) {
    const writePages = numbers.slice(from, from + 100).map((number) => ({ number, value: textOf(number) }));
    await file.commit({ durability: 'relaxed', writePages });
  }
  return numbers;
}

/** Drops two of three, spread over the file. Gives the others. */
async function dropFirst(file: PageFile, numbers: readonly number[]): Promise<number[]> {
  const dropped = numbers.filter((number) => number % 3 !== 0);
  for (let from = 0; from < dropped.length; from += DROPPED) {
    await file.commit({ durability: 'relaxed', dropPages: dropped.slice(from, from + DROPPED) });
  }
  return numbers.filter((number) => number % 3 === 0);
}

function textOf(number: number): string {
  return `${number}-${'v'.repeat((number * 7919) % 30_000)}`;
}
