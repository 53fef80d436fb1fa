import { describe, expect, test } from 'vitest';
import { relaxed } from '../../../conformance/storage/expectations.ts';
import { append, appendAll, created, failure, leftBehind, openedJournal, segments } from './journal-folder.ts';
import { useStoreFolder } from './stores.ts';

useStoreFolder();

describe('a truncation of the journal', () => {
  test('begins a new segment, and removes segments without kept records', async () => {
    const file = await created();
    await appendAll(file, [2, 3, 4]);
    await file.commit(relaxed({ truncateJournal: 4 }));
    expect(segments()).toEqual(['journal-1-2.log']);
    await appendAll(file, [5, 6]);
    expect(segments()).toEqual(['journal-1-2.log', 'journal-1-5.log']);
    expect(await openedJournal()).toEqual(['4:r4', '5:r5', '6:r6']);
    await file.commit(relaxed({ truncateJournal: 5 }));
    expect(segments()).toEqual(['journal-1-5.log']);
    expect(await openedJournal()).toEqual(['5:r5', '6:r6']);
    await file.commit(relaxed({ truncateJournal: 7 }));
    expect(segments()).toEqual([]);
    await file.commit(append(7));
    expect(segments()).toEqual(['journal-1-7.log']);
    expect(await openedJournal()).toEqual(['7:r7']);
  });

  test('followed by a crash lets the next opening remove the segments, whose records are gone', async () => {
    const file = await created({ remove: () => Promise.reject(failure('EACCES')) });
    await appendAll(file, [2, 3]);
    await file.commit(relaxed({ head: 'covers 2 and 3', truncateJournal: 4 }));
    expect(segments()).toEqual(['journal-1-2.log']);
    await appendAll(file, [4]);
    const { store, inside: copy } = await leftBehind();
    const second = await store.open('file', 'open');
    expect(second.opening.journal).toEqual([{ number: 4, text: 'r4' }]);
    expect(second.opening.head).toBe('covers 2 and 3');
    expect(segments(copy)).toEqual(['journal-1-4.log']);
  });

  test("repeated a hundred times with records after each doesn't accumulate segments", async () => {
    const file = await created();
    for (let number = 2; number < 202; number += 2) {
      await appendAll(file, [number, number + 1]);
      await file.commit(relaxed({ truncateJournal: number }));
    }
    expect(segments().length).toBeLessThanOrEqual(2);
    expect(await openedJournal()).toEqual(['200:r200', '201:r201']);
  });
});
