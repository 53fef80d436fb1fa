import { copyFile, cp, mkdir, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { commitAs, enqueueMove, openEnvironment } from '../../../src/storage/lmdb/environment.ts';
import { toDatabaseError } from '../../../src/storage/lmdb/lmdb-errors.ts';
import { createLmdbPageStore } from '../../../src/storage/lmdb/lmdb-page-store.ts';
import type { PageFile, PageStore } from '../../../src/storage/page-store.ts';
import { rejects, relaxed, storedContent } from '../../conformance/storage/expectations.ts';
import { ThreadTime } from '../../support/thread-time.ts';
import { temporaryFolder } from './backends.ts';

let folder: string;
let stores: PageStore[];

beforeEach(async () => {
  folder = await temporaryFolder();
  stores = [];
});

afterEach(async () => {
  for (const store of stores) await store.close();
  await rm(folder, { recursive: true, force: true });
});

function createStore(path = folder): PageStore {
  const store = createLmdbPageStore(path);
  stores.push(store);
  return store;
}

const CONTENT = { head: 'head', journal: [[2, 'two']], pages: [[2, 'page']] };

async function prepared(store: PageStore): Promise<PageFile> {
  const file = await store.open('file', 'create');
  const journal = { number: 2, text: 'two' };
  await file.commit(relaxed({ journal, head: 'head', writePages: [{ number: 2, value: 'page' }] }));
  return file;
}

async function prepareClosed(): Promise<void> {
  await (await prepared(createStore())).close();
}

describe('the LMDB folder', () => {
  test('is created with the first file, and a missing folder has no files', async () => {
    const store = createStore(join(folder, 'not', 'yet'));
    expect(await store.list()).toEqual([]);
    await store.open('file', 'create');
    expect(await store.list()).toEqual(['file']);
  });

  test.skipIf(process.platform === 'win32')(
    'has lock files without holes, with which a full disk would crash the process',
    async () => {
      await prepared(createStore());
      const { size, blocks } = await stat(join(folder, 'file', 'data-1.mdb-lock'));
      expect(blocks * 512).toBeGreaterThanOrEqual(size);
      expect((await readdir(join(folder, 'file'))).filter((name) => name.includes('-lock'))).toEqual([
        'data-1.mdb-lock',
      ]);
    },
  );

  test('has an interrupted removal finished', async () => {
    await prepareClosed();
    await cp(join(folder, 'file'), join(folder, '_doomed.1'), { recursive: true });
    expect(await createStore().list()).toEqual(['file']);
    expect(await readdir(folder)).toEqual(['file']);
  });

  test('has an interrupted creation removed, unless it could be in progress', async () => {
    for (const name of ['_new.old', '_new.young']) {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, 'data-1.mdb'), 'half');
    }
    const twoMinutesAgo = new Date(Date.now() - 120_000);
    await utimes(join(folder, '_new.old'), twoMinutesAgo, twoMinutesAgo);
    expect(await createStore().list()).toEqual([]);
    expect(await readdir(folder)).toEqual(['_new.young']);
  });

  test('has nothing left of a destroyed file or a failed creation', async () => {
    const store = createStore();
    await prepared(store);
    await rejects('storage_exists', () => createStore().open('file', 'create'));
    expect(await readdir(folder)).toEqual(['file']);
    await store.destroy('file');
    expect(await readdir(folder)).toEqual([]);
  });

  test('removed by hand makes commits, size and isCurrent fail with storage_deleted', async () => {
    const store = createStore();
    for (const [name, run] of [
      ['a', (file: PageFile) => file.commit(relaxed({ head: 'lost' }))],
      ['b', (file: PageFile) => file.size()],
      ['c', (file: PageFile) => file.isCurrent()],
      ['d', (file: PageFile) => file.compact?.()],
    ] as const) {
      const file = await store.open(name, 'create');
      await rm(join(folder, name), { recursive: true });
      await rejects('storage_deleted', () => run(file), name);
      await rejects('storage_deleted', () => file.read(2, 'text'));
    }
  });
});

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

