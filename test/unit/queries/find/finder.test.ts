import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { systemClock } from '../../../../src/base/shared/clock.ts';
import type { Database } from '../../../../src/database/store/contract.ts';
import type { FindAnswer, Finder, JsonObject } from '../../../../src/queries/find/contract.ts';
import { createFinder } from '../../../../src/queries/find/finder.ts';
import { createQueryMappers } from '../../../../src/queries/find/query-mapper.ts';
import type { ViewIndexes } from '../../../../src/queries/views/contract.ts';
import { ViewFixture } from '../../../support/view-fixture.ts';

const writer = { durability: 'relaxed', user: undefined } as const;

/** What is held of a database and its indexes. */
interface Held {
  count: number;
  failing: boolean;
}

/** Counts what has a `release`, from all of these methods, and from those of what they give. */
function counting<T extends object>(target: T, methods: readonly string[], held: Held): T {
  return new Proxy(target, {
    get(object, name) {
      const member: unknown = Reflect.get(object, name, object);
      if (typeof member !== 'function') return member;
      if (name === 'bodies' && held.failing)
        return () => Promise.reject(new DatabaseError('storage_failed', 'no disk'));
      if (!methods.includes(String(name))) return member.bind(object);
      return (...given: unknown[]) => {
        const found: unknown = Reflect.apply(member, object, given);
        return found instanceof Promise ? found.then((one) => counted(one, held)) : counted(found, held);
      };
    },
  });
}

function counted(found: unknown, held: Held): unknown {
  if (!(found instanceof Object) || !('release' in found)) return found;
  held.count++;
  const given = counting(found, ['read'], held);
  return new Proxy(given, {
    get(object, name) {
      const member: unknown = Reflect.get(object, name, object);
      if (name !== 'release' || typeof member !== 'function') return member;
      return () => {
        held.count--;
        Reflect.apply(member, object, []);
      };
    },
  });
}

async function textOf({ pieces, release }: FindAnswer): Promise<string> {
  let text = '';
  try {
    for await (const piece of pieces) text += piece;
  } finally {
    release();
  }
  return text;
}

describe('a finder', () => {
  let fixture: ViewFixture;
  let held: Held;
  let database: Database;
  let finder: Finder;

  beforeEach(async () => {
    fixture = await ViewFixture.open({ parts: { mappers: { query: createQueryMappers() } } });
    held = { count: 0, failing: false };
    database = counting<Database>(fixture.database, ['snapshot'], held);
    finder = createFinder({
      views: counting<ViewIndexes>(fixture.views, ['open'], held),
      clock: systemClock,
      maxSteps: () => undefined,
    });
    await fixture.write(Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`d${n}`, { n, text: `${n}` }])));
    await finder.createIndex(database, { index: { fields: ['n'] } }, writer);
  });
  afterEach(() => fixture.close());

  test('keeps the order of fields, whatever their names', async () => {
    await finder.createIndex(database, { index: { fields: ['n', '7'] }, ddoc: 'order', name: 'order' }, writer);
    const made = (await finder.indexes(database)).find(({ name }) => name === 'order');
    expect(made).toMatchObject({ def: { fields: [{ n: 'asc' }, { 7: 'asc' }] } });
  });

  const find = (body: JsonObject) => finder.find(database, { limit: 500, ...body });
  const queries: readonly JsonObject[] = [
    { selector: { n: { $gte: 0 } } },
    { selector: { n: { $gte: 0 } }, fields: ['n'] },
    { selector: { text: { $gte: '' } } },
    { selector: { _id: { $in: ['d1', 'd2'] } } },
  ];

  test('releases everything at the end', async () => {
    for (const body of queries) {
      const answer = await find(body);
      expect(held.count).toBeGreaterThan(0);
      expect(JSON.parse(await textOf(answer)).docs.length).toBeGreaterThan(1);
      expect(held.count).toBe(0);
    }
  });

  test('releases everything when the reader stops', async () => {
    for (const body of queries) {
      const answer = await find(body);
      await answer.pieces.next();
      await answer.pieces.next();
      await answer.pieces.return();
      answer.release();
      answer.release();
      expect(held.count).toBe(0);
    }
  });

  test('releases everything when a read fails, or the query is invalid', async () => {
    held.failing = true;
    await expect(textOf(await find({ selector: { text: '1' } }))).rejects.toThrow('no disk');
    expect(held.count).toBe(0);
    await expect(find({ selector: { text: '1' }, sort: ['text'] })).rejects.toThrow(/No index exists/);
    await expect(finder.explain(database, { selector: 1 })).rejects.toThrow(/Selector must be/);
    expect(held.count).toBe(0);
  });

  test('reads a design document once for each of its revisions', async () => {
    const bodies: unknown[] = [];
    const watched = new Proxy(fixture.database, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name, object);
        if (typeof member !== 'function') return member;
        if (name !== 'snapshot') return member.bind(object);
        return () => {
          const snapshot = object.snapshot();
          const body = snapshot.body.bind(snapshot);
          return Object.assign(snapshot, {
            body: (node: Parameters<typeof body>[0]) => {
              bodies.push(node);
              return body(node);
            },
          });
        };
      },
    });
    for (let round = 0; round < 3; round++) await textOf(await finder.find(watched, { selector: { n: 5 } }));
    expect(bodies).toHaveLength(1);
  });

  test('lets other work have turns while all documents are read', async () => {
    const long = 'a'.repeat(20_000);
    await fixture.write(Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`long${n}`, { long }])));
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const found = await textOf(await find({ selector: { long: { $regex: '(a|b)*c' } } }));
    isDone = true;
    expect(JSON.parse(found).docs).toEqual([]);
    expect(turns).toBeGreaterThan(2);
  });

  test('continues if an invalid index definition is stored', async () => {
    const views = {
      v: { map: { fields: {} } },
      w: { map: { fields: { 'a..b': 'asc' } } },
      x: { map: 'function () {}' },
    };
    await fixture.write({ '_design/odd': { language: 'query', views } });
    expect(await finder.indexes(database)).toHaveLength(2);
    expect(JSON.parse(await textOf(await find({ selector: { n: { $lt: 2 } } }))).docs).toHaveLength(2);
  });
});
