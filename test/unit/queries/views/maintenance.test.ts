import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import type { DocId } from '../../../../src/database/documents/contract.ts';
import { BackgroundBuilds, type Databases } from '../../../../src/queries/views/background-builds.ts';
import type { PageStore } from '../../../../src/storage/page-store.ts';
import { design, groupsOf, type Json, rowsOf, ViewFixture, withReader } from '../../../support/view-fixture.ts';

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

function indexFile(fixture: ViewFixture) {
  return must([...fixture.medium.files.entries()].find(([name]) => name !== 'db.1' && name.startsWith('db.1.')))[1];
}

describe('compaction of an index', () => {
  test("keeps the rows in fewer pages, and doesn't disturb readers", async () => {
    const fixture = await ViewFixture.open({ parts: { settings: { dirtyBytes: 1, idleMs: 1 } } });
    const group = await fixture.group({ byYear });
    const all = Object.entries(documents(1_500));
    // Many small updates leave leaves that are far from full.
    for (let from = 0; from < all.length; from += 100) {
      await fixture.write(Object.fromEntries(all.slice(from, from + 100)));
      await withReader(group, async () => undefined);
    }
    await fixture.write(
      Object.fromEntries(all.filter((_entry, index) => index % 3 > 0).map(([id]) => [id, undefined])),
    );
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
    const bytesHeld = indexFile(fixture).pageBytes;
    await group.compact();
    expect(indexFile(fixture).pageBytes).toBeLessThan(bytesHeld);
    const { dataSize } = await group.info();
    expect(indexFile(fixture).pageBytes).toBeLessThan(dataSize * 1.1);
    await withReader(group, async (again) => {
      expect(await rowsOf(again, 'byYear')).toEqual(before);
      expect(await groupsOf(again, 'byYear')).toEqual([[null, 500]]);
    });
    const { medium } = fixture;
    await fixture.close();
    const reopened = await ViewFixture.open({ medium });
    const again = await (await reopened.group({ byYear })).read('never');
    expect(await rowsOf(again, 'byYear')).toEqual(before);
    await reopened.close();
  });

  test('continues during updates', async () => {
    const fixture = await ViewFixture.open();
    const group = await fixture.group({ byYear });
    await fixture.write(documents(500));
    await withReader(group, async () => undefined);
    const compacting = group.compact();
    await fixture.write({ new1: { year: -1, pad: '' } });
    await withReader(group, async (reader) => expect(reader.totalRows('byYear')).toBe(501));
    await compacting;
    expect((await group.info()).compactRunning).toBe(false);
    await fixture.write({ new2: { year: -2, pad: '' } });
    await withReader(group, async (reader) => {
      expect((await rowsOf(reader, 'byYear', { limit: 2 })).map(([id]) => id)).toEqual(['new2', 'new1']);
      expect(reader.totalRows('byYear')).toBe(502);
    });
    await fixture.close();
  });
});

describe('pages of an index', () => {
  test('that no reader needs any longer are dropped', async () => {
    const fixture = await ViewFixture.open({ parts: { settings: { dirtyBytes: 1 } } });
    const group = await fixture.group({ byYear });
    await fixture.write(documents(300));
    await withReader(group, async () => undefined);
    await group.compact();
    const { size } = indexFile(fixture).pages;
    for (let round = 0; round < 10; round++) {
      await fixture.write({ d00001: { year: round, pad: '' } });
      await withReader(group, async () => undefined);
    }
    await group.compact();
    expect(indexFile(fixture).pages.size).toBeLessThan(size + 4);
    await fixture.close();
  });
});

describe('cleanup of indexes', () => {
  test('removes those that no design document has', async () => {
    const fixture = await ViewFixture.open();
    const kept = { byYear };
    const { body } = design(kept);
    await fixture.write({ a: { year: 1 }, '_design/d': JSON.parse(body) as Json });
    const group = await fixture.group(kept);
    const other = await fixture.group({ other: { map: 'function (doc) { emit(1, 1); }' } });
    for (const one of [group, other]) {
      await withReader(one, async () => undefined);
      one.release();
    }
    expect((await fixture.store.list()).length).toBe(3);
    await fixture.views.cleanup(fixture.database);
    expect(await fixture.store.list()).toEqual(['db.1', `db.1.${group.signature}`]);
    await withReader(await fixture.group(kept), async (reader) => expect(reader.totalRows('byYear')).toBe(1));
    await withReader(await fixture.group({ other: { map: 'function (doc) { emit(1, 1); }' } }), async (reader) =>
      expect(reader.totalRows('other')).toBe(1),
    );
    await fixture.close();
  });
});

