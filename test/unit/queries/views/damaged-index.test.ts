import { expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import type { ViewReader } from '../../../../src/queries/views/contract.ts';
import type { MemoryFile, MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import type { PageNumber, PageStore } from '../../../../src/storage/page-store.ts';
import { groupsOf, type Json, rowsOf, ViewFixture, withReader } from '../../../support/view-fixture.ts';

const map = 'function (doc) { emit([doc.n % 3, doc.n], "row of " + doc._id); }';
const views = { v: { map, reduce: '_count' } };
const ids = Array.from({ length: 60 }, (_unused, n) => `d${String(n).padStart(2, '0')}`);

const smallLeaves = (store: PageStore): PageStore => ({
  supports: { ...store.supports, leafBytes: 300 },
  list: () => store.list(),
  open: (file, mode) => store.open(file, mode),
  destroy: (file) => store.destroy(file),
  close: () => store.close(),
});

/** The medium of a database whose index is complete and stored. */
async function storedIndex(): Promise<MemoryMedium> {
  const world = await ViewFixture.open({ wrap: smallLeaves });
  await world.write(Object.fromEntries(ids.map((id, n) => [id, { n } satisfies Json])));
  await withReader(await world.group(views), async () => undefined);
  await world.close();
  return world.medium;
}

function indexIn(medium: MemoryMedium): readonly [string, MemoryFile] {
  const found = [...medium.files].find(([name]) => name !== 'db.1');
  if (found === undefined) throw new Error('there is no index');
  return found;
}

/** One character of the page becomes another. */
function damagePage({ pages }: MemoryFile, number: PageNumber): void {
  const page = pages.get(number);
  if (typeof page !== 'string') throw new Error(`page ${number} holds no text`);
  const middle = Math.floor(page.length / 2);
  const other = page[middle] === 'x' ? 'y' : 'x';
  pages.set(number, page.slice(0, middle) + other + page.slice(middle + 1));
}

const answers = {
  rows: (reader: ViewReader) => rowsOf(reader, 'v'),
  'rows backwards': (reader: ViewReader) => rowsOf(reader, 'v', { descending: true }),
  'rows of keys': (reader: ViewReader) =>
    rowsOf(reader, 'v', {
      keys: [
        [2, 59],
        [0, 30],
      ],
    }),
  'one group': (reader: ViewReader) => groupsOf(reader, 'v'),
  groups: (reader: ViewReader) => groupsOf(reader, 'v', { groupLevel: 'exact' }),
};

test.each(Object.entries(answers))(
  'with any damaged page of an index %s are right, and the log names the index',
  async (_name, ask) => {
    const medium = await storedIndex();
    const intact = await ViewFixture.open({ medium: medium.clone(), wrap: smallLeaves });
    const right = await withReader<unknown>(await intact.group(views), ask);
    await intact.close();
    const [file, { pages }] = indexIn(medium);
    expect(pages.size).toBeGreaterThan(10);
    let noticed = 0;
    for (const number of pages.keys()) {
      const damaged = medium.clone();
      damagePage(indexIn(damaged)[1], number);
      const world = await ViewFixture.open({ medium: damaged, wrap: smallLeaves });
      expect(await withReader<unknown>(await world.group(views), ask), `page ${number}`).toEqual(right);
      if (world.logged.some((entry) => entry.includes(file) && entry.includes('damaged'))) noticed++;
      await world.close();
    }
    expect(noticed).toBeGreaterThan(0);
  },
);

test('a list continues after its last row when a page is found damaged in the middle', async () => {
  const medium = await storedIndex();
  const world = await ViewFixture.open({ medium, wrap: smallLeaves, parts: { settings: { cacheBytes: 0 } } });
  const group = await world.group(views);
  const found = await withReader(group, async (reader) => {
    const { rows } = await reader.rows('v');
    const keys: string[] = [];
    for await (const batch of rows) {
      if (keys.length === 0)
        for (const number of indexIn(medium)[1].pages.keys()) damagePage(indexIn(medium)[1], number);
      keys.push(...batch.map(({ id }) => id));
    }
    return keys;
  });
  group.release();
  const inOrder = [0, 1, 2].flatMap((rest) => ids.filter((_id, n) => n % 3 === rest));
  expect(found).toEqual(inOrder);
  expect(world.logged.filter((entry) => entry.includes('damaged'))).toHaveLength(1);
  await world.close();
});

test("an index whose file can't be opened is rebuilt, with a document written meanwhile", async () => {
  const medium = await storedIndex();
  let isBroken = true;
  const wrap = (store: PageStore): PageStore => ({
    ...smallLeaves(store),
    open: async (file, mode) => {
      if (file !== 'db.1' && isBroken && mode === 'open') throw new DatabaseError('storage_corrupt', 'It is no file.');
      return store.open(file, mode);
    },
    destroy: async (file) => {
      isBroken = false;
      await store.destroy(file);
    },
  });
  const world = await ViewFixture.open({ medium, wrap });
  await world.write({ e: { n: 0 } });
  expect(await withReader(await world.group(views), (reader) => groupsOf(reader, 'v'))).toEqual([[null, 61]]);
  await world.close();
});

test('an update that finds damage is made in the new index', async () => {
  const medium = await storedIndex();
  for (const number of indexIn(medium)[1].pages.keys()) damagePage(indexIn(medium)[1], number);
  const world = await ViewFixture.open({ medium, wrap: smallLeaves });
  await world.write({ e: { n: 0 } });
  const group = await world.group(views);
  expect(await withReader(group, (reader) => groupsOf(reader, 'v'))).toEqual([[null, 61]]);
  group.release();
  await world.close();
  const again = await ViewFixture.open({ medium, wrap: smallLeaves });
  expect(await withReader(await again.group(views), (reader) => groupsOf(reader, 'v'))).toEqual([[null, 61]]);
  expect(again.logged).toEqual([]);
  await again.close();
});
