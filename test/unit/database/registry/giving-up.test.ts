import { expect, test } from 'vitest';
import { HandleCache } from '../../../../src/database/registry/handle-cache.ts';
import type { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import { readOnlyError } from '../../../../src/storage/paging/page-errors.ts';
import { patient } from '../../../support/patience.ts';

/** Databases that wait to be free until the test says so. */
function withWaiting() {
  const waiting = new Map<string, { readonly free: () => void; readonly refuse: () => void }>();
  const opened: string[] = [];
  const open = async (name: string) => {
    opened.push(name);
    return { close: async () => undefined } as unknown as StoredDatabase;
  };
  const whenFree = (name: string) =>
    new Promise<void>((resolve, reject) =>
      waiting.set(name, { free: resolve, refuse: () => reject(readOnlyError(name)) }),
    );
  return { handles: new HandleCache(() => 100, open, whenFree), waiting, opened };
}

test('a database is given up although many others wait until they may be opened', async () => {
  const { handles, waiting, opened } = withWaiting();
  const names = Array.from({ length: 40 }, (_unused, index) => `db${index}`);
  const leases = names.map((name) => handles.lease(name));
  const moved = expect(handles.lease('moved')).rejects.toMatchObject({ code: 'not_owner' });
  await expect.poll(() => waiting.has('moved'), patient).toBe(true);
  expect(opened).toEqual([]);
  const givenUp = handles.giveUp('moved', 0);
  waiting.get('moved')?.refuse();
  await moved;
  // The others are free when it was given up.
  await givenUp;
  for (const name of names) waiting.get(name)?.free();
  for (const lease of await Promise.all(leases)) lease.release();
  expect(opened.sort()).toEqual(names.sort());
});

test('databases that may not be opened yet do not keep a service from being closed', async () => {
  const { handles, waiting, opened } = withWaiting();
  const lease = expect(handles.lease('a')).rejects.toMatchObject({ code: 'storage_closed' });
  await expect.poll(() => waiting.has('a'), patient).toBe(true);
  await handles.close();
  await lease;
  expect(opened).toEqual([]);
});
