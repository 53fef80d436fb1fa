import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import type { MapperFactory } from '../../../../src/queries/views/contract.ts';
import type { MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import { design, groupsOf, type Json, rowsOf, ViewFixture, withReader } from '../../../support/view-fixture.ts';

const byYear = { map: 'function (doc) { emit(doc.year, null); }' };
/** A mapper that counts the documents that it is given, and can be made to wait or to fail. */
class CountingMapper implements MapperFactory {
  readonly mapped: string[] = [];
  opened = 0;
  before: (count: number) => Promise<void> | void = () => undefined;
  /** Of a call, the documents behind these are left over. */
  mostOfCall = Number.POSITIVE_INFINITY;

  open(): ReturnType<MapperFactory['open']> {
    this.opened++;
    return {
      batchSize: 10,
      map: async (documents) => {
        await this.before(this.mapped.length);
        const taken = documents.slice(0, this.mostOfCall);
        const parsed = taken.map((text) => JSON.parse(text) as { _id: string; year: Json });
        for (const document of parsed) this.mapped.push(document._id);
        const keys = parsed.map((document) => JSON.stringify(document.year ?? null));
        return [{ counts: keys.map(() => 1), keys, values: keys.map(() => '1') }];
      },
      release: () => undefined,
    };
  }
}

const counted = { counted: { map: 'year', reduce: '_count' } };

function documents(count: number, from = 0): Record<string, Json> {
  return Object.fromEntries(
    Array.from({ length: count }, (_unused, index) => [
      `d${String(from + index).padStart(5, '0')}`,
      { year: index % 7 },
    ]),
  );
}

async function openCounting(mapper: CountingMapper, medium?: MemoryMedium, settings = {}): Promise<ViewFixture> {
  return ViewFixture.open({ ...(medium ? { medium } : {}), parts: { mappers: { counting: mapper }, settings } });
}

const language = { language: 'counting' };

describe('building an index', () => {
  test('happens once for all callers, and for design documents with equal views', async () => {
    const mapper = new CountingMapper();
    const fixture = await openCounting(mapper);
    await fixture.write(documents(100));
    const groups = await Promise.all([fixture.group(counted, language, 'a'), fixture.group(counted, language, 'b')]);
    const readers = await Promise.all([...groups, ...groups].map((group) => group.read()));
    expect(mapper.mapped.length).toBe(100);
    expect(mapper.opened).toBe(1);
    for (const reader of readers) {
      expect(await groupsOf(reader, 'counted')).toEqual([[null, 100]]);
      reader.release();
    }
    expect((await fixture.store.list()).length).toBe(2);
    await fixture.close();
  });

  test('maps only what has changed', async () => {
    const mapper = new CountingMapper();
    const fixture = await openCounting(mapper);
    await fixture.write(documents(50));
    const group = await fixture.group(counted, language);
    await withReader(group, async () => undefined);
    mapper.mapped.length = 0;
    await fixture.write({ d00007: { year: 'x' }, d00008: undefined, new: { year: 0 } });
    await withReader(group, async (reader) => expect(reader.totalRows('counted')).toBe(50));
    expect(mapper.mapped.sort()).toEqual(['d00007', 'new']);
    await fixture.close();
  });

  test.each([1_000, 2])('maps documents that a call left over, with %i rows in one portion', async (flushRows) => {
    const mapper = new CountingMapper();
    mapper.mostOfCall = 3;
    const fixture = await openCounting(mapper, undefined, { flushRows, dirtyBytes: 1 });
    await fixture.write(documents(64));
    const group = await fixture.group(counted, language);
    const ids = Object.keys(documents(64)).sort();
    await withReader(group, async (reader) => {
      expect((await rowsOf(reader, 'counted')).map(([id]) => id).sort()).toEqual(ids);
    });
    expect(mapper.mapped).toEqual(ids);
    await fixture.write({ ...Object.fromEntries(ids.map((id) => [id, { year: 'x' }])), [ids[5] ?? '']: undefined });
    await withReader(group, async (reader) => {
      const rows = await rowsOf(reader, 'counted');
      expect(rows.map(([id]) => id)).toEqual(ids.filter((id) => id !== ids[5]));
      expect(new Set(rows.map(([, key]) => key))).toEqual(new Set(['x']));
    });
    await fixture.close();
  });

  test('continues after an interruption where a call had left over documents', async () => {
    const mapper = new CountingMapper();
    mapper.mostOfCall = 3;
    const fixture = await openCounting(mapper, undefined, { flushRows: 2, dirtyBytes: 1 });
    await fixture.write(documents(64));
    const group = await fixture.group(counted, language);
    mapper.before = (count) => {
      if (count >= 27) throw new Error('interrupted');
    };
    await expect(group.read()).rejects.toThrow('interrupted');
    mapper.before = () => undefined;
    mapper.mapped.length = 0;
    await withReader(group, async (reader) => expect(await groupsOf(reader, 'counted')).toEqual([[null, 64]]));
    expect(mapper.mapped.length).toBeLessThan(64 - 20);
    await fixture.close();
  });

  test('continues where it was after twenty interruptions', async () => {
    const mapper = new CountingMapper();
    // Each portion of ten documents is stored before the next.
    const fixture = await openCounting(mapper, undefined, { flushRows: 20, dirtyBytes: 1 });
    await fixture.write(documents(1_000));
    const moments: { medium: MemoryMedium; mapped: number }[] = [];
    mapper.before = (mapped) => {
      if (mapped % 50 === 40) moments.push({ medium: fixture.medium.clone(), mapped });
    };
    await withReader(await fixture.group(counted, language), async () => undefined);
    await fixture.close();
    expect(moments.length).toBe(20);
    for (const { medium, mapped } of moments) {
      const after = new CountingMapper();
      const again = await openCounting(after, medium);
      const group = await again.group(counted, language);
      await withReader(group, async (reader) => {
        expect(await groupsOf(reader, 'counted')).toEqual([[null, 1_000]]);
        expect(new Set((await rowsOf(reader, 'counted')).map(([id]) => id)).size).toBe(1_000);
      });
      expect(after.mapped.length).toBe(1_000 - mapped);
      await again.close();
    }
  });

  test('is among the running tasks from the beginning', async () => {
    const mapper = new CountingMapper();
    const fixture = await openCounting(mapper);
    await fixture.write(documents(100));
    const seen: unknown[] = [];
    mapper.before = (count) => {
      const [task] = fixture.tasks.list();
      if (task !== undefined && count % 50 === 0) {
        seen.push([
          task.type,
          task.database,
          task.design_document,
          task.changes_done,
          task.total_changes,
          task.progress,
        ]);
      }
    };
    await withReader(await fixture.group(counted, language), async () => undefined);
    expect(seen).toEqual([
      ['indexer', 'db', '_design/d', 0, 100, 0],
      ['indexer', 'db', '_design/d', 50, 100, 50],
    ]);
    expect(fixture.tasks.list()).toEqual([]);
    await fixture.close();
  });

  test('that fails rejects for all callers, and starts again with the next query', async () => {
    const mapper = new CountingMapper();
    const fixture = await openCounting(mapper);
    await fixture.write(documents(30));
    const group = await fixture.group(counted, language);
    mapper.before = () => {
      throw new Error('broken');
    };
    const results = await Promise.allSettled([group.read(), group.read()]);
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected']);
    mapper.before = () => undefined;
    await withReader(group, async (reader) => expect(reader.totalRows('counted')).toBe(30));
    await fixture.close();
  });
});

describe('a stale answer', () => {
  test('is what the index has, and can be followed by an update', async () => {
    const mapper = new CountingMapper();
    const fixture = await openCounting(mapper);
    await fixture.write(documents(10));
    const group = await fixture.group(counted, language);
    const empty = await group.read('never');
    expect(empty.totalRows('counted')).toBe(0);
    expect(empty.updateSeq).toBe(0);
    expect(mapper.mapped).toEqual([]);
    const before = await group.read('after');
    expect(before.totalRows('counted')).toBe(0);
    // Joins the update that goes on.
    const after = await group.read('before');
    expect(after.totalRows('counted')).toBe(10);
    expect(mapper.mapped.length).toBe(10);
    expect(empty.totalRows('counted')).toBe(0);
    for (const reader of [empty, before, after]) reader.release();
    await fixture.close();
  });
});

describe('the last change of a view', () => {
  test('moves only when its own rows do', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write({ a: { year: 1, name: 'x' }, b: { year: 2, name: 'y' } });
    const group = await fixture.group({ byYear, byName: { map: 'function (doc) { emit(doc.name, 1); }' } });
    const changes = () =>
      withReader(group, async (reader) => [reader.lastChange('byYear').seq, reader.lastChange('byName').seq]);
    expect(await changes()).toEqual([2, 2]);
    await fixture.write({ a: { year: 1, name: 'z' } });
    expect(await changes()).toEqual([2, 3]);
    await fixture.write({ b: { year: 2, name: 'y', more: true } });
    expect(await changes()).toEqual([2, 3]);
    await fixture.write({ c: undefined as unknown as Json }).catch(() => undefined);
    await fixture.write({ a: undefined });
    const [years, names] = await changes();
    expect([years, names]).toEqual([fixture.database.updateSeq, fixture.database.updateSeq]);
    await fixture.close();
  });

  test('identifies a stale answer of an index that is being built', async () => {
    const mapper = new CountingMapper();
    const fixture = await openCounting(mapper, undefined, { flushRows: 20 });
    await fixture.write(documents(40));
    const group = await fixture.group(counted, language);
    const seen = new Map<number, number>();
    const look = async () => {
      const reader = await group.read('never');
      seen.set(reader.totalRows('counted'), reader.lastChange('counted').seq);
      reader.release();
    };
    mapper.before = look;
    await withReader(group, look);
    expect([...seen.keys()]).toEqual([0, 10, 20, 30, 40]);
    expect(new Set(seen.values()).size).toBe(5);
    expect(seen.get(40)).toBe(40);
    await fixture.close();
  });
});

