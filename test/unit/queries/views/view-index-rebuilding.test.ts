import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import type { MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import { groupsOf, rowsOf, ViewFixture, withReader } from '../../../support/view-fixture.ts';
import { CountingMapper, counted, documents, language, openCounting } from './counting-views.ts';

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