describe('long texts in LMDB', () => {
  const text = 'a character takes up to 4 bytes: ü€😀 '.repeat(60_000);
  const long = { number: 2, text };
  const pages = [
    { number: 2, value: text.slice(0, 1_000_000) },
    { number: 3, value: new Uint8Array(100).fill(7) },
    { number: 4, value: text.slice(1_000_000, 1_900_000) },
  ];

  test('are stored unchanged', async () => {
    const file = await createStore().open('file', 'create');
    await file.commit(relaxed({ journal: long, writePages: pages }));
    await file.close();
    const reopened = await createStore().open('file', 'open');
    expect(reopened.opening.journal).toEqual([long]);
    expect(await reopened.read(2, 'text')).toBe(pages[0]?.value);
    expect(await reopened.read(3, 'bytes')).toEqual(pages[1]?.value);
    expect(await reopened.read(4, 'text')).toBe(pages[2]?.value);
  });

  test('let other work have turns while they are encoded', async () => {
    const file = await createStore().open('file', 'create');
    // Takes more than one turn on any machine.
    const { longest, all } = await turnsOf(file.commit(relaxed({ journal: { number: 2, text: text.repeat(30) } })));
    // Of processor time. In one go it would be more than half of it.
    expect(longest).toBeLessThan(0.45 * all);
  });
});

