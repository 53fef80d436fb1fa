import { appendFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { RecordEncoder } from '../../../../src/storage/journal-record.ts';
import { rejects, relaxed } from '../../../conformance/storage/expectations.ts';
import { append, appendAll, created, createStore, inside, journalIn, leftBehind, segments } from './journal-folder.ts';
import { useStoreFolder } from './stores.ts';

useStoreFolder();

describe('a stale owner of a journal', () => {
  test('leaves its segment unchanged', async () => {
    const first = await created();
    await appendAll(first, [2]);
    const second = await createStore().open('file', 'open');
    for (const durability of ['relaxed', 'strict'] as const) {
      await rejects('storage_fenced', () => first.commit({ ...append(3), durability }));
    }
    expect(statSync(join(inside(), 'journal-1-2.log')).size).toBe(18);
    await second.commit(append(4));
    await first.close();
    await second.close();
    expect(await journalIn(createStore())).toEqual(['2:r2', '4:r4']);
  });

  test("isn't read beyond its successor's claim, even if it writes later", async () => {
    await appendAll(await created(), [2]);
    const { store, inside: copy } = await leftBehind();
    const second = await store.open('file', 'open');
    await second.commit(append(4));
    await second.close();
    const encoder = new RecordEncoder(crc32);
    for (const number of [3, 4, 5]) {
      appendFileSync(join(copy, 'journal-1-2.log'), encoder.encode({ number, text: 'stale' }));
    }
    writeFileSync(join(copy, 'journal-1-3.log'), encoder.encode({ number: 3, text: 'stale' }));
    for (let round = 0; round < 2; round += 1) expect(await journalIn(store)).toEqual(['2:r2', '4:r4']);
  });

  test('gets storage_fenced if its successor removed its segment', async () => {
    const first = await created();
    await appendAll(first, [2]);
    const second = await createStore().open('file', 'open');
    await second.commit(relaxed({ truncateJournal: 4 }));
    expect(segments()).toEqual([]);
    await rejects('storage_fenced', () => first.commit(append(3)));
  });
});
