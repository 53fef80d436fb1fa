import { expect, test } from 'vitest';
import { MemoryService } from '../../../../src/browser/msw/memory-service.ts';
import { readQuickJsWasm } from '../../../../src/node/server/platform.ts';
import { database } from '../../../../src/packages/database-client/index.ts';
import type { Expression } from '../../../../src/packages/frameworks/tanstack/contract.ts';
import { mergeChange } from '../../../../src/packages/frameworks/tanstack/merge.ts';
import { SelectorSource } from '../../../../src/packages/frameworks/tanstack/sources.ts';
import { translateKeys } from '../../../../src/packages/frameworks/tanstack/view-keys.ts';
import { ViewSource } from '../../../../src/packages/frameworks/tanstack/view-source.ts';
import { translate } from '../../../../src/packages/frameworks/tanstack/where.ts';
import { setteeCollectionOptions } from '../../../../src/packages/frameworks/tanstack.ts';

const field = (...path: string[]): Expression => ({ type: 'ref', path });
const val = (value: unknown): Expression => ({ type: 'val', value });
const call = (name: string, ...args: Expression[]): Expression => ({ type: 'func', name, args });
const a = field('a');

test.each<[string, Expression, object]>([
  ['equality', call('eq', a, val('x')), { a: { $eq: 'x' } }],
  ['equality the other way round', call('eq', val(1), a), { a: { $eq: 1 } }],
  ['a number and more', call('gt', a, val(5)), { a: { $gt: 5, $lt: '' } }],
  ['a number and less', call('lte', a, val(5)), { a: { $lte: 5, $gt: true } }],
  ['a date and more', call('gte', a, val('2026-01-01')), { a: { $gte: '2026-01-01', $lt: [] } }],
  ['a date and less', call('gt', val('2026'), a), { a: { $lt: '2026', $gte: '' } }],
  ['ids', call('gt', field('_id'), val('m')), { _id: { $gt: 'm' } }],
  ['one of several', call('in', a, val(['x', null, 'y'])), { a: { $in: ['x', 'y'] } }],
  ['a member of a member', call('eq', field('a', 'b.c'), val(true)), { 'a.b\\.c': { $eq: true } }],
  [
    'a member of a named source',
    call('eq', { ...field('note', 'a'), sourceAlias: 'note' } as Expression, val(1)),
    { a: { $eq: 1 } },
  ],
  ['a beginning', call('like', a, val('abc%')), { a: { $beginsWith: 'abc' } }],
  ['an absent member', call('isUndefined', a), { a: { $exists: false } }],
  ['null', call('isNull', a), { a: { $eq: null } }],
  [
    'a member that is null, or of null',
    call('isNull', field('a', 'b')),
    { $or: [{ a: { $eq: null } }, { 'a.b': { $eq: null } }] },
  ],
  [
    'an absent member of no null',
    call('isUndefined', field('a', 'b')),
    { $and: [{ 'a.b': { $exists: false } }, { $or: [{ a: { $ne: null } }, { a: { $exists: false } }] }] },
  ],
  [
    'a member that is there, or of null',
    call('not', call('isUndefined', field('a', 'b'))),
    { $or: [{ 'a.b': { $exists: true } }, { a: { $eq: null } }] },
  ],
  ['a comparison with null', call('eq', a, val(null)), { _id: null }],
  ['everything', val(true), {}],
  ['nothing', val(false), { _id: null }],
  ['both', call('and', call('eq', a, val(1)), val(true)), { a: { $eq: 1 } }],
  ['either', call('or', call('eq', a, val(1)), call('eq', a, val(2))), { $or: [{ a: { $eq: 1 } }, { a: { $eq: 2 } }] }],
  ['a difference', call('not', call('eq', a, val(1))), { a: { $nin: [1, null] } }],
  ['the opposite of more', call('not', call('gt', a, val(5))), { a: { $lte: 5, $gt: true } }],
  [
    'neither',
    call('not', call('or', call('eq', a, val(1)), call('isUndefined', a))),
    { $and: [{ a: { $nin: [1, null] } }, { a: { $exists: true } }] },
  ],
])('a condition on %s is a selector that finds the same', (_, expression, selector) => {
  expect(translate(expression)).toEqual({ selector, isExact: true });
});

