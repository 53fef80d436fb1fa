import { describe, expect, test } from 'vitest';
import type { DocId } from '../../../src/documents/contract.ts';
import { must } from '../../../src/shared/assert.ts';
import { silentLog } from '../../../src/system/log.ts';
import { BackgroundBuilds, type Databases } from '../../../src/views/updating/background-builds.ts';
import { design, groupsOf, type Json, rowsOf, Scene, withReader } from './scene.ts';

const byYear = { map: 'function (doc) { emit(doc.year, doc.pad); }', reduce: '_count' };

function documents(count: number): Record<string, Json> {
  const pad = 'x'.repeat(200);
  return Object.fromEntries(
    Array.from({ length: count }, (_unused, index) => [
      `d${String(index).padStart(5, '0')}`,
      { year: (index * 7919) % 1000, pad },
    ]),
  );
}

function indexFile(scene: Scene) {
  return must([...scene.medium.files.entries()].find(([name]) => name !== 'db.1' && name.startsWith('db.1.')))[1];
}

describe('compaction', () => {
  test('leaves the same rows in fewer pages, and readers undisturbed', async () => {
    const scene = await Scene.open({ parts: { settings: { dirtyBytes: 1, idleMs: 1 } } });
    const group = await scene.group({ byYear });
    const all = Object.entries(documents(1_500));
    // Many small updates leave leaves that are far from full.
    for (let from = 0; from < all.length; from += 100) {
      await scene.write(Object.fromEntries(all.slice(from, from + 100)));
      await withReader(group, async () => undefined);
    }
    await scene.write(Object.fromEntries(all.filter((_entry, index) => index % 3 > 0).map(([id]) => [id, undefined])));
    const reader = await group.read();
    const before = await rowsOf(reader, 'byYear');
    const { rows } = await reader.rows('byYear');
    const slow = rows[Symbol.asyncIterator]();
    const first = await slow.next();
    await group.compact();
    const whileRead = [...must(first.value)];
    for (let next = await slow.next(); next.done !== true; next = await slow.next()) whileRead.push(...next.value);
    expect(whileRead.length).toBe(500);
    reader.release();
    const bytesHeld = indexFile(scene).pageBytes;
    await group.compact();
    expect(indexFile(scene).pageBytes).toBeLessThan(bytesHeld);
    const { dataSize } = await group.info();
    expect(indexFile(scene).pageBytes).toBeLessThan(dataSize * 1.1);
    await withReader(group, async (again) => {
      expect(await rowsOf(again, 'byYear')).toEqual(before);
      expect(await groupsOf(again, 'byYear')).toEqual([[null, 500]]);
    });
    const { medium } = scene;
    await scene.close();
    const reopened = await Scene.open({ medium });
    const again = await (await reopened.group({ byYear })).read('never');
    expect(await rowsOf(again, 'byYear')).toEqual(before);
    await reopened.close();
  });

  test('goes on beside updates', async () => {
    const scene = await Scene.open();
    const group = await scene.group({ byYear });
    await scene.write(documents(500));
    await withReader(group, async () => undefined);
    const compacting = group.compact();
    await scene.write({ new1: { year: -1, pad: '' } });
    await withReader(group, async (reader) => expect(reader.totalRows('byYear')).toBe(501));
    await compacting;
    expect((await group.info()).compactRunning).toBe(false);
    await scene.write({ new2: { year: -2, pad: '' } });
    await withReader(group, async (reader) => {
      expect((await rowsOf(reader, 'byYear', { limit: 2 })).map(([id]) => id)).toEqual(['new2', 'new1']);
      expect(reader.totalRows('byYear')).toBe(502);
    });
    await scene.close();
  });
});

describe('pages', () => {
  test('that no reader needs any more are dropped', async () => {
    const scene = await Scene.open({ parts: { settings: { dirtyBytes: 1 } } });
    const group = await scene.group({ byYear });
    await scene.write(documents(300));
    await withReader(group, async () => undefined);
    await group.compact();
    const { size } = indexFile(scene).pages;
    for (let round = 0; round < 10; round++) {
      await scene.write({ d00001: { year: round, pad: '' } });
      await withReader(group, async () => undefined);
    }
    await group.compact();
    expect(indexFile(scene).pages.size).toBeLessThan(size + 4);
    await scene.close();
  });
});