describe('a temporary view', () => {
  test('has the rows of a stored one and leaves no file', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write({ a: { n: 1 }, b: { n: 2 } });
    const definition = JSON.stringify({ map: 'function (doc) { emit(doc.n, doc.n); }', reduce: '_sum' });
    const group = await fixture.views.temporary(fixture.database, definition);
    await withReader(group, async (reader) => {
      expect(await rowsOf(reader, 'temporary')).toEqual([
        ['a', 1, 1],
        ['b', 2, 2],
      ]);
      expect(await groupsOf(reader, 'temporary')).toEqual([[null, 3]]);
    });
    group.release();
    expect(await fixture.store.list()).toEqual(['db.1']);
    await fixture.close();
  });

  test('maps only the documents that it names', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write({ a: { n: 1 }, b: { n: 2 }, c: { n: 4 }, d: { n: 8 } });
    await fixture.write({ d: undefined });
    // A map that saw this document would never end.
    const map = 'function (doc) { if (doc._id === "b") { while (true); } emit(doc.n, doc.n); }';
    const definition = { map, reduce: '_sum', doc_ids: ['c', 'a', 'c', 'd', 'none', '_design/none'] };
    const group = await fixture.views.temporary(fixture.database, JSON.stringify(definition));
    await withReader(group, async (reader) => {
      expect(await rowsOf(reader, 'temporary')).toEqual([
        ['a', 1, 1],
        ['c', 4, 4],
      ]);
      expect(await groupsOf(reader, 'temporary')).toEqual([[null, 5]]);
    });
    group.release();
    await fixture.close();
  });

  test('has no rows if it names no documents', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write({ a: { n: 1 } });
    const definition = JSON.stringify({ map: 'function (doc) { emit(doc.n, doc.n); }', doc_ids: [] });
    const group = await fixture.views.temporary(fixture.database, definition);
    await withReader(group, async (reader) => expect(await rowsOf(reader, 'temporary')).toEqual([]));
    group.release();
    await fixture.close();
  });

  test('is refused if it names documents by anything but a list of ids', async () => {
    const fixture = await ViewFixture.open();
    for (const ids of ['a', [1], { a: 1 }]) {
      const definition = JSON.stringify({ map: 'function (doc) { emit(1); }', doc_ids: ids });
      await expect(fixture.views.temporary(fixture.database, definition)).rejects.toMatchObject({
        code: 'bad_request',
        reason: '`doc_ids` must be a JSON list of document ids.',
      });
    }
    await fixture.close();
  });
});

/** The builds of a fixture's database, and a way to tell them of a write or of the deletion. */
function backgroundOf(fixture: ViewFixture) {
  let emit: Parameters<Databases['onEvent']>[0] = () => undefined;
  const databases: Databases = {
    acquire: async () => ({ database: fixture.database, release: () => undefined }),
    onEvent: (listener) => {
      emit = listener;
      return () => undefined;
    },
  };
  const { views } = fixture;
  const background = new BackgroundBuilds({
    databases,
    delayMs: 1,
    log: silentLog,
    build: (built, id) => views.build(built, id),
    forget: (name) => views.forget(name),
  });
  return { background, emit: (type: 'updated' | 'deleted') => emit({ type, name: 'db' }) };
}