/** Processor time of this thread until the work is done: of the longest turn, and of all. */
async function turnsOf(work: Promise<unknown>): Promise<{ readonly longest: number; readonly all: number }> {
  const time = new ThreadTime();
  try {
    const begun = time.ms();
    let longest = 0;
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    work.then(end, end);
    for (let last = time.ms(); !isOver; last = time.ms()) {
      await turn();
      longest = Math.max(longest, time.ms() - last);
    }
    await work;
    return { longest, all: time.ms() - begun };
  } finally {
    time.close();
  }
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

describe('an interrupted compaction', () => {
  const data = (generation: number): string => join(folder, 'file', `data-${generation}.mdb`);

  test('leaves the old generation in place while copying', async () => {
    await prepareClosed();
    await writeFile(`${data(2)}.part`, 'half');
    expect(await storedContent(createStore(), 'file')).toEqual(CONTENT);
    expect((await readdir(join(folder, 'file'))).sort()).toEqual(['data-1.mdb', 'data-1.mdb-lock']);
  });

  test('leaves the old generation in place after copying, with later writes', async () => {
    await prepareClosed();
    await copyFile(data(1), data(2));
    const store = createStore();
    const file = await store.open('file', 'open');
    await file.commit(relaxed({ head: 'since' }));
    await file.close();
    expect((await storedContent(createStore(), 'file')).head).toBe('since');
    expect((await readdir(join(folder, 'file'))).sort()).toEqual(['data-1.mdb', 'data-1.mdb-lock']);
  });

  test('leaves the new generation in place after the move', async () => {
    await prepareClosed();
    await copyFile(data(1), data(2));
    const old = await openEnvironment('file', data(1));
    expect(await commitAs(old, 1, () => enqueueMove(old, 1, 2))).toBe(true);
    await old.root.close();
    expect(await storedContent(createStore(), 'file')).toEqual(CONTENT);
    expect((await readdir(join(folder, 'file'))).sort()).toEqual(['data-2.mdb', 'data-2.mdb-lock']);
  });
});

describe('compaction and backup', () => {
  test('compaction shortens the data file and leaves one generation', async () => {
    const file = await prepared(createStore());
    const pages = Array.from({ length: 300 }, (_, index) => 100 + 2 * index);
    await file.commit(relaxed({ writePages: pages.map((number) => ({ number, value: 'x'.repeat(8160) })) }));
    await file.commit(relaxed({ dropPages: pages }));
    expect(await file.size()).toBeGreaterThan(300 * 8192);
    await file.compact?.();
    expect(await file.size()).toBeLessThan(100_000);
    expect((await stat(join(folder, 'file', 'data-2.mdb'))).size).toBe(await file.size());
    expect((await readdir(join(folder, 'file'))).sort()).toEqual(['data-2.mdb', 'data-2.mdb-lock']);
    await file.close();
    expect(await storedContent(createStore(), 'file')).toEqual(CONTENT);
  });

  test('a compacted file can free most of its pages at once', async () => {
    const file = await prepared(createStore());
    const pages = Array.from({ length: 1_500 }, (_, index) => 100 + index);
    for (let from = 0; from < pages.length; from += 250) {
      const some = pages.slice(from, from + 250);
      await file.commit(
        relaxed({ writePages: some.map((number) => ({ number, value: 'x'.repeat(8000 + (number % 7)) })) }),
      );
    }
    await file.commit(relaxed({ dropPages: pages.filter((number) => number % 3 === 0) }));
    await file.compact?.();
    const kept = pages.filter((number) => number % 3 !== 0);
    for (let from = 0; from < kept.length; from += 256) {
      await file.commit(relaxed({ dropPages: kept.slice(from, from + 256) }));
    }
    await file.close();
    expect(await storedContent(createStore(), 'file')).toEqual(CONTENT);
  });

  test('compaction moves nothing if another owner opens the file meanwhile', async () => {
    const file = await prepared(createStore());
    const refused = rejects('storage_fenced', () => file.compact?.());
    const other = await createStore().open('file', 'open');
    await refused;
    await other.commit(relaxed({ head: 'other' }));
    await other.close();
    expect((await storedContent(createStore(), 'file')).head).toBe('other');
    expect((await readdir(join(folder, 'file'))).sort()).toEqual(['data-1.mdb', 'data-1.mdb-lock']);
  });

  test('several simultaneous compactions are one', async () => {
    const file = await prepared(createStore());
    await Promise.all([file.compact?.(), file.compact?.(), file.compact?.()]);
    expect((await readdir(join(folder, 'file'))).sort()).toEqual(['data-2.mdb', 'data-2.mdb-lock']);
    await file.commit(relaxed({ head: 'after' }));
  });

  test('a backup is a folder that works as a file, and the source still works', async () => {
    const file = await prepared(createStore());
    const target = join(folder, 'backups', 'file');
    await file.backup?.(target);
    await file.commit(relaxed({ head: 'later' }));
    expect(await storedContent(createStore(join(folder, 'backups')), 'file')).toEqual(CONTENT);
    await rejects('storage_exists', () => file.backup?.(target));
    expect(await storedContent(createStore(join(folder, 'backups')), 'file')).toEqual(CONTENT);
  });
});

describe('errors of LMDB and the system', () => {
  test.each(['MDB_PAGE_NOTFOUND: Requested page not found', 'MDB_INCOMPATIBLE: Operation and DB incompatible'])(
    '"%s" is reported as storage_corrupt, with a code or without',
    async (message) => {
      const named = await toDatabaseError(new Error(message), 'file', 'copying it', folder);
      expect(named).toMatchObject({
        code: 'storage_corrupt',
        reason: expect.stringContaining('restore it from a backup'),
      });
    },
  );

  const failure = (code: string | number): Error => Object.assign(new Error('it broke'), { code });

  test.each([
    { code: 'ENOSPC', expected: 'storage_full' },
    { code: 28, expected: 'storage_full' },
    { code: 'EDQUOT', expected: 'storage_full' },
    { code: -30792, expected: 'storage_full' },
    { code: -30796, expected: 'storage_corrupt' },
    { code: 5, expected: 'storage_failed' },
    { code: 'EACCES', expected: 'storage_failed' },
  ] as const)('$code is reported as $expected, also as the reason of a failed commit', async ({ code, expected }) => {
    const commitError = Promise.reject(failure(code));
    commitError.catch(() => undefined);
    for (const error of [failure(code), Object.assign(new Error('Commit failed'), { commitError })]) {
      const named = await toDatabaseError(error, 'file', 'a commit', folder);
      expect(named.code).toBe(expected);
      expect(named.cause).toMatchObject({ code });
    }
  });
});

test('an environment that has been opened before reads each commit right after it', async () => {
  const first = await prepared(createStore());
  for (let number = 3; number < 50; number += 1) {
    await first.commit(relaxed({ writePages: [{ number: 2 * number, value: `${number}` }] }));
    expect(first.read(2 * number, 'text')).toBe(`${number}`);
  }
});
