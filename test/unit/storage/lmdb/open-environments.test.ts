import { readFileSync } from 'node:fs';
import { cp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLmdbPageStore } from '../../../../src/storage/lmdb/lmdb-page-store.ts';
import type { PageFile, PageStore } from '../../../../src/storage/page-store.ts';
import { rejects, relaxed, storedContent } from '../../../conformance/storage/expectations.ts';
import { patient } from '../../../support/patience.ts';
import { temporaryFolder } from '../backends.ts';

/** A store has many files open, and few LMDB environments: those of files that nobody uses are closed, and opened again on use. */
const MAX_OPEN = 3;
const FILES = 8;

let folder: string;
let store: PageStore;
let files: PageFile[];

beforeEach(async () => {
  folder = await temporaryFolder();
  store = createLmdbPageStore(folder, { maxOpenEnvironments: MAX_OPEN });
  files = [];
  for (let n = 0; n < FILES; n++) {
    const file = await store.open(nameOf(n), 'create');
    await file.commit(relaxed({ writePages: [{ number: 2, value: `text ${n}` }] }));
    files.push(file);
  }
});

afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

function nameOf(n: number): string {
  return `file-${n}`;
}

function fileOf(n: number): PageFile {
  const file = files[n];
  if (file === undefined) throw new Error(`there is no file ${n}`);
  return file;
}

/** The first file's environment is one of those that were not used for the longest time. */
async function useOthers(): Promise<void> {
  for (const file of files.slice(1)) await file.read(2, 'text');
}

/** Data files that this process has mapped into its memory: one for each open environment. */
function mappedFiles(): string[] {
  const maps = readFileSync('/proc/self/maps', 'utf8').split('\n');
  const paths = maps.flatMap((line) => (line.endsWith('.mdb') ? line.slice(line.indexOf('/')) : []));
  return [...new Set(paths.filter((path) => path.startsWith(folder)))];
}

describe.skipIf(process.platform !== 'linux')('open LMDB environments', () => {
  test('are limited to the most recently used', async () => {
    await expect.poll(mappedFiles, patient).toHaveLength(MAX_OPEN);
    for (const n of [0, 5, 0, 2, 1]) await fileOf(n).read(2, 'text');
    const expected = [0, 1, 2].map((n) => join(folder, nameOf(n), 'data-1.mdb'));
    await expect.poll(() => mappedFiles().sort(), patient).toEqual(expected);
  });

  test('are limited while more files commit at a time, and some files wait', async () => {
    let areDone = false;
    let most = 0;
    const commits = files.map((file, n) => file.commit(relaxed({ writePages: [{ number: 4, value: `more ${n}` }] })));
    const all = Promise.all(commits).finally(() => {
      areDone = true;
    });
    while (!areDone) {
      await new Promise(setImmediate);
      most = Math.max(most, mappedFiles().length);
    }
    await all;
    expect(files.map((file) => file.read(4, 'text'))).toEqual(files.map((_, n) => `more ${n}`));
    expect(most).toBe(MAX_OPEN);
  });

  test('stay open while they are in use, however many', async () => {
    const compacted = Promise.all(files.map((file) => file.compact?.()));
    await new Promise(setImmediate);
    const used = mappedFiles().length;
    await compacted;
    expect(used).toBe(FILES);
    await expect.poll(mappedFiles, patient).toHaveLength(MAX_OPEN);
    expect(files.map((file) => file.read(2, 'text'))).toEqual(files.map((_, n) => `text ${n}`));
  });

  test('whose commits fail make room for others', async () => {
    const owners = await Promise.all(files.map((_, n) => store.open(nameOf(n), 'open')));
    const commit = relaxed({ writePages: [{ number: 4, value: 'new' }] });
    for (const file of files) await rejects('storage_fenced', () => file.commit(commit));
    await Promise.all(owners.map((file) => file.commit(commit)));
    expect(owners.map((file) => file.read(4, 'text'))).toEqual(owners.map(() => 'new'));
  });

  test('of files that are closed are closed', async () => {
    for (const file of files) await file.close();
    expect(mappedFiles()).toEqual([]);
  });
});

describe('a file whose environment was closed', () => {
  beforeEach(useOthers);

  test('can be read', async () => {
    expect(fileOf(0).read(2, 'text')).toBe('text 0');
    await useOthers();
    expect(fileOf(0).read(4, 'text')).toBeUndefined();
  });

  test('can be written, to its journal and to LMDB, with the result found by the next owner', async () => {
    await fileOf(0).commit(relaxed({ journal: { number: 2, text: 'two' } }));
    await useOthers();
    await fileOf(0).commit(relaxed({ head: 'head', writePages: [{ number: 5, value: new Uint8Array([1, 2]) }] }));
    await useOthers();
    await fileOf(0).commit(relaxed({ journal: { number: 3, text: 'three' }, dropPages: [5] }));
    await useOthers();
    await fileOf(0).close();
    expect(await storedContent(store, nameOf(0))).toEqual({
      head: 'head',
      journal: [
        [2, 'two'],
        [3, 'three'],
      ],
      pages: [[2, 'text 0']],
    });
  });

  test('can be compacted and copied', async () => {
    await fileOf(0).compact?.();
    await useOthers();
    await fileOf(0).commit(relaxed({ journal: { number: 2, text: 'two' } }));
    await useOthers();
    await fileOf(0).backup?.(join(folder, 'copy', 'file'));
    const copy = createLmdbPageStore(join(folder, 'copy'));
    const expected = { head: undefined, journal: [[2, 'two']], pages: [[2, 'text 0']] };
    expect(await storedContent(copy, 'file')).toEqual(expected);
    await copy.close();
    await fileOf(0).close();
    expect(await storedContent(store, nameOf(0))).toEqual(expected);
  });

  test('can be taken over by another owner, and is fenced', async () => {
    const later = await store.open(nameOf(0), 'open');
    await useOthers();
    expect(await fileOf(0).isCurrent()).toBe(false);
    await rejects('storage_fenced', () => fileOf(0).commit(relaxed({ journal: { number: 2, text: 'stale' } })));
    await useOthers();
    await rejects('storage_fenced', () => fileOf(0).commit(relaxed({ writePages: [{ number: 4, value: 'stale' }] })));
    expect(later.read(4, 'text')).toBeUndefined();
  });

  test('is storage_deleted if it was removed, and creates no new data file', async () => {
    await rm(join(folder, nameOf(0)), { recursive: true });
    expect(() => fileOf(0).read(2, 'text')).toThrow(expect.objectContaining({ code: 'storage_deleted' }));
    await rejects('storage_deleted', () => fileOf(0).isCurrent());
    await rejects('storage_deleted', () => fileOf(0).commit(relaxed({ writePages: [{ number: 4, value: 'late' }] })));
    expect(await store.list()).not.toContain(nameOf(0));
  });

  test('is storage_deleted if another file is in its place, which stays unchanged', async () => {
    // While the first is still there: some file systems give a new file the inode of one that was just removed.
    const copy = `${folder}-copy`;
    await cp(join(folder, nameOf(1)), copy, { recursive: true });
    await rm(join(folder, nameOf(0)), { recursive: true });
    await rename(copy, join(folder, nameOf(0)));
    expect(() => fileOf(0).read(2, 'text')).toThrow(expect.objectContaining({ code: 'storage_deleted' }));
    await rejects('storage_deleted', () => fileOf(0).commit(relaxed({ writePages: [{ number: 4, value: 'late' }] })));
    expect(await storedContent(store, nameOf(0))).toEqual({ head: undefined, journal: [], pages: [[2, 'text 1']] });
  });
});
