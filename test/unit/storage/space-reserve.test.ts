import './backends.ts';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IDBFactory } from 'fake-indexeddb';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createIndexedDbPageStore } from '../../../src/storage/indexeddb/indexeddb-page-store.ts';
import { ReservedDatabases } from '../../../src/storage/indexeddb/reserved-databases.ts';
import { createLmdbPageStore } from '../../../src/storage/lmdb/lmdb-page-store.ts';
import { ReservedFiles } from '../../../src/storage/lmdb/reserved-files.ts';
import { createMemoryPageStore } from '../../../src/storage/memory-page-store.ts';
import type { PageStore } from '../../../src/storage/page-store.ts';
import { withReserve } from '../../../src/storage/reserving-store.ts';
import type { ReservedSpace } from '../../../src/storage/space-reserve.ts';
import { relaxed } from '../../conformance/storage/expectations.ts';
import { patient } from '../../support/patience.ts';
import { Quota } from '../../support/quota-store.ts';

const MEBIBYTE = 2 ** 20;

interface Place {
  readonly space: ReservedSpace;
  readonly store: PageStore;
  remove(): Promise<void>;
}

const places: readonly { readonly name: string; make(): Promise<Place> }[] = [
  {
    name: 'files of a disk',
    make: async () => {
      const folder = await mkdtemp(join(tmpdir(), 'settee-reserve-'));
      const remove = (): Promise<void> => rm(folder, { recursive: true });
      return { space: new ReservedFiles(folder), store: createLmdbPageStore(folder), remove };
    },
  },
  {
    name: 'databases of a browser',
    make: async () => {
      const options = { prefix: 'settee|', indexedDB: new IDBFactory() };
      const store = createIndexedDbPageStore(options);
      return { space: new ReservedDatabases(options), store, remove: async () => undefined };
    },
  },
];

describe.each(places)('reserved space in $name', ({ make }) => {
  let place: Place;

  afterEach(async () => {
    await place.store.close();
    await place.remove();
  });

  test('grows, is released part by part, and is found after a start', async () => {
    place = await make();
    const { space } = place;
    expect(await space.measure()).toEqual({ deletions: undefined, upkeep: undefined });
    await space.grow('deletions', MEBIBYTE);
    // An owner that ends here has given nothing up: its successor writes on.
    expect(await space.measure()).toEqual({ deletions: MEBIBYTE, upkeep: undefined });
    await space.grow('upkeep', 2 * MEBIBYTE);
    await space.grow('upkeep', 3 * MEBIBYTE);
    expect(await space.measure()).toEqual({ deletions: MEBIBYTE, upkeep: 3 * MEBIBYTE });
    await space.release('deletions');
    expect(await space.measure()).toEqual({ deletions: 0, upkeep: 3 * MEBIBYTE });
    await space.release('upkeep');
    await space.release('upkeep');
    expect(await space.measure()).toEqual({ deletions: 0, upkeep: 0 });
    await space.grow('deletions', MEBIBYTE);
    expect(await space.measure()).toEqual({ deletions: MEBIBYTE, upkeep: 0 });
  });

  test('is not listed as a file of the store', async () => {
    place = await make();
    await place.space.grow('deletions', MEBIBYTE);
    await place.store.open('file', 'create');
    await place.space.recount?.();
    expect(await place.store.list()).toEqual(['file']);
  });
});

test('reserved space is taken from the disk', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'settee-reserve-'));
  await new ReservedFiles(folder).grow('deletions', MEBIBYTE);
  for (const name of await readdir(folder)) {
    const { size, blocks } = await stat(join(folder, name));
    expect(size).toBe(MEBIBYTE);
    expect(blocks * 512).toBeGreaterThanOrEqual(MEBIBYTE);
  }
  await rm(folder, { recursive: true });
});