test.each<[string, Expression, object]>([
  ['a function of a member', call('eq', call('lower', a), val('x')), {}],
  ['a member that TanStack DB adds', call('eq', field('$synced'), val(true)), {}],
  ['a text and more', call('gt', a, val('m')), { a: { $type: 'string' } }],
  ['a pattern', call('like', a, val('ab%c')), { a: { $beginsWith: 'ab' } }],
  ['a pattern in any case', call('ilike', a, val('ab%')), { a: { $type: 'string' } }],
  ['a date object', call('gt', a, val(new Date(0))), {}],
  ['two members', call('eq', a, field('b')), {}],
  ['something beside', call('and', call('eq', a, val(1)), call('unknown', a)), { a: { $eq: 1 } }],
  ['an alternative', call('or', call('eq', a, val(1)), call('unknown', a)), {}],
  ['the opposite of a pattern', call('not', call('like', a, val('ab%'))), {}],
])('a condition on %s is a selector that finds more', (_, expression, selector) => {
  expect(translate(expression)).toEqual({ selector, isExact: false });
});

const [b, c] = [field('b'), field('c')];
const last = { '\uffff': {} };

test.each<[string, string | string[], Expression, object[], unknown[], unknown[]]>([
  ['equality', 'a', call('eq', a, val('x')), [{ startkey: 'x', endkey: 'x' }], ['x'], ['X']],
  ['more', 'a', call('gt', val(9), a), [{ startkey: true, endkey: 9 }], [8], [9, true, '1']],
  [
    'a date and more',
    'a',
    call('gte', a, val('2026')),
    [{ startkey: '2026', endkey: [] }],
    ['2026', '2027'],
    ['1999', 7],
  ],
  ['a text and more', 'a', call('gt', a, val('m')), [{ startkey: '', endkey: [] }], ['n'], ['M', 'm', null]],
  [
    'both ends',
    'a',
    call('and', call('gt', a, val(1)), call('and', call('lte', a, val(9)), call('gte', a, val(3)))),
    [{ startkey: 3, endkey: 9 }],
    [3, 9],
    [2, 10],
  ],
  [
    'one of several',
    ['a', 'b'],
    call('in', a, val(['x', null, 1])),
    [
      { startkey: ['x'], endkey: ['x', last] },
      { startkey: [1], endkey: [1, last] },
    ],
    [['x', 5], [1]],
    [['y'], 'x'],
  ],
  ['none', 'a', call('eq', a, val(null)), [], [], []],
  [
    'equality and more',
    ['a', 'b'],
    call('and', call('lt', b, val(5)), call('eq', a, val('x'))),
    [{ startkey: ['x', true], endkey: ['x', 5, last] }],
    [['x', 4]],
    [['x', 5]],
  ],
  ['the second element', ['a', 'b'], call('eq', b, val(1)), [{}], [['x', 1]], [['x', 2], ['x']]],
])('a condition on the key of a view is a range: %s', (_, fields, expression, bounds, meant, others) => {
  const { ranges, isExact } = translateKeys(fields, [expression]);
  expect(ranges.map((range) => range.bounds)).toEqual(bounds);
  expect(isExact).toBe(true);
  const isMeant = (key: unknown) => ranges.some(({ matches }) => matches === undefined || matches(key));
  for (const key of meant) expect([key, isMeant(key)]).toEqual([key, true]);
  for (const key of others) expect([key, isMeant(key)]).toEqual([key, false]);
});