describe('an index that no longer matches its database', () => {
  test('is rebuilt if the database lost changes that the index reflects', async () => {
    const mapper = new CountingMapper();
    const fixture = await openCounting(mapper);
    await fixture.write({ a: { year: 1 }, b: { year: 2 } });
    const early = fixture.medium.clone();
    await fixture.write({ c: { year: 3 }, a: { year: 9 } });
    await withReader(await fixture.group(counted, language), async () => undefined);
    await fixture.close();
    // A power cut took the database's last moments; the index had been stored.
    const index = must([...fixture.medium.files.keys()].find((file) => file !== 'db.1'));
    early.files.set(index, must(fixture.medium.files.get(index)));
    const again = await openCounting(mapper, early);
    mapper.mapped.length = 0;
    const group = await again.group(counted, language);
    await withReader(group, async (reader) => {
      expect(await rowsOf(reader, 'counted')).toEqual([
        ['a', 1, 1],
        ['b', 2, 1],
      ]);
    });
    expect(mapper.mapped.sort()).toEqual(['a', 'b']);
    await again.close();
  });

  test('is kept if the database was only not closed properly', async () => {
    const mapper = new CountingMapper();
    const fixture = await openCounting(mapper);
    await fixture.write(documents(10));
    await withReader(await fixture.group(counted, language), async () => undefined);
    await fixture.views.close();
    const again = await openCounting(mapper, fixture.medium.clone());
    mapper.mapped.length = 0;
    await withReader(await again.group(counted, language), async (reader) => {
      expect(await groupsOf(reader, 'counted')).toEqual([[null, 10]]);
    });
    expect(mapper.mapped).toEqual([]);
    await again.close();
  });

  test('is rebuilt for another collation', async () => {
    const mapper = new CountingMapper();
    const medium = await withBuilt(mapper, 'engine 1');
    mapper.mapped.length = 0;
    await withBuilt(mapper, 'engine 1', medium);
    expect(mapper.mapped.length).toBe(0);
    await withBuilt(mapper, 'engine 2', medium);
    expect(mapper.mapped.length).toBe(10);
  });

  test('is rebuilt if one of its pages is missing', async () => {
    const mapper = new CountingMapper();
    const medium = await withBuilt(mapper, 'e');
    const index = must([...medium.files.entries()].find(([name]) => name !== 'db.1'))[1];
    for (const page of [...index.pages.keys()].slice(1)) index.pages.delete(page);
    const fixture = await ViewFixture.open({ medium, parts: { mappers: { counting: mapper }, engine: 'e' } });
    await fixture.write({ more: { year: 3 } });
    const total = async () =>
      withReader(await fixture.group(counted, language), async (reader) => (await rowsOf(reader, 'counted')).length);
    const first = await total().catch((error: { code: string }) => error.code);
    expect([11, 'storage_corrupt']).toContain(first);
    expect(await total()).toBe(11);
    await fixture.close();
  });
});

