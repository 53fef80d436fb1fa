import { mkdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openEnvironment } from '../../../../src/storage/lmdb/environment.ts';
import { createLmdbPageStore } from '../../../../src/storage/lmdb/lmdb-page-store.ts';
import { rejects, relaxed } from '../../../conformance/storage/expectations.ts';
import { createStore, folder, prepareClosed, useStoreFolder } from './stores.ts';

useStoreFolder();

/** Changes a bit of some bytes. */
async function flip(path: string, places: (bytes: Buffer) => readonly number[]): Promise<void> {
  const bytes = await readFile(path);
  for (const at of places(bytes)) bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

/** Changes a text wherever it stands, since LMDB leaves former copies of its pages behind. */
function flipAll(path: string, text: string, offset = 2): Promise<void> {
  return flip(path, (bytes) => {
    const places: number[] = [];
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) places.push(at + offset);
    expect(places).not.toEqual([]);
    return places;
  });
}

describe('a damaged data file is refused, with which LMDB would crash or start over', () => {
  test.each([
    { name: 'empty', damage: (path: string) => writeFile(path, '') },
    { name: 'short', damage: (path: string) => writeFile(path, 'hello') },
    { name: 'all zeros', damage: (path: string) => writeFile(path, new Uint8Array(40_960)) },
    { name: 'not LMDB', damage: (path: string) => writeFile(path, 'A'.repeat(40_960)) },
    { name: 'cut off in its second page', damage: (path: string) => truncate(path, 6000) },
    { name: 'cut off after its meta pages', damage: (path: string) => truncate(path, 8192) },
    { name: 'its first meta page is of another transaction', damage: (path: string) => flip(path, () => [152]) },
    {
      name: 'its second meta page is of another transaction',
      damage: (path: string) => flip(path, () => [4096 + 153]),
    },
    { name: 'its first meta page is of another version', damage: (path: string) => flip(path, () => [28]) },
    { name: 'without a journal', damage: (path: string) => flipAll(path, 'journal') },
    { name: 'without pages', damage: (path: string) => flipAll(path, 'pages') },
    { name: 'with another owner', damage: (path: string) => flipAll(path, '"start":') },
    { name: 'with another place of truncation', damage: (path: string) => flipAll(path, '"truncated":', 12) },
  ])('is refused if it is $name', async ({ damage }) => {
    await prepareClosed();
    await damage(join(folder, 'file', 'data-1.mdb'));
    await rejects('storage_corrupt', () => createStore().open('file', 'open'));
  });

  test('is refused if it is missing', async () => {
    await mkdir(join(folder, 'file'));
    await rejects('storage_corrupt', () => createStore().open('file', 'open'));
  });
});

test('reading where LMDB finds damage fails with storage_corrupt', async () => {
  const pages = Array.from({ length: 200 }, (_, n) => ({ number: n + 1, value: `page ${n + 1};`.padEnd(500, '.') }));
  const written = await createStore().open('file', 'create');
  await written.commit(relaxed({ head: 'head', writePages: pages }));
  await written.close();
  const path = join(folder, 'file', 'data-1.mdb');
  const bytes = await readFile(path);
  const hit = bytes.lastIndexOf('page 100;');
  bytes.fill(0, hit - (hit % 4096), hit - (hit % 4096) + 4096);
  await writeFile(path, bytes);
  const file = await createStore().open('file', 'open');
  await rejects('storage_corrupt', async () => file.read(100, 'text'));
  await rejects('storage_corrupt', async () => file.read(100, 'bytes'));
  await rejects('storage_corrupt', async () => file.readRange?.(100, 0, 5));
  expect(await file.read(1, 'text')).toBe(pages[0]?.value);
  await rejects('storage_corrupt', async () => {
    for await (const _ of file.pageNumbers(100));
  });
});

test('a store that checks everything refuses a file with any damage to its structure, and no intact one', async () => {
  const pages = Array.from({ length: 400 }, (_, n) => ({ number: n + 1, value: `page ${n + 1};`.padEnd(500, '.') }));
  const large = { number: 401, value: 'large'.repeat(5_000) };
  const written = await createStore().open('file', 'create');
  await written.commit(relaxed({ head: 'head', writePages: [...pages, large] }));
  await written.commit(relaxed({ dropPages: [100, 101, 102, 103, 104, 105, 106, 107, 108] }));
  await written.close();
  const path = join(folder, 'file', 'data-1.mdb');
  const sound = await readFile(path);
  const thorough = () => createLmdbPageStore(folder, { checksWholly: true });
  const size = 4096;
  const isPage = (kind: number) => (n: number) => sound.readUInt16LE(size * n + 18) === kind;
  const numbers = Array.from({ length: sound.length / size - 2 }, (_, n) => n + 2);
  const [branch = 0] = numbers.filter(isPage(1));
  const [leaf = 0] = numbers.filter((n) => isPage(2)(n) && sound.includes('page 200;', size * n));
  const [overflow = 0] = numbers.filter(isPage(4));
  expect([branch, leaf, overflow]).not.toContain(0);
  for (const at of [
    ...[0, 9, 18, 20, 22, 24, 25].map((offset) => size * branch + offset),
    ...[1, 8, 19, 21, 23, 26].map((offset) => size * leaf + offset),
    ...[0, 18, 20].map((offset) => size * overflow + offset),
  ]) {
    const bytes = Buffer.from(sound);
    bytes[at] = (bytes[at] ?? 0) ^ 0x41;
    await writeFile(path, bytes);
    await rejects('storage_corrupt', () => thorough().open('file', 'open'), `byte ${at % size} of page ${at / size}`);
  }
  await writeFile(path, sound);
  const store = thorough();
  expect((await (await store.open('file', 'open')).read(401, 'text'))?.length).toBe(25_000);
  await store.close();
});

test('a value that became shorter in its transaction keeps its pages, which is not damage', async () => {
  await prepareClosed();
  const path = join(folder, 'file', 'data-1.mdb');
  const environment = await openEnvironment('file', path);
  environment.root.transactionSync(() => {
    environment.bytes.putSync(7, Buffer.alloc(40_000, 'a'));
    environment.bytes.putSync(7, Buffer.alloc(10_000, 'b'));
  });
  await environment.root.close();
  const file = await createLmdbPageStore(folder, { checksWholly: true }).open('file', 'open');
  expect(await file.read(7, 'text')).toBe('b'.repeat(10_000));
  await file.close();
});
