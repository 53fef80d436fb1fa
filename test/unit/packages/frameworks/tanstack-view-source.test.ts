import { afterEach, expect, test } from 'vitest';
import { MemoryService } from '../../../../src/browser/msw/memory-service.ts';
import { readQuickJsWasm } from '../../../../src/node/server/platform.ts';
import { database } from '../../../../src/packages/database-client/index.ts';
import { pagesOf } from '../../../../src/packages/frameworks/tanstack/sources.ts';
import { ViewReader } from '../../../../src/packages/frameworks/tanstack/view-reader.ts';
import { ViewSource } from '../../../../src/packages/frameworks/tanstack/view-source.ts';

interface Note {
  key: number | null;
  text: string;
}

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** For each key as many documents as the key says; `null` has one. */
async function open(keys: readonly (number | null)[], refuses: RegExp = /^$/) {
  const service = new MemoryService({ basePath: '/db', config: {} }, readQuickJsWasm);
  ends.push(() => service.reset());
  const asked: string[] = [];
  const notes = database<Note>(async (address, init) => {
    asked.push(address.replace(/^\/db\/notes|\?.*/g, ''));
    if (refuses.test(address)) return new Response('not here', { status: 404 });
    return service.fetch(new Request(new URL(address, 'http://localhost'), init as RequestInit));
  }, '/db/notes');
  await notes.create();
  const body = JSON.stringify({ views: { keys: { map: 'function (doc) { emit(doc.key); }', reduce: '_count' } } });
  await notes.fetch('/db/notes/_design/d', { method: 'PUT', headers: {}, body });
  const ids = keys.flatMap((key) => Array.from({ length: key ?? 1 }, (_, index) => ({ _id: `${key}-${index}`, key })));
  await notes.bulk(ids.map((note) => ({ ...note, text: note._id })));
  asked.length = 0;
  const views = () => asked.splice(0).filter((path) => path.includes('/_view/'));
  return { notes, views, ids: ids.map(({ _id }) => _id).sort() };
}

const single = (key: number | null) => ({ bounds: { startkey: key, endkey: key } });
const one = '/_design/d/_view/keys';

test.each([
  ['few rows of each', [1, 2, 3, 4, null], [`${one}/queries`]],
  ['equal numbers of rows and as many as are asked of each', [250, 249], [`${one}/queries`, one]],
  ['many rows of some', [1, 400, 600, 2], [`${one}/queries`, `${one}/queries`, `${one}/queries`]],
])('several ranges are read with one request, up to what a page may have: %s', async (_, keys, requests) => {
  const { notes, views, ids } = await open([...keys, 7]);
  const source = new ViewSource({ database: notes, view: 'd/keys', conflicts: false }, keys.map(single));
  const found: string[] = [];
  for await (const documents of pagesOf(source)) {
    expect(documents.length).toBeLessThanOrEqual(500);
    found.push(...documents.map(({ _id }) => _id));
  }
  expect(found.sort()).toEqual(ids.filter((id) => !id.startsWith('7-')));
  expect(views()).toEqual(requests);
});

test.each([
  ['at once', 1_000, /^$/, 10, 1],
  ['one by one, where several are refused', 120, /queries/, 122, 121],
])('many ranges are read %s', async (_, count, refuses, first, later) => {
  const { notes, views } = await open([1], refuses);
  const numbers = Array.from({ length: count }, (_, index) => 10 + index);
  await notes.bulk(numbers.map((key) => ({ _id: `n${key}`, key, text: 'x' })));
  const source = new ViewSource({ database: notes, view: 'd/keys', conflicts: false }, numbers.map(single));
  const found = [];
  for await (const documents of pagesOf(source)) found.push(...documents);
  expect(found.map(({ key }) => key)).toEqual(numbers);
  expect(views().length).toBe(first);
  expect((await source.among(['n20', '1-0', 'n99', 'none'])).map(({ _id }) => _id)).toEqual(['n20', 'n99']);
  expect(views().length).toBe(later);
});

test.each([
  ['asc', 4, ['1-0', '2-0', '2-1', '6-0'], ['6-1', '6-2', '6-3', '6-4', '6-5']],
  ['asc', 3, ['1-0', '2-0', '2-1'], []],
  ['desc', 2, ['6-5', '6-4'], ['6-3', '6-2', '6-1', '6-0']],
  ['desc', 20, ['6-5', '6-4', '6-3', '6-2', '6-1', '6-0', '2-1', '2-0', '1-0'], []],
] as const)(
  'a page that is ordered %s, of %d, has those that equal its last one, read once',
  async (direction, limit, page, equals) => {
    const { notes } = await open([1, 2, 6]);
    const reader = new ViewReader({ database: notes, view: 'd/keys', conflicts: false, keyFields: 'key', range: {} });
    const expression = { type: 'ref', path: ['key'] };
    const orderBy = [{ expression, compareOptions: { direction, nulls: 'first' } }] as const;
    const pages: (readonly string[])[] = [];
    const extents: unknown[] = [];
    const plan = reader.plan({ orderBy, limit });
    for await (const documents of plan.read((ranges) => void extents.push(ranges.at(-1)?.bounds))) {
      if (documents.length > 0) pages.push(documents.map(({ _id }) => _id));
    }
    expect(pages).toEqual(equals.length > 0 ? [page, equals] : [page]);
    const followed = { asc4: { endkey: 6 }, asc3: { endkey: 2 }, desc2: { startkey: 6 }, desc20: { startkey: false } };
    expect(extents.at(-1)).toEqual(followed[`${direction}${limit}` as keyof typeof followed]);
  },
);

test('documents of several ranges are asked for together, once, if the same is asked of them', async () => {
  const { notes } = await open([3, 4, 5]);
  const asked: string[] = [];
  const counting = database<Note>((address, init) => {
    asked.push(address.replace(/^\/db\/notes|\?.*/g, ''));
    return notes.fetch(address, init);
  }, '/db/notes');
  const rest = { text: { $in: ['3-0', '4-0', '5-0'] } };
  const ranges = [{ ...single(3), rest }, { ...single(4), rest }, { bounds: { startkey: 4, endkey: 5 } }];
  const source = new ViewSource({ database: counting, view: 'd/keys', conflicts: false }, ranges);
  const { documents, next } = await source.page(undefined);
  expect(documents.map(({ _id }) => _id).sort()).toEqual(
    ['3-0', '4-0', '4-1', '4-2', '4-3', '5-0', '5-1', '5-2', '5-3', '5-4'].sort(),
  );
  expect(next).toBe(undefined);
  expect(asked).toEqual([`${one}/queries`, '/_find', '/_all_docs']);
  const changed = await source.among(['3-0', '3-1', '4-0', '5-1']);
  expect(changed.map(({ _id }) => _id).sort()).toEqual(['3-0', '4-0', '5-1']);
});