test('a condition on anything but the key of a view is asked of documents', () => {
  const both = call('and', call('eq', a, val('x')), call('eq', c, val(1)));
  expect(translateKeys('a', [both, undefined])).toMatchObject({
    ranges: [{ bounds: { startkey: 'x', endkey: 'x' }, rest: { c: { $eq: 1 } } }],
    isExact: true,
  });
  const unknown = call('eq', call('lower', a), val('x'));
  expect(translateKeys('a', [unknown])).toMatchObject({ ranges: [{ bounds: {}, rest: {} }], isExact: false });
  expect(translateKeys('a', [call('eq', c, val(null))]).ranges).toEqual([]);
});

const note = (content: object) => ({ _id: 'n', _rev: '1-a', ...content });

test.each<[string, object | undefined, object, object | undefined, object | undefined]>([
  ['other members', { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 1, b: 3 }, { a: 2, b: 3 }],
  ['the same change', { a: 1 }, { a: 2 }, { a: 2 }, { a: 2 }],
  ['the same member', { a: 1 }, { a: 2 }, { a: 3 }, undefined],
  ['a removed member', { a: 1, b: 1 }, { b: 1 }, { a: 1, b: 2 }, { b: 2 }],
  ['a member that was removed there', { a: 1 }, { a: 2 }, {}, undefined],
  [
    'the order of members only',
    { a: { x: 1, y: 2 } },
    { a: { x: 1, y: 3 } },
    { a: { y: 2, x: 1 } },
    { a: { x: 1, y: 3 } },
  ],
  ['elements of an array', { a: [1] }, { a: [1, 2] }, { a: [0, 1] }, undefined],
  ['a deleted document', { a: 1 }, { a: 2 }, undefined, undefined],
])('a change in conflict: %s', (_, original, modified, stored, merged) => {
  const change = {
    type: 'update',
    id: 'n',
    original: original && note(original),
    modified: note(modified),
    stored: stored && { ...note(stored), _rev: '2-b' },
  } as const;
  expect(mergeChange(change)).toEqual(merged && { ...note(merged), _rev: '2-b' });
});

test('Blobs in conflict are other files, unless they are the same Blob', () => {
  const [mine, theirs] = [new Blob(['mine']), new Blob(['theirs'])];
  const of = (data: unknown, stars: number) => note({ files: { photo: data }, stars });
  const change = (original: unknown, modified: unknown, stored: unknown) =>
    mergeChange({
      type: 'update',
      id: 'n',
      original: of(original, 1),
      modified: of(modified, 1),
      stored: of(stored, 2),
    });
  expect(change(theirs, mine, theirs)).toEqual(of(mine, 2));
  expect(Reflect.get(change(theirs, mine, theirs) ?? {}, 'files')).toEqual({ photo: mine });
  expect(change({}, mine, {})).toEqual(of(mine, 2));
  expect(change({}, mine, theirs)).toBe(undefined);
  expect(change(mine, mine, theirs)).toEqual(of(theirs, 2));
});

test('a deletion in conflict holds if the document is the same as before, or is deleted', () => {
  const change = { type: 'delete', id: 'n', original: note({ a: 1 }), modified: note({ a: 1 }) } as const;
  expect(mergeChange({ ...change, stored: undefined })).toEqual({ _deleted: true });
  expect(mergeChange({ ...change, stored: { ...note({ a: 1 }), _rev: '3-c' } })).toEqual({ _deleted: true });
  expect(mergeChange({ ...change, stored: { ...note({ a: 2 }), _rev: '3-c' } })).toBe(undefined);
});