describe('a new design document', () => {
  test('has its index built in the background, though a query read it before without building it', async () => {
    const fixture = await ViewFixture.open();
    const { background, emit } = backgroundOf(fixture);
    await fixture.write({ a: { year: 1 }, '_design/d': JSON.parse(design({ byYear }).body) as Json });
    const early = await fixture.group({ byYear });
    const empty = await early.read('never');
    expect(empty.totalRows('byYear')).toBe(0);
    empty.release();
    early.release();
    emit('updated');
    const group = await waitForGroup(fixture);
    const reader = await group.read('never');
    expect(reader.totalRows('byYear')).toBe(1);
    reader.release();
    group.release();
    await background.close();
    await fixture.close();
  });

  test('has its index built in the background, though a query creates its file meanwhile', async () => {
    let onCreated = () => {};
    let onListed = () => {};
    const created = new Promise<void>((resolve) => {
      onCreated = resolve;
    });
    // The file is listed before its creation has ended, as on a disk that is busy.
    const wrap = (store: PageStore): PageStore => ({
      supports: store.supports,
      list: async () => {
        const files = await store.list();
        onListed();
        return files;
      },
      open: async (file, mode) => {
        const page = await store.open(file, mode);
        if (mode === 'open' || file === 'db.1') return page;
        const listed = new Promise<void>((resolve) => {
          onListed = resolve;
        });
        onCreated();
        await listed;
        return page;
      },
      destroy: (file) => store.destroy(file),
      close: () => store.close(),
    });
    const fixture = await ViewFixture.open({ wrap });
    await fixture.write({ a: { year: 1 }, '_design/d': JSON.parse(design({ byYear }).body) as Json });
    const opening = fixture.group({ byYear });
    await created;
    await fixture.views.build(fixture.database, '_design/d' as DocId);
    const group = await opening;
    expect((await group.info()).updateSeq).toBe(2);
    group.release();
    await fixture.close();
  });

  test('whose index was built before the service began is not built again', async () => {
    const first = await ViewFixture.open();
    await first.write({ a: { year: 1 }, '_design/d': JSON.parse(design({ byYear }).body) as Json });
    await withReader(await first.group({ byYear }), async () => undefined);
    await first.close();
    const fixture = await ViewFixture.open({ medium: first.medium });
    await fixture.write({ b: { year: 2 } });
    await fixture.views.build(fixture.database, '_design/d' as DocId);
    const group = await fixture.group({ byYear });
    expect((await group.info()).updateSeq).toBe(2);
    group.release();
    await fixture.close();
  });

  test('has its index built in the background', async () => {
    const fixture = await ViewFixture.open();
    const { background, emit } = backgroundOf(fixture);
    await fixture.write({ a: { year: 1 }, '_design/d': JSON.parse(design({ byYear }).body) as Json });
    emit('updated');
    const group = await waitForGroup(fixture);
    const reader = await group.read('never');
    expect(reader.totalRows('byYear')).toBe(1);
    reader.release();
    emit('deleted');
    await expect(group.info().then(() => group.read())).rejects.toMatchObject({ code: 'storage_deleted' });
    await background.close();
    await fixture.close();
  });
});

/** Resolves when an index was built in the background. */
async function waitForGroup(fixture: ViewFixture) {
  for (;;) {
    if ((await fixture.store.list()).length > 1) break;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const group = await fixture.group({ byYear });
  for (;;) {
    const { updateSeq, updaterRunning } = await group.info();
    if (updateSeq === 2 && !updaterRunning) return group;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

describe('the info of an index', () => {
  test('has the members of _info', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write({ a: { year: 1, pad: 'p' } });
    const group = await fixture.group({ byYear });
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
    await fixture.close();
  });
});

test('a document id in a view can have any character', async () => {
  const fixture = await ViewFixture.open();
  const ids = ['a\tb', 'a\nb', 'ä\u001fö', '"quoted"', 'back\\slash', '😀'];
  await fixture.write(Object.fromEntries(ids.map((id) => [id, { year: 1 }])));
  const group = await fixture.group({ byYear });
  await withReader(group, async (reader) => {
    expect((await rowsOf(reader, 'byYear')).map(([id]) => id).sort()).toEqual([...ids].sort());
    const from = { start: 1, startDocId: 'back\\slash' as DocId };
    expect((await rowsOf(reader, 'byYear', from)).map(([id]) => id)).toEqual(['back\\slash', 'ä\u001fö', '😀']);
  });
  await fixture.write({ 'a\tb': undefined });
  await withReader(group, async (reader) => expect(reader.totalRows('byYear')).toBe(5));
  await fixture.close();
});
