import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type JournalFunctions, systemFunctions } from '../../../../src/storage/lmdb/journal-file.ts';
import { rejects, relaxed, storedContent } from '../../../conformance/storage/expectations.ts';
import {
  append,
  appendWithPage,
  created,
  createStore,
  failure,
  inside,
  journalIn,
  leftBehind,
  openedJournal,
} from './journal-folder.ts';
import { folder, useStoreFolder } from './stores.ts';

useStoreFolder();

describe('a disk that fails', () => {
  /** Takes `room` bytes, then nothing more. */
  function limited(room: number): { readonly disk: { room: number }; readonly functions: Partial<JournalFunctions> } {
    const disk = { room };
    const write: JournalFunctions['write'] = (descriptor, bytes, offset) => {
      if (disk.room === 0) throw failure('ENOSPC');
      const taken = systemFunctions.write(descriptor, bytes.subarray(0, offset + disk.room), offset);
      disk.room -= taken;
      return taken;
    };
    return { disk, functions: { write } };
  }

  test('by being full loses only the record, whose written part is removed, and works once there is room', async () => {
    for (let room = 18; room < 36; room += 1) {
      const name = `room-${room}`;
      const { disk, functions } = limited(room);
      const store = createStore({ functions: { ...systemFunctions, ...functions } });
      const file = await store.open(name, 'create');
      await file.commit(append(2));
      await rejects('storage_full', () => file.commit(append(3)));
      await rejects('storage_full', () => file.commit({ ...append(3), durability: 'strict' }));
      expect(statSync(join(folder, 'now', name, 'journal-1-2.log')).size).toBe(18);
      disk.room = 1000;
      await file.commit(append(3, 'at last'));
      await file.close();
      const { journal } = await storedContent(store, name);
      expect(journal).toEqual([
        [2, 'r2'],
        [3, 'at last'],
      ]);
    }
  });

  test('by being full when a segment is created fails the commit', async () => {
    let isFull = true;
    const file = await created({
      create: (path) => {
        if (isFull) throw failure('ENOSPC');
        return systemFunctions.create(path);
      },
    });
    await rejects('storage_full', () => file.commit(append(2)));
    isFull = false;
    await file.commit(append(2));
    expect(await openedJournal()).toEqual(['2:r2']);
  });

  test('by not removing a written part fails the journal, and the next opening cuts it off', async () => {
    const { disk, functions } = limited(25);
    const file = await created({
      ...functions,
      truncate: () => {
        throw failure('EIO');
      },
    });
    await file.commit(append(2));
    await rejects('storage_full', () => file.commit(append(3)));
    disk.room = 1000;
    await rejects('storage_failed', () => file.commit(append(3)));
    await rejects('storage_failed', () => file.commit(appendWithPage(3)));
    expect(statSync(join(inside(), 'journal-1-2.log')).size).toBe(25);
    const { store } = await leftBehind();
    const second = await store.open('file', 'open');
    expect(second.opening.journal).toEqual([{ number: 2, text: 'r2' }]);
    await second.commit(append(4));
    await second.close();
    expect(await journalIn(store)).toEqual(['2:r2', '4:r4']);
  });

  test('by a failed sync acknowledges nothing, and fails the journal', async () => {
    const file = await created({ sync: () => Promise.reject(failure('EIO')) });
    await file.commit(append(2));
    await rejects('storage_failed', () => file.commit({ ...append(3), durability: 'strict' }));
    await rejects('storage_failed', () => file.commit(append(4)));
    await rejects('storage_failed', () => file.commit(relaxed({ head: 'head' })));
    await file.close();
    expect((await storedContent(createStore(), 'file')).head).toBeUndefined();
  });

  // As file systems do that find room for what was written only later.
  test('by being full at a sync is not a refusal, as the record may come back', async () => {
    const file = await created({ sync: () => Promise.reject(failure('ENOSPC')) });
    await rejects('storage_failed', () => file.commit({ ...append(2), durability: 'strict' }));
    await file.close();
    expect(await journalIn(createStore())).toEqual(['2:r2']);
  });
});
