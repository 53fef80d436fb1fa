import { copyFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commitAs, enqueueMove, openEnvironment } from '../../../../src/storage/lmdb/environment.ts';
import { rejects, relaxed, storedContent } from '../../../conformance/storage/expectations.ts';
import { createStore, folder, prepareClosed, prepared, useStoreFolder } from './stores.ts';

useStoreFolder();

const CONTENT = { head: 'head', journal: [[2, 'two']], pages: [[2, 'page']] };

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