test('changed documents are looked up by their ids, whatever indexes the selector has', async () => {
  const service = new MemoryService({ basePath: '/db', config: {} }, readQuickJsWasm);
  try {
    let body = '';
    const notes = database<{ list: string }>((address, init) => {
      if (address.endsWith('/_find')) body = String(init.body);
      return service.fetch(new Request(new URL(address, 'http://localhost'), init as RequestInit));
    }, '/db/notes');
    await notes.create();
    const send = async (path: string, content: string): Promise<unknown> => {
      const headers = { 'content-type': 'application/json' };
      return (await notes.fetch(`/db/notes${path}`, { method: 'POST', headers, body: content })).json();
    };
    await send('/_index', JSON.stringify({ index: { fields: ['list'] } }));
    await notes.bulk(Array.from({ length: 5 }, (_, index) => ({ _id: `n${index}`, list: index < 4 ? 'x' : 'y' })));
    const source = new SelectorSource(notes, { list: 'x' }, false);
    expect((await source.among(['n1', 'n3', 'n4', 'gone'])).map(({ _id }) => _id)).toEqual(['n1', 'n3']);
    expect(await send('/_explain', body)).toMatchObject({
      index: { name: '_all_docs' },
      mrargs: { keys: ['gone', 'n1', 'n3', 'n4'] },
    });
  } finally {
    await service.reset();
  }
});

test.each([
  ['deleted', 'delete', 1],
  ['moved to the end', 'move', 1],
  ['still there, with several equal rows', 'keep', 3],
])('a view is read on behind the last row of a page, which is %s by then', async (_, what, rows) => {
  const service = new MemoryService({ basePath: '/db', config: {} }, readQuickJsWasm);
  try {
    const notes = database<{ key: number; rows: number }>(
      (address, init) => service.fetch(new Request(new URL(address, 'http://localhost'), init as RequestInit)),
      '/db/notes',
    );
    await notes.create();
    const map = 'function (doc) { for (var count = 0; count < doc.rows; count++) emit(doc.key); }';
    const body = JSON.stringify({ views: { keys: { map } } });
    await notes.fetch('/db/notes/_design/d', { method: 'PUT', headers: {}, body });
    await notes.bulk(Array.from({ length: 5 }, (_, key) => ({ _id: `n${key}`, key, rows: key === 2 ? rows : 1 })));
    const source = new ViewSource({ database: notes, view: 'd/keys', conflicts: false }, []);
    const first = await source.rows({ bounds: {} }, undefined, 3);
    expect(first.rows.map(({ id }) => id)).toEqual(['n0', 'n1', 'n2']);
    if (what !== 'keep') {
      await notes.update('n2', (note) => (what === 'delete' ? { _deleted: true } : { key: 9, rows: note?.rows ?? 1 }));
    }
    const ids: string[] = [];
    for (let at = first.next; at !== undefined; ) {
      const page = await source.rows({ bounds: {} }, at, 2);
      ids.push(...page.rows.map(({ id }) => id));
      at = page.next;
    }
    expect(ids).toEqual({ delete: ['n3', 'n4'], move: ['n3', 'n4', 'n2'], keep: ['n2', 'n2', 'n3', 'n4'] }[what]);
  } finally {
    await service.reset();
  }
});

test('making options sends no request, and excludes what does not go together', () => {
  let requests = 0;
  const notes = database<{ list: string }>(() => {
    requests++;
    return Promise.reject(new TypeError('no network'));
  }, '/db/notes');
  const { getKey, syncMode } = setteeCollectionOptions({ database: notes });
  expect(getKey({ _id: 'a', list: 'x' })).toBe('a');
  expect(syncMode).toBe('eager');
  expect(() => setteeCollectionOptions({ database: notes, view: 'd/v', selector: {} })).toThrow(TypeError);
  const onDemand = { database: notes, syncMode: 'on-demand', keyFields: 'list' } as const;
  expect(setteeCollectionOptions({ ...onDemand, view: 'd/v' }).syncMode).toBe('on-demand');
  expect(() => setteeCollectionOptions(onDemand)).toThrow(TypeError);
  expect(() => setteeCollectionOptions({ ...onDemand, view: 'd/v', range: { key: 'a' } })).toThrow(TypeError);
  expect(() => setteeCollectionOptions({ ...onDemand, view: 'd/v', syncMode: 'eager' })).toThrow(TypeError);
  expect(requests).toBe(0);
});
