import { expect, test } from 'vitest';
import { createMemoryPageStore, MemoryMedium } from '../../../src/storage/memory-page-store.ts';
import { relaxed, storedContent } from '../../conformance/storage/expectations.ts';

test('a clone of the medium has the state of that moment, and is independent', async () => {
  const medium = new MemoryMedium();
  const file = await createMemoryPageStore({ medium }).open('file', 'create');
  await file.commit(relaxed({ journal: { number: 2, text: 'two' }, head: 'before' }));
  const clone = medium.clone();
  await file.commit(relaxed({ journal: { number: 3, text: 'three' }, writePages: [{ number: 2, value: 'p' }] }));

  const copy = await createMemoryPageStore({ medium: clone }).open('file', 'open');
  expect(copy.opening).toEqual({
    epoch: 2,
    head: 'before',
    journal: [{ number: 2, text: 'two' }],
    nextJournal: 4,
  });
  await copy.commit(relaxed({ head: 'in the clone' }));
  expect(await file.isCurrent()).toBe(true);
  expect(await storedContent(createMemoryPageStore({ medium }), 'file')).toEqual({
    head: 'before',
    journal: [
      [2, 'two'],
      [3, 'three'],
    ],
    pages: [[2, 'p']],
  });
});

test('stores without a medium of their own share no data', async () => {
  await createMemoryPageStore().open('file', 'create');
  expect(await createMemoryPageStore().list()).toEqual([]);
});
