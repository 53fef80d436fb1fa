import { describe, expect, test } from 'vitest';
import { type JournalFunctions, systemFunctions } from '../../../../src/storage/lmdb/journal-file.ts';
import type { Commit } from '../../../../src/storage/page-store.ts';
import { rejects, relaxed, storedContent } from '../../../conformance/storage/expectations.ts';
import { append, appendAll, appendWithPage, created, failure, leftBehind } from './journal-folder.ts';
import { useStoreFolder } from './stores.ts';

useStoreFolder();

describe('durability of the journal', () => {
  /** What the journal asked for, in order, without looks. */
  function logged(): { readonly log: string[]; readonly functions: Partial<JournalFunctions> } {
    const log: string[] = [];
    return {
      log,
      functions: {
        write: (...all) => {
          log.push('write');
          return systemFunctions.write(...all);
        },
        sync: async (descriptor) => {
          await systemFunctions.sync(descriptor);
          log.push('sync');
        },
        syncFolder: async (path) => {
          await systemFunctions.syncFolder(path);
          log.push('sync folder');
        },
      },
    };
  }

  test('syncs nothing for relaxed appends, and for a strict one the segment, and once its folder', async () => {
    const { log, functions } = logged();
    const file = await created(functions);
    await appendAll(file, [2, 3]);
    expect(log.splice(0)).toEqual(['write', 'write']);
    await file.commit({ ...append(4), durability: 'strict' });
    expect(log.splice(0)).toEqual(['write', 'sync', 'sync folder']);
    await file.commit({ ...append(5), durability: 'strict' });
    expect(log.splice(0)).toEqual(['write', 'sync']);
    await file.commit(append(6));
    await file.commit({ durability: 'strict' });
    expect(log.splice(0)).toEqual(['write', 'sync']);
    await file.commit({ durability: 'strict' });
    expect(log).toEqual([]);
  });

  test.each<{ name: string; commit: Commit; syncs: boolean }>([
    { name: 'a head', commit: relaxed({ head: 'head' }), syncs: true },
    { name: 'a record with a page', commit: appendWithPage(4), syncs: true },
    { name: 'a long record', commit: append(4, 'x'.repeat(70_000)), syncs: true },
    { name: 'a truncation that leaves the last record', commit: relaxed({ truncateJournal: 3 }), syncs: true },
    { name: 'strict pages', commit: { durability: 'strict', writePages: [{ number: 2, value: 'p' }] }, syncs: true },
    { name: 'pages', commit: relaxed({ writePages: [{ number: 2, value: 'p' }], dropPages: [4] }), syncs: false },
    { name: 'a head that covers all', commit: relaxed({ head: 'head', truncateJournal: 4 }), syncs: false },
  ])('$name after records that are not durable: syncs them first? $syncs', async ({ commit, syncs }) => {
    const { log, functions } = logged();
    const file = await created(functions);
    await appendAll(file, [2, 3]);
    log.length = 0;
    await file.commit(commit);
    expect(log).toEqual(syncs ? ['sync', 'sync folder'] : []);
  });

  test('prevents a commit after a failed sync', async () => {
    const file = await created({ sync: () => Promise.reject(failure('EIO')) });
    await appendAll(file, [2]);
    await rejects('storage_failed', () => file.commit(relaxed({ head: 'later' })));
    expect((await storedContent((await leftBehind()).store, 'file')).head).toBeUndefined();
  });

  test('includes all appended records after closing', async () => {
    const { log, functions } = logged();
    const file = await created(functions);
    await appendAll(file, [2]);
    await file.close();
    expect(log).toEqual(['write', 'sync', 'sync folder']);
  });
});
