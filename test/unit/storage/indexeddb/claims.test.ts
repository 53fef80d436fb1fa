import { expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import type { PageFile } from '../../../../src/storage/page-store.ts';
import { rejects, relaxed } from '../../../conformance/storage/expectations.ts';
import { createStore, rawConnection, useIndexedDb } from './stores.ts';

useIndexedDb();

test('claims do not accumulate, and a stale owner still finds its successor', async () => {
  const store = createStore();
  const first = await store.open('file', 'create');
  await first.commit(relaxed({ truncateJournal: 2 }));
  await first.close();
  let stale: PageFile | undefined;
  for (let opening = 2; opening <= 3200; opening += 1) {
    const file = await store.open('file', 'open');
    await file.commit({ durability: 'strict', truncateJournal: file.opening.nextJournal });
    if (opening === 2500) stale = file;
    else await file.close();
  }
  const last = await createStore().open('file', 'open');
  expect(last.opening.epoch).toBe(3201);
  expect(last.opening.journal).toEqual([]);
  const staleNext = must(stale).opening.nextJournal;
  await rejects('storage_fenced', () => must(stale).commit(relaxed({ journal: { number: staleNext, text: 'x' } })));
  const raw = await rawConnection('settee:file');
  const count = await new Promise<number>((resolve) => {
    const request = raw.transaction('journal').objectStore('journal').count();
    request.onsuccess = () => resolve(request.result);
  });
  raw.close();
  expect(count).toBeLessThanOrEqual(2 * 1024 + 129);
});