describe('a store with reserved space', () => {
  const page = (number: number, bytes: number) => ({ number, value: new Uint8Array(bytes) });

  /** A store that holds a file with one page of a mebibyte, and has no room but for its reserve. */
  async function filled() {
    const quota = new Quota();
    const store = quota.store(createMemoryPageStore());
    const file = await store.open('file', 'create');
    await file.commit(relaxed({ writePages: [page(1, MEBIBYTE)] }));
    await file.commit(relaxed({ head: 'head', truncateJournal: file.opening.nextJournal, reserve: 'upkeep' }));
    await vi.waitFor(() => expect(quota.reserved).toEqual({ deletions: MEBIBYTE, upkeep: MEBIBYTE }), patient);
    quota.fill();
    return { quota, store, file };
  }

  test('lets upkeep use its own part, and none of the part for deletions', async () => {
    const { quota, file } = await filled();
    await file.commit(relaxed({ writePages: [page(2, MEBIBYTE / 2)], reserve: 'upkeep' }));
    expect(quota.reserved).toEqual({ deletions: MEBIBYTE, upkeep: 0 });
    const large = relaxed({ writePages: [page(3, MEBIBYTE)], reserve: 'upkeep' });
    await expect(file.commit(large)).rejects.toMatchObject({ code: 'storage_full' });
    expect(quota.reserved).toEqual({ deletions: MEBIBYTE, upkeep: 0 });
  });

  test('lets a deletion use the part for deletions, and then that of upkeep', async () => {
    const { quota, file } = await filled();
    await file.commit(relaxed({ writePages: [page(2, MEBIBYTE / 2)], reserve: 'deletions' }));
    expect(quota.reserved).toEqual({ deletions: 0, upkeep: MEBIBYTE });
    expect(file.isScarce).toBe(true);
    await file.commit(relaxed({ writePages: [page(3, MEBIBYTE)], reserve: 'deletions' }));
    expect(quota.reserved).toEqual({ deletions: 0, upkeep: 0 });
  });

  test("lets a file open with the reserve, and doesn't create one with it", async () => {
    const { quota, store, file } = await filled();
    await expect(store.open('second', 'create')).rejects.toMatchObject({ code: 'storage_full' });
    expect(quota.reserved).toEqual({ deletions: MEBIBYTE, upkeep: MEBIBYTE });
    await file.close();
    const reopened = await store.open('file', 'open');
    expect(await reopened.read(1, 'bytes')).toHaveLength(MEBIBYTE);
    expect(quota.reserved).toEqual({ deletions: 0, upkeep: MEBIBYTE });
  });

  test('that is opened for maintenance reserves nothing, and uses what is there', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'settee-reserve-'));
    const store = withReserve(createLmdbPageStore(folder), new ReservedFiles(folder), { grows: false });
    const file = await store.open('file', 'create');
    await file.commit(relaxed({ head: 'head', truncateJournal: file.opening.nextJournal, reserve: 'upkeep' }));
    await store.close();
    expect(await readdir(folder)).toEqual(['file']);
    await rm(folder, { recursive: true });
  });

  test('takes released space back before anything else is written', async () => {
    const { quota, file } = await filled();
    await file.commit(relaxed({ writePages: [page(2, 100)], reserve: 'deletions' }));
    const write = () => file.commit(relaxed({ writePages: [page(3, 100)] }));
    await expect(write()).rejects.toMatchObject({ code: 'storage_full' });
    await file.commit(relaxed({ dropPages: [1], reserve: 'upkeep' }));
    await write();
    expect(quota.reserved).toEqual({ deletions: MEBIBYTE, upkeep: MEBIBYTE });
    expect(file.isScarce).toBe(false);
  });

  test("refuses nothing if space can't be taken back for another reason than lack of room", async () => {
    const { quota, file } = await filled();
    await file.commit(relaxed({ writePages: [page(2, 100)], reserve: 'deletions' }));
    await file.commit(relaxed({ dropPages: [1], reserve: 'upkeep' }));
    quota.holdsReserve = true;
    await Promise.all([3, 4].map((number) => file.commit(relaxed({ writePages: [page(number, 100)] }))));
    expect(quota.reserved).toEqual({ deletions: 0, upkeep: MEBIBYTE });
    expect(file.isScarce).toBe(true);
  });
});
