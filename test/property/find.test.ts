import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Core } from '../../src/core/core.ts';
import { at } from '../support/conformance/json.ts';
import type { Json } from '../support/view-fixture.ts';
import { askJson, openCore, pick, pluck } from '../unit/http/support.ts';
import { compare, fulfils } from './find-model.ts';

const text = fc.constantFrom('', 'a', 'A', 'ab', 'aB', 'ä', 'a\u0308', 'b', 'เ', 'เก', 'и\u0306', 'и', '😀');
const scalar = fc.oneof(fc.constantFrom<Json[]>(null, false, true), fc.integer({ min: -2, max: 3 }), text);
const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 5, arbitrary: scalar as fc.Arbitrary<Json> },
  { weight: 1, arbitrary: fc.array(scalar as fc.Arbitrary<Json>, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.record({ x: scalar as fc.Arbitrary<Json> }, { requiredKeys: [] }) },
);
const id = fc.integer({ min: 0, max: 30 }).map((number) => `${number % 3 === 0 ? 'D' : 'd'}${number}`);
const document = fc.record({ a: value, b: value, c: value }, { requiredKeys: [] });
const edits = fc.array(fc.record({ id, document: fc.option(document, { nil: undefined, freq: 5 }) }), {
  maxLength: 20,
});

const field = fc.constantFrom('a', 'b', 'c', 'a.x', 'a.0', 'c.x');
const condition: fc.Arbitrary<Json> = fc.oneof(
  { weight: 3, arbitrary: value },
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom('$eq', '$ne', '$lt', '$lte', '$gt', '$gte'), value)
      .map(([operator, argument]) => ({ [operator]: argument })),
  },
  { weight: 2, arbitrary: fc.boolean().map(($exists) => ({ $exists })) },
  { weight: 2, arbitrary: text.map(($beginsWith) => ({ $beginsWith })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('$in', '$nin', '$all'), fc.array(value, { maxLength: 3 }))
      .map(([operator, argument]) => ({ [operator]: argument })),
  },
  { weight: 1, arbitrary: fc.nat({ max: 3 }).map(($size) => ({ $size })) },
  { weight: 1, arbitrary: fc.constantFrom('a', '^a?b', '[a-b]$', '').map(($regex) => ({ $regex })) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(2, -3), fc.constantFrom(0, 1, -1)).map(($mod) => ({ $mod })) },
  { weight: 1, arbitrary: fc.constantFrom('null', 'string', 'array', 'object', 'none').map(($type) => ({ $type })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('$elemMatch', '$allMatch', '$keyMapMatch'), scalar)
      .map(([operator, $gte]) => ({ [operator]: { $gte } })),
  },
);
const idCondition: fc.Arbitrary<Json> = fc.oneof(
  fc.tuple(fc.constantFrom('$eq', '$lt', '$lte', '$gt', '$gte', '$beginsWith'), id).map(([operator, argument]) => {
    return { [operator]: operator === '$beginsWith' ? argument.slice(0, 2) : argument };
  }),
  fc.array(id, { maxLength: 4 }).map(($in) => ({ $in })),
  fc
    .tuple(fc.constantFrom('$eq', '$ne', '$lt', '$lte', '$gt', '$gte'), fc.constantFrom<Json>(0, null, true, [], {}))
    .map(([operator, argument]) => ({ [operator]: argument })),
);
const { selector } = fc.letrec<{ selector: Json; simple: Json }>((tie) => ({
  simple: fc.oneof(
    { weight: 6, arbitrary: fc.dictionary(field, condition, { minKeys: 1, maxKeys: 3 }) },
    { weight: 1, arbitrary: fc.record({ _id: idCondition }) },
    {
      weight: 3,
      arbitrary: fc.tuple(field, condition, condition).map(([name, one, other]) => ({
        $and: [{ [name]: one }, { [name]: other }],
      })),
    },
  ),
  selector: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 4, arbitrary: tie('simple') },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('$and', '$or', '$nor'), fc.array(tie('selector'), { maxLength: 3 }))
        .map(([name, parts]) => ({ [name]: parts })),
    },
    { weight: 1, arbitrary: tie('selector').map(($not) => ({ $not })) },
  ),
}));
const query = fc.record({
  selector,
  sort: fc.constantFrom<Json[]>([], ['a'], ['a', 'b'], [{ b: 'desc' }], ['c'], [{ _id: 'desc' }]),
  skip: fc.nat({ max: 4 }),
  page: fc.integer({ min: 1, max: 9 }),
});

const INDEXES = [['a'], ['b'], ['a', 'b'], ['b', 'c', 'a'], ['a.x'], ['c', '_id']];

