import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ViewGroup, ViewReader } from '../../src/queries/views/contract.ts';
import type { PageStore } from '../../src/storage/page-store.ts';
import { roundsOf } from '../support/long-runs.ts';
import { groupsOf, type Json, rowsOf, ViewFixture } from '../support/view-fixture.ts';
import { emittedRows, folds, type ModelQuery, type ModelRow, queryGroups, queryRows } from './views-model.ts';

const keyText = fc.constantFrom('', 'a', 'A', 'ä', 'aa', 'b', 'B', 'ba', 'z', '日本', 'я', '-', '_');
const scalarKey = fc.oneof(fc.constantFrom(null, false, true), fc.integer({ min: -3, max: 5 }), keyText);
const key = fc.oneof(
  { weight: 3, arbitrary: scalarKey },
  { weight: 3, arbitrary: fc.array(scalarKey, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.dictionary(fc.constantFrom('a', 'b', 'B'), scalarKey, { maxKeys: 2 }) },
) as fc.Arbitrary<Json>;
const id = fc.integer({ min: 0, max: 40 }).map((number) => (number % 10 === 0 ? `é${number}` : `d${number}`));
/** Long values make several leaves of few rows. */
const edit = fc.record({
  id,
  document: fc.option(
    fc.record({ k: fc.array(key, { maxLength: 3 }), v: fc.integer({ min: -50, max: 50 }), pad: fc.boolean() }),
    { nil: undefined, freq: 4 },
  ),
});
const bound = fc.option(key, { nil: undefined, freq: 2 });
const docId = fc.option(id, { nil: undefined, freq: 2 });
const query = fc.record({
  start: bound,
  startDocId: docId,
  end: bound,
  endDocId: docId,
  inclusiveEnd: fc.boolean(),
  descending: fc.boolean(),
  keys: fc.option(fc.array(key, { maxLength: 4 }), { nil: undefined, freq: 5 }),
  skip: fc.nat({ max: 6 }),
  limit: fc.oneof(fc.constant(undefined), fc.nat({ max: 10 })),
  groupLevel: fc.constantFrom<(number | 'exact')[]>(0, 1, 2, 'exact'),
});

const map = 'function (doc) { doc.k.forEach(function (key) { emit(key, doc.v); }); }';
const own = `function (keys, values, rereduce) {
  var max = -Infinity, ids = 0;
  values.forEach(function (value, index) {
    max = Math.max(max, rereduce ? value.max : value);
    ids += rereduce ? value.ids : keys[index][1].length > 0 ? 1 : 0;
  });
  return { max: max, ids: ids };
}`;
const views = {
  sum: { map, reduce: '_sum' },
  count: { map, reduce: '_count' },
  stats: { map, reduce: '_stats' },
  own: { map, reduce: own },
  first: { map, reduce: '_first' },
  last: { map, reduce: '_last' },
  top: { map, reduce: '_top_3' },
};

interface Query extends ModelQuery {
  readonly groupLevel: number | 'exact';
}

/** Leaves of a few rows, portions and steps of a few documents: all seams are met. */
const settings = { flushRows: 7, stepRows: 3, dirtyBytes: 600, idleMs: 5, turnMs: 1, cacheBytes: 2_000 };

class World {
  readonly fixture: ViewFixture;
  readonly documents = new Map<string, { k: readonly Json[]; v: Json }>();
  group: ViewGroup;

  constructor(fixture: ViewFixture, group: ViewGroup) {
    this.fixture = fixture;
    this.group = group;
  }

  static async open(): Promise<World> {
    const wrap = (store: PageStore): PageStore => ({
      supports: { ...store.supports, leafBytes: 250 },
      list: () => store.list(),
      open: (file, mode) => store.open(file, mode),
      destroy: (file) => store.destroy(file),
      close: () => store.close(),
    });
    const fixture = await ViewFixture.open({ parts: { settings }, wrap });
    return new World(fixture, await fixture.group(views));
  }

  async apply(edits: readonly { id: string; document: { k: readonly Json[]; v: number; pad: boolean } | undefined }[]) {
    for (const { id: name, document } of edits) {
      if (document === undefined && !this.documents.has(name)) continue;
      await this.fixture.write({ [name]: document === undefined ? undefined : { k: document.k, v: document.v } });
      if (document === undefined) this.documents.delete(name);
      else this.documents.set(name, document);
    }
  }

  async read<T>(use: (reader: ViewReader) => Promise<T>): Promise<T> {
    const reader = await this.group.read();
    try {
      return await use(reader);
    } finally {
      reader.release();
    }
  }
}

async function checkQuery(reader: ViewReader, all: readonly ModelRow[], query: Query): Promise<void> {
  const expected = queryRows(all, query);
  const found = await reader.rows('sum', query);
  expect(found.totalRows).toBe(all.length);
  if (expected.rows.length > 0 || query.keys === undefined) expect(found.offset).toBe(expected.offset);
  expect(await rowsOf(reader, 'sum', query)).toEqual(expected.rows.map((row) => [row.id, row.key, row.value]));
  for (const [view, fold] of Object.entries(folds)) {
    const groups = await groupsOf(reader, view, query);
    expect(groups, view).toEqual(queryGroups(all, query, fold));
  }
}

describe('a view against a plain sort and fold', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.open();
  });
  afterAll(async () => {
    world.group.release();
    await world.fixture.close();
  });

  test('returns the same rows, whatever was written and however it is queried', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(edit, { maxLength: 25 }),
        fc.array(query, { minLength: 4, maxLength: 6 }),
        async (edits, queries) => {
          await world.apply(edits);
          const all = emittedRows(world.documents);
          await world.read(async (reader) => {
            for (const one of queries) await checkQuery(reader, all, one as Query);
          });
        },
      ),
      { numRuns: roundsOf(60, 150) },
    );
  }, 300_000);
});
