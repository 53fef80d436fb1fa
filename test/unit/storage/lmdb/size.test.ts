import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLmdbPageStore } from '../../../../src/storage/lmdb/lmdb-page-store.ts';
import type { PageStore } from '../../../../src/storage/page-store.ts';
import { relaxed, storedContent } from '../../../conformance/storage/expectations.ts';
import { temporaryFolder } from '../backends.ts';

/** Looks at a data file come only after this, as on a machine whose threads have much to do. */
const slow = vi.hoisted((): { whenLookedAt: Promise<unknown> | undefined } => ({ whenLookedAt: undefined }));

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  return {
    ...original,
    stat: async (path: string) => {
      if (path.endsWith('.mdb')) await slow.whenLookedAt;
      return original.stat(path);
    },
  };
});

let folder: string;
let store: PageStore;

beforeEach(async () => {
  folder = await temporaryFolder();
  store = createLmdbPageStore(folder);
});

afterEach(async () => {
  slow.whenLookedAt = undefined;
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

test('a size requested while a compaction ends is that of the new data, and the file stays open', async () => {
  const file = await store.open('file', 'create');
  await file.commit(relaxed({ head: 'head', writePages: [{ number: 2, value: 'page' }] }));
  let lookAtIt = () => {};
  slow.whenLookedAt = new Promise<void>((resolve) => {
    lookAtIt = resolve;
  });
  const size = file.size();
  slow.whenLookedAt = undefined;
  await file.compact?.();
  lookAtIt();
  expect(await size).toBe(await file.size());
  expect(await storedContent(store, 'file')).toMatchObject({ head: 'head', pages: [[2, 'page']] });
});

test('the size of a file whose folder was removed fails with storage_deleted', async () => {
  const file = await store.open('file', 'create');
  await rm(join(folder, 'file'), { recursive: true });
  await expect(file.size()).rejects.toMatchObject({ code: 'storage_deleted' });
});
