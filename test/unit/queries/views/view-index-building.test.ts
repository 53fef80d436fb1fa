import { describe, expect, test } from 'vitest';
import type { MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import { groupsOf, rowsOf, withReader } from '../../../support/view-fixture.ts';
import { CountingMapper, counted, documents, language, openCounting } from './counting-views.ts';

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
