import { cp, mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { PageFile } from '../../../../src/storage/page-store.ts';
import { rejects, relaxed } from '../../../conformance/storage/expectations.ts';
import { createStore, folder, prepareClosed, prepared, useStoreFolder } from './stores.ts';

useStoreFolder();

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