type Documents = ReadonlyMap<string, Readonly<Record<string, Json>>>;

/** Two databases with the same documents, one of which has indexes. */
class World {
  readonly core: Core;
  readonly documents = new Map<string, Readonly<Record<string, Json>>>();
  readonly #revs = new Map<string, unknown>();

  private constructor(core: Core) {
    this.core = core;
  }

  static async open(): Promise<World> {
    const core = await openCore();
    for (const name of ['plain', 'indexed']) await askJson(core, `PUT /${name}`);
    for (const fields of INDEXES) await post(core, '/indexed/_index', { index: { fields } });
    return new World(core);
  }

  async apply(all: readonly { id: string; document: Readonly<Record<string, Json>> | undefined }[]): Promise<void> {
    for (const { id: _id, document: body } of all) {
      if (body === undefined && !this.documents.has(_id)) continue;
      const rev = this.#revs.get(_id);
      const doc = { _id, ...(rev === undefined ? {} : { _rev: rev }), ...(body ?? { _deleted: true }) };
      for (const name of ['plain', 'indexed']) {
        const written = await post(this.core, `/${name}/_bulk_docs`, { docs: [doc] });
        this.#revs.set(_id, pick(written, 0, 'rev'));
      }
      if (body === undefined) {
        this.documents.delete(_id);
        this.#revs.delete(_id);
      } else {
        this.documents.set(_id, body);
      }
    }
  }

  /** The ids on all pages. Undefined where the order has no index. */
  async find(name: string, { page, ...body }: Readonly<Record<string, Json>>): Promise<unknown[] | undefined> {
    const found: unknown[] = [];
    for (let bookmark: unknown = 'nil', skip = body['skip']; ; skip = 0) {
      const asked = { ...body, skip, limit: page, bookmark, fields: ['_id'] };
      const answer = await post(this.core, `/${name}/_find`, asked);
      if (at(answer, 'error') === 'no_usable_index') return undefined;
      const ids = pluck(pick(answer, 'docs'), '_id');
      if (ids.length === 0) return found;
      found.push(...ids);
      bookmark = pick(answer, 'bookmark');
    }
  }
}

async function post(core: Core, path: string, body: unknown): Promise<unknown> {
  const [, answer] = await askJson(core, `POST ${path}`, { body: JSON.stringify(body) });
  return answer;
}

/** The sort's fields, with what they sort by. */
function sortKeys(documents: Documents, found: readonly unknown[], fields: readonly string[]): Json[][] {
  return found.map((each) => fields.map((name) => documents.get(`${each}`)?.[name] ?? null));
}

describe('_find against a plain filter', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.open();
  });
  afterAll(() => world.core.close());

  test('returns the same documents with and without indexes, page by page', async () => {
    let sorted = 0;
    await fc.assert(
      fc.asyncProperty(edits, fc.array(query, { minLength: 8, maxLength: 8 }), async (changes, queries) => {
        await world.apply(changes);
        for (const one of queries) {
          const fields = one.sort.map((each) => (typeof each === 'string' ? each : `${Object.keys(each ?? {})[0]}`));
          const isById = fields.every((name) => name === '_id');
          const expected = [...world.documents]
            .filter(([_id, body]) => fulfils({ _id, ...body }, one.selector))
            .filter(([, body]) => isById || fields.every((name) => name in body))
            .map(([name]) => name);
          const asked = { ...one, skip: 0 };
          const indexed = await world.find('indexed', asked);
          if (isById) {
            const inOrder = expected.toSorted((left, right) => (left < right ? -1 : 1));
            if (fields.length > 0) inOrder.reverse();
            expect(await world.find('plain', asked)).toEqual(inOrder);
            expect(await world.find('plain', one as never)).toEqual(inOrder.slice(one.skip));
          } else {
            // A filter finds no order; an index has it or there is no answer.
            expect(await world.find('plain', asked)).toBeUndefined();
          }
          if (indexed === undefined) continue;
          expect(indexed.toSorted()).toEqual(expected.toSorted());
          expect(await world.find('indexed', one as never)).toEqual(indexed.slice(one.skip));
          if (isById) continue;
          sorted++;
          const keys = sortKeys(world.documents, indexed, fields);
          if (typeof one.sort[0] !== 'string') keys.reverse();
          for (const [index, key] of keys.entries()) {
            if (index > 0) expect(compare(keys[index - 1] ?? [], key)).toBeLessThanOrEqual(0);
          }
        }
      }),
      { numRuns: 40 },
    );
    expect(sorted).toBeGreaterThan(20);
  }, 300_000);
});
