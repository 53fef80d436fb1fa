import { expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import type { DocId } from '../../../../src/database/documents/contract.ts';
import type { PageStore } from '../../../../src/storage/page-store.ts';
import { type Json, ViewFixture, withReader } from '../../../support/view-fixture.ts';

/** Pages that are still being read are not dropped while later states are stored; missing pages of released states do no harm. */
const byYear = { map: 'function (doc) { emit(doc.year, doc.pad); }', reduce: '_count' };
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Small leaves and no cache, so that a read of a dropped page fails at once. */
const settings = { dirtyBytes: 1, idleMs: 1, cacheBytes: 1 };

function smallLeaves(store: PageStore, commitMs = 0, destroyed: string[] = []): PageStore {
  return {
    supports: { ...store.supports, leafBytes: 400 },
    list: () => store.list(),
    open: async (name, mode) => {
      const file = await store.open(name, mode);
      const commit = file.commit.bind(file);
      file.commit = async (parts) => {
        if (commitMs > 0 && name !== 'db.1') await pause(commitMs);
        await commit(parts);
      };
      return file;
    },
    destroy: (file) => {
      destroyed.push(file);
      return store.destroy(file);
    },
    close: () => store.close(),
  };
}

function documents(count: number): Record<string, Json> {
  const pad = 'x'.repeat(100);
  const entries = Array.from({ length: count }, (_unused, index): [string, Json] => [
    idOf(index),
    { year: (index * 7919) % 1000, pad },
  ]);
  return Object.fromEntries(entries);
}

function idOf(index: number): DocId {
  return `d${String(index).padStart(5, '0')}` as DocId;
}

test("a reader whose snapshot was revoked doesn't mark an intact index as damaged", async () => {
  const destroyed: string[] = [];
  const wrap = (store: PageStore) => smallLeaves(store, 0, destroyed);
  const fixture = await ViewFixture.open({ wrap, parts: { settings: { ...settings, snapshotMaxAgeMs: 20 } } });
  const group = await fixture.group({ byYear });
  await fixture.write(documents(300));
  await withReader(group, async () => undefined);
  await pause(20);
  const reader = await group.read();
  const { rows } = await reader.rows('byYear');
  const slow = rows[Symbol.asyncIterator]();
  let count = must((await slow.next()).value).length;
  await pause(30);
  await fixture.write(Object.fromEntries(Object.keys(documents(300)).map((id) => [id, { year: 5000, pad: 'y' }])));
  await withReader(group, async () => undefined);
  await pause(50);
  for (let next = await slow.next(); next.done !== true; next = await slow.next()) count += next.value.length;
  expect(count).toBeGreaterThanOrEqual(300);
  reader.release();
  group.release();
  await withReader(await fixture.group({ byYear }), async (again) => expect(again.totalRows('byYear')).toBe(300));
  expect(destroyed).toEqual([]);
  await fixture.close();
});

test('a compaction of an index continues during updates', async () => {
  const wrap = (store: PageStore) => smallLeaves(store, 1);
  const fixture = await ViewFixture.open({ wrap, parts: { settings: { ...settings, dirtyBytes: 1_000 } } });
  const group = await fixture.group({ byYear });
  await fixture.write(documents(1_000));
  await withReader(group, async () => undefined);
  await pause(30);
  let isDone = false;
  const compacting = group.compact().finally(() => {
    isDone = true;
  });
  compacting.catch(() => undefined);
  for (let round = 0; !isDone && round < 60; round++) {
    const some = Array.from({ length: 60 }, (_unused, index) => idOf((index * 16 + round) % 1_000));
    await fixture.write(Object.fromEntries(some.map((id) => [id, { year: 5_000 + round, pad: 'y' }])));
    const other = await fixture.group({ byYear });
    await withReader(other, async (reader) => expect(reader.totalRows('byYear')).toBe(1_000));
    other.release();
  }
  await compacting;
  expect(fixture.logged).toEqual([]);
  await fixture.close();
});

test('a purge of more documents than one portion removes all their rows', async () => {
  const fixture = await ViewFixture.open({ wrap: smallLeaves, parts: { settings: { ...settings, flushRows: 50 } } });
  const group = await fixture.group({ byYear });
  await fixture.write(documents(600));
  await withReader(group, async () => undefined);
  await pause(20);
  const gone = Array.from({ length: 590 }, (_unused, index) => idOf(index));
  await fixture.database.purge(new Map(gone.map((id) => [id, [fixture.revOf(id)]])));
  await withReader(group, async (reader) => expect(reader.totalRows('byYear')).toBe(10));
  await fixture.close();
});