describe('cleanup', () => {
  test('removes the indexes that no design document has', async () => {
    const scene = await Scene.open();
    const kept = { byYear };
    const { body } = design(kept);
    await scene.write({ a: { year: 1 }, '_design/d': JSON.parse(body) as Json });
    const group = await scene.group(kept);
    const other = await scene.group({ other: { map: 'function (doc) { emit(1, 1); }' } });
    for (const one of [group, other]) {
      await withReader(one, async () => undefined);
      one.release();
    }
    expect((await scene.store.list()).length).toBe(3);
    await scene.views.cleanup(scene.database);
    expect(await scene.store.list()).toEqual(['db.1', `db.1.${group.signature}`]);
    await withReader(await scene.group(kept), async (reader) => expect(reader.totalRows('byYear')).toBe(1));
    await withReader(await scene.group({ other: { map: 'function (doc) { emit(1, 1); }' } }), async (reader) =>
      expect(reader.totalRows('other')).toBe(1),
    );
    await scene.close();
  });
});

describe('a temporary view', () => {
  test('answers like a stored one and leaves nothing', async () => {
    const scene = await Scene.open();
    await scene.write({ a: { n: 1 }, b: { n: 2 } });
    const definition = JSON.stringify({ map: 'function (doc) { emit(doc.n, doc.n); }', reduce: '_sum' });
    const group = await scene.views.temporary(scene.database, definition);
    await withReader(group, async (reader) => {
      expect(await rowsOf(reader, 'temporary')).toEqual([
        ['a', 1, 1],
        ['b', 2, 2],
      ]);
      expect(await groupsOf(reader, 'temporary')).toEqual([[null, 3]]);
    });
    group.release();
    expect(await scene.store.list()).toEqual(['db.1']);
    await scene.close();
  });
});

describe('a design document that was written', () => {
  test('gets its index in the background', async () => {
    let emit: Parameters<Databases['onEvent']>[0] = () => undefined;
    let database: Scene['database'] | undefined;
    const databases: Databases = {
      acquire: async () => ({ database: must(database), release: () => undefined }),
      onEvent: (listener) => {
        emit = listener;
        return () => undefined;
      },
    };
    const scene = await Scene.open();
    const { views } = scene;
    const background = new BackgroundBuilds({
      databases,
      lookAfterMs: 1,
      log: silentLog,
      build: (built, id) => views.build(built, id),
      forget: (name) => views.forget(name),
    });
    database = scene.database;
    await scene.write({ a: { year: 1 }, '_design/d': JSON.parse(design({ byYear }).body) as Json });
    emit({ type: 'updated', name: 'db' });
    const group = await waitForGroup(scene);
    const reader = await group.read('never');
    expect(reader.totalRows('byYear')).toBe(1);
    reader.release();
    emit({ type: 'deleted', name: 'db' });
    await expect(group.info().then(() => group.read())).rejects.toMatchObject({ code: 'storage_deleted' });
    await background.close();
    await scene.close();
  });
});

/** Resolves when an index was built that nobody asked for. */
async function waitForGroup(scene: Scene) {
  for (;;) {
    if ((await scene.store.list()).length > 1) break;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const group = await scene.group({ byYear });
  for (;;) {
    const { updateSeq, updaterRunning } = await group.info();
    if (updateSeq === 2 && !updaterRunning) return group;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

describe('what an index tells of itself', () => {
  test('is what _info shows', async () => {
    const scene = await Scene.open();
    await scene.write({ a: { year: 1, pad: 'p' } });
    const group = await scene.group({ byYear });
    await withReader(group, async () => undefined);
    expect(await group.info()).toMatchObject({
      signature: expect.stringMatching(/^[0-9a-f]{32}$/),
      language: 'javascript',
      updateSeq: 1,
      purgeSeq: 0,
      updaterRunning: false,
      compactRunning: false,
      waitingClients: 0,
      waitingCommit: true,
    });
    await group.compact();
    const info = await group.info();
    expect(info.waitingCommit).toBe(false);
    expect(info.dataSize).toBeGreaterThan(10);
    expect(info.diskSize).toBeGreaterThan(info.dataSize);
    await scene.close();
  });
});

test('a document id may have any character', async () => {
  const scene = await Scene.open();
  const ids = ['a\tb', 'a\nb', 'ä\u001fö', '"quoted"', 'back\\slash', '😀'];
  await scene.write(Object.fromEntries(ids.map((id) => [id, { year: 1 }])));
  const group = await scene.group({ byYear });
  await withReader(group, async (reader) => {
    expect((await rowsOf(reader, 'byYear')).map(([id]) => id).sort()).toEqual([...ids].sort());
    const from = { start: 1, startDocId: 'back\\slash' as DocId };
    expect((await rowsOf(reader, 'byYear', from)).map(([id]) => id)).toEqual(['back\\slash', 'ä\u001fö', '😀']);
  });
  await scene.write({ 'a\tb': undefined });
  await withReader(group, async (reader) => expect(reader.totalRows('byYear')).toBe(5));
  await scene.close();
});