async function withBuilt(mapper: CountingMapper, engine: string, medium?: MemoryMedium): Promise<MemoryMedium> {
  const fixture = await ViewFixture.open({
    ...(medium ? { medium } : {}),
    parts: { mappers: { counting: mapper }, engine },
  });
  if (medium === undefined) await fixture.write(documents(10));
  const group = await fixture.group(counted, language);
  await withReader(group, async (reader) => expect((await rowsOf(reader, 'counted')).length).toBe(10));
  await fixture.close();
  return fixture.medium;
}

describe('a purge', () => {
  test('removes the rows of purged documents, and maps no other documents', async () => {
    const mapper = new CountingMapper();
    const fixture = await openCounting(mapper);
    await fixture.write(documents(20));
    const group = await fixture.group(counted, language);
    await withReader(group, async () => undefined);
    mapper.mapped.length = 0;
    const gone = ['d00003', 'd00011'];
    for (const name of gone) {
      const { id, rev } = { ...design({}, {}, name), id: name as never, rev: fixture.revOf(name) };
      await fixture.database.purge(new Map([[id, [rev]]]));
    }
    await withReader(group, async (reader) => {
      const ids = (await rowsOf(reader, 'counted')).map(([name]) => name);
      expect(ids.length).toBe(18);
      expect(ids).not.toContain('d00003');
      expect(reader.lastChange('counted')).toEqual({ seq: 20, purgeSeq: 2 });
    });
    expect(mapper.mapped).toEqual([]);
    await fixture.close();
  });

  test('is the last change of the views from which it removes rows', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write({ a: { year: 1 }, b: { name: 'y' }, c: { year: 2, name: 'z' }, d: {} });
    const views = {
      byYear: { map: 'function (doc) { if (doc.year) emit(doc.year, 1); }' },
      byName: { map: 'function (doc) { if (doc.name) emit(doc.name, 1); }' },
    };
    const changes = async () =>
      withReader(await fixture.group(views), async (reader) => [
        reader.lastChange('byYear'),
        reader.lastChange('byName'),
      ]);
    const purge = (name: string) => fixture.database.purge(new Map([[name as never, [fixture.revOf(name)]]]));
    expect(await changes()).toEqual([
      { seq: 4, purgeSeq: 0 },
      { seq: 4, purgeSeq: 0 },
    ]);
    await purge('d');
    expect(await changes()).toEqual([
      { seq: 4, purgeSeq: 0 },
      { seq: 4, purgeSeq: 0 },
    ]);
    await purge('a');
    expect(await changes()).toEqual([
      { seq: 4, purgeSeq: 2 },
      { seq: 4, purgeSeq: 0 },
    ]);
    await purge('c');
    const expected = [
      { seq: 4, purgeSeq: 3 },
      { seq: 4, purgeSeq: 3 },
    ];
    expect(await changes()).toEqual(expected);
    await fixture.close();
  });

  test('of more documents than one portion identifies each state between', async () => {
    const fixture = await ViewFixture.open({ parts: { settings: { flushRows: 10 } } });
    await fixture.write(documents(60));
    const group = await fixture.group({ counted: { map: 'function (doc) { emit(doc._id, 1); }', reduce: '_count' } });
    await withReader(group, async () => undefined);
    const ids = Array.from({ length: 45 }, (_unused, n) => `d${`${n}`.padStart(5, '0')}`);
    await fixture.database.purge(new Map(ids.map((name) => [name as never, [fixture.revOf(name)]])));
    const seen = new Map<string, number>();
    const updated = group.read('before');
    for (let isDone = false; !isDone; ) {
      const reader = await group.read('never');
      const tag = JSON.stringify(reader.lastChange('counted'));
      const rows = reader.totalRows('counted');
      expect(seen.get(tag) ?? rows, tag).toBe(rows);
      seen.set(tag, rows);
      isDone = rows === 15;
      reader.release();
      await new Promise((resolve) => setImmediate(resolve));
    }
    (await updated).release();
    expect(await withReader(group, async (reader) => reader.lastChange('counted'))).toEqual({ seq: 60, purgeSeq: 1 });
    await fixture.close();
  });
});
