import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { copyFiles } from '../../../../src/storage/lmdb/folder-copy.ts';
import { rejects, relaxed } from '../../../conformance/storage/expectations.ts';
import {
  append,
  appendAll,
  appendWithPage,
  created,
  createStore,
  inside,
  journalIn,
  leftBehind,
  openedJournal,
} from './journal-folder.ts';
import { folder, useStoreFolder } from './stores.ts';

useStoreFolder();

describe('the journal belongs to its file', () => {
  test('in its size', async () => {
    const file = await created();
    const before = await file.size();
    await file.commit(append(2, 'x'.repeat(984)));
    expect(await file.size()).toBe(before + 1000);
    await file.commit(relaxed({ truncateJournal: 3 }));
    expect(await file.size()).toBe(statSync(join(inside(), 'data-1.mdb')).size);
  });

  test('in a compaction, which keeps it', async () => {
    const file = await created();
    await appendAll(file, [2, 3]);
    await file.compact?.();
    await file.commit(append(4));
    expect(await openedJournal()).toEqual(['2:r2', '3:r3', '4:r4']);
  });

  test('in a backup, which has it and is independent', async () => {
    const file = await created();
    await file.commit(append(2));
    await file.commit(appendWithPage(3));
    await file.commit(append(4));
    await file.backup?.(join(folder, 'backups', 'file'));
    await file.commit(append(5));
    const backups = createStore({ path: join(folder, 'backups') });
    expect(await journalIn(backups)).toEqual(['2:r2', '3:p3', '4:r4']);
    expect(await openedJournal()).toEqual(['2:r2', '3:p3', '4:r4', '5:r5']);
  });

  test('in a copy of a folder in use, with its bytes counted', async () => {
    const file = await created();
    await appendAll(file, [2, 3]);
    const target = join(folder, 'copy');
    const copied = [];
    for await (const one of copyFiles(join(folder, 'now'), target, 'file')) copied.push(one);
    const { size } = statSync(join(target, 'file', 'data-1.mdb'));
    expect(copied).toEqual([{ file: 'file', bytes: size + 36, hasLostWrites: false }]);
    await file.commit(append(4));
    expect(await journalIn(createStore({ path: target }))).toEqual(['2:r2', '3:r3']);
  });

  test('in a copy whose data file is newer, which ends with the journal or with the head', async () => {
    const file = await created();
    await appendAll(file, [2, 3]);
    const early = readFileSync(join(inside(), 'journal-1-2.log'));
    await appendAll(file, [4]);
    await file.commit(appendWithPage(5));
    const { store, inside: copy } = await leftBehind();
    writeFileSync(join(copy, 'journal-1-2.log'), early);
    expect(await journalIn(store)).toEqual(['2:r2', '3:r3']);
    await file.commit(relaxed({ head: 'covers 4', truncateJournal: 5 }));
    const later = await leftBehind('later');
    writeFileSync(join(later.inside, 'journal-1-2.log'), early);
    expect(await journalIn(later.store)).toEqual(['5:p5']);
  });

  test('in a file that is destroyed and recreated, which has none of it', async () => {
    const store = createStore();
    await appendAll(await store.open('file', 'create'), [2, 3]);
    await store.destroy('file');
    const again = await store.open('file', 'create');
    expect(again.opening.journal).toEqual([]);
    await again.commit(append(2, 'new'));
    expect(await openedJournal()).toEqual(['2:new']);
  });

  test('in a folder removed by hand, where appends fail with storage_deleted', async () => {
    for (const hasSegment of [true, false]) {
      const file = await createStore().open('file', 'create');
      if (hasSegment) await file.commit(append(2));
      await rm(inside(), { recursive: true });
      await rejects('storage_deleted', () => file.commit(append(hasSegment ? 3 : 2)));
      await rejects('storage_deleted', () => file.read(2, 'text'));
      await file.close();
    }
  });
});
