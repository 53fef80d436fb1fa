import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKeyOrder } from '../../../../src/base/collation/key-order.ts';
import { systemClock } from '../../../../src/base/shared/clock.ts';
import type { JsonObject } from '../../../../src/queries/find/contract.ts';
import { createFinder } from '../../../../src/queries/find/finder.ts';
import { createQueryMappers } from '../../../../src/queries/find/query-mapper.ts';
import { createTest } from '../../../../src/queries/find/selectors/selector-check.ts';
import { parseSelector } from '../../../../src/queries/find/selectors/selector-parser.ts';
import type { PageStore } from '../../../../src/storage/page-store.ts';
import { type Json, ViewFixture } from '../../../support/view-fixture.ts';

/** Leaves of some rows each, so that there is something to pass over. */
const wrap = (store: PageStore): PageStore => ({
  supports: { ...store.supports, leafBytes: 400 },
  list: () => store.list(),
  open: (file, mode) => store.open(file, mode),
  destroy: (file) => store.destroy(file),
  close: () => store.close(),
});

const order = createKeyOrder('unicode');
const values: readonly Json[] = [
  null,
  true,
  0,
  1,
  2,
  'a',
  'ä',
  'a\u0308',
  'b',
  [],
  [1],
  ['a', 2],
  [[1]],
  {},
  { a: 1 },
  { b: 1 },
];
const documents = Array.from({ length: 400 }, (_, n) => ({
  _id: `d${String(n).padStart(3, '0')}`,
  g: n % 3 === 0 ? (values[(n / 3) % values.length] ?? null) : n,
  h: n % 2,
}));

let fixture: ViewFixture;
let finder: ReturnType<typeof createFinder>;

beforeAll(async () => {
  fixture = await ViewFixture.open({ wrap, parts: { mappers: { query: createQueryMappers() } } });
  finder = createFinder({ views: fixture.views, clock: systemClock, maxSteps: () => undefined });
  const writer = { durability: 'relaxed', user: undefined } as const;
  await fixture.write(Object.fromEntries(documents.map(({ _id, ...body }) => [_id, body])));
  await finder.createIndex(fixture.database, { index: { fields: ['g'] }, ddoc: 'g', name: 'g' }, writer);
  await finder.createIndex(fixture.database, { index: { fields: ['h', 'g'] }, ddoc: 'hg', name: 'hg' }, writer);
});

afterAll(() => fixture.close());

interface Answer {
  readonly docs: readonly { readonly _id: string }[];
  readonly bookmark: string;
  readonly execution_stats: { readonly total_keys_examined: number };
}

async function find(body: JsonObject): Promise<Answer> {
  const answer = await finder.find(fixture.database, { execution_stats: true, ...body });
  let text = '';
  for await (const piece of answer.pieces) text += piece;
  answer.release();
  return JSON.parse(text);
}

/** All that are found, some at a time. */
async function findAll(body: JsonObject, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let bookmark = 'nil'; ; ) {
    const page = await find({ ...body, limit, bookmark });
    if (page.docs.length === 0) return ids;
    ids.push(...page.docs.map(({ _id }) => _id));
    ({ bookmark } = page);
  }
}

const listed = fc.array(fc.oneof(fc.constantFrom(...values), fc.nat({ max: 450 })), { maxLength: 12 });
const condition = fc.oneof(
  listed.map((list) => ({ g: { $in: list } })),
  listed.filter(({ length }) => length > 0).map((list) => ({ $or: list.map((g) => ({ g })) })),
  fc.tuple(listed, fc.nat({ max: 400 })).map(([list, n]) => ({ g: { $in: list, $gt: n } })),
  fc.tuple(listed, fc.constantFrom(...values)).map(([list, n]) => ({ g: { $in: list, $lte: n } })),
);
const query = fc.record({
  selector: fc.oneof(
    condition,
    condition.map((one) => ({ h: 1, ...one })),
  ),
  descending: fc.boolean(),
  limit: fc.constantFrom(1, 7, 500),
  index: fc.constantFrom(['g'], ['hg']),
});

describe('values listed in a selector', () => {
  test('are looked up in an index in its order, with the result of testing all rows', async () => {
    await fc.assert(
      fc.asyncProperty(query, async ({ selector, descending, limit, index }) => {
        const given = index[0] === 'hg' ? { h: 1, ...selector } : selector;
        const passes = createTest(parseSelector(given), order);
        const meant: typeof documents = [];
        for (const document of documents) if (await passes(document)) meant.push(document);
        meant.sort((one, other) => order(one.g, other.g) || (one._id < other._id ? -1 : 1));
        if (descending) meant.reverse();
        const body = { selector: given, use_index: index, sort: [{ g: descending ? 'desc' : 'asc' }] };
        expect(await findAll(body, limit)).toEqual(meant.map(({ _id }) => _id));
      }),
      { numRuns: 150 },
    );
  });

  test('read only the rows that they need', async () => {
    // With $in all arrays are read as well: they may have a listed element.
    for (const [selector, most] of [
      [{ g: { $in: [100, 391] } }, 90],
      [{ $or: [{ g: 100 }, { g: 391 }] }, 60],
    ] as const) {
      const { docs, execution_stats } = await find({ selector });
      expect(docs.map(({ _id }) => _id)).toEqual(['d100', 'd391']);
      expect(execution_stats.total_keys_examined).toBeLessThan(most);
      const explained = JSON.parse(await finder.explain(fixture.database, { selector }));
      expect(explained).toMatchObject({ index: { name: 'g' }, mrargs: { lookups: 2 } });
    }
  });

  test('that are ids return documents in their order', async () => {
    const selector = { $or: ['d003', 'd001', 'none', 'd002', 'd001'].map((_id) => ({ _id })) };
    const { docs, execution_stats } = await find({ selector });
    expect(docs.map(({ _id }) => _id)).toEqual(['d001', 'd002', 'd003']);
    expect(execution_stats.total_keys_examined).toBe(4);
    const { mrargs } = JSON.parse(await finder.explain(fixture.database, { selector }));
    expect(mrargs.keys).toEqual(['d001', 'd002', 'd003', 'none']);
  });
});
