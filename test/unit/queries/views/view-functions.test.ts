import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { mayReadKeys } from '../../../../src/queries/views/trees/script-reducer.ts';
import { groupsOf, type Json, rowsOf, ViewFixture, withReader } from '../../../support/view-fixture.ts';

async function reduced(reduce: string, values: Readonly<Record<string, Json>>, options = {}): Promise<[Json, Json][]> {
  const fixture = await ViewFixture.open();
  await fixture.write(Object.fromEntries(Object.entries(values).map(([id, v]) => [id, { v }])));
  const group = await fixture.group({ view: { map: 'function (doc) { emit(doc._id, doc.v); }', reduce } });
  try {
    return await withReader(group, (reader) => groupsOf(reader, 'view', options));
  } finally {
    await fixture.close();
  }
}

function nested(depth: number): Json {
  let value: Json = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

describe('built-in reduces', () => {
  test('_sum adds numbers, and lists element by element', async () => {
    expect(await reduced('_sum', { a: 1, b: 2.5, c: -4 })).toEqual([[null, -0.5]]);
    expect(await reduced('_sum', { a: [1, 2], b: [10, 20, 30] })).toEqual([[null, [11, 22, 30]]]);
  });

  test('_sum counts a number as a list of one, and adds objects member by member', async () => {
    expect(await reduced('_sum', { a: 1, b: [1, 2], c: 3 })).toEqual([[null, [5, 2]]]);
    const objects = { a: { x: 1, y: { z: [1] } }, b: { w: 5, y: { z: [1, 2], v: 1 } }, c: { x: 1, y: { z: 1 } } };
    expect(await reduced('_sum', objects)).toEqual([[null, { x: 2, y: { z: [3, 2], v: 1 }, w: 5 }]]);
    expect(await reduced('_sum', { a: { 2: 1 }, b: { 10: 1, constructor: 1 } })).toEqual([
      [null, { 2: 1, 10: 1, constructor: 1 }],
    ]);
  });

  test('_sum over many nodes equals that of all rows', async () => {
    const values = Array.from(
      { length: 3_000 },
      (_unused, n) => [`d${n}`, { [`k${n % 7}`]: n, list: [1, n] }] as const,
    );
    const [[, sum] = []] = await reduced('_sum', Object.fromEntries(values));
    const expected: Record<string, unknown> = { list: [3_000, 4_498_500] };
    for (const [, value] of values) {
      const [name = '', n] = Object.entries(value)[0] ?? [];
      expected[name] = Number(expected[name] ?? 0) + Number(n);
    }
    expect(sum).toEqual(expected);
  });

  test('a result that grows without limit is an error, and keeps the index intact', async () => {
    const long = Object.fromEntries(Array.from({ length: 8_000 }, (_unused, n) => [`member ${n}`, n]));
    const values = { a: long, b: { x: 1 } };
    for (const reduce of ['_sum', '_first', '_top_2']) {
      await expect(reduced(reduce, values), reduce).rejects.toMatchObject({ code: 'reduce_overflow_error' });
    }
    expect(await reduced('_sum', values, { start: 'b' })).toEqual([[null, { x: 1 }]]);
    const list = Array.from({ length: 2_000 }, (_unused, n) => n);
    await expect(reduced('_stats', { a: list })).rejects.toMatchObject({ code: 'reduce_overflow_error' });
  });

  test('_sum of another type is an error only if the queried range has it', async () => {
    const values = { a: 1, b: 'x', c: 3 };
    const error = {
      code: 'invalid_value',
      reason: 'builtin _sum function requires map values to be numbers or lists of numbers',
    };
    await expect(reduced('_sum', values)).rejects.toMatchObject(error);
    await expect(reduced('_sum', { a: {}, b: 2 })).rejects.toMatchObject(error);
    await expect(reduced('_sum', { a: { x: [1] }, b: { x: { y: 1 } } })).rejects.toMatchObject(error);
    await expect(reduced('_sum', { a: [1, 'x'] })).rejects.toMatchObject(error);
    await expect(reduced('_sum', { a: { x: [1, null] } })).rejects.toMatchObject(error);
    await expect(reduced('_sum', { a: nested(1_500) })).rejects.toMatchObject(error);
    expect(await reduced('_sum', values, { start: 'c' })).toEqual([[null, 3]]);
  });

  test('_count and _stats return their results', async () => {
    expect(await reduced('_count', { a: 'x', b: null })).toEqual([[null, 2]]);
    expect(await reduced('_stats', { a: 1, b: 2, c: 6 })).toEqual([
      [null, { sum: 9, count: 3, min: 1, max: 6, sumsqr: 41 }],
    ]);
  });

  test('_stats accepts lists, statistics, and lists of these', async () => {
    const one = { sum: 3, count: 2, min: 1, max: 2, sumsqr: 5 };
    const both = { sum: 7, count: 3, min: 1, max: 4, sumsqr: 21 };
    expect(await reduced('_stats', { a: one, b: 4 })).toEqual([[null, both]]);
    expect(await reduced('_stats', { a: { ...one, more: true } })).toEqual([[null, one]]);
    expect(await reduced('_stats', { a: [1, one, [2]], b: [2, 4, [3]] })).toEqual([
      [null, [one, both, [{ sum: 5, count: 2, min: 2, max: 3, sumsqr: 13 }]]],
    ]);
  });

  test('_stats of another type is an error', async () => {
    const wrong: Readonly<Record<string, Json>>[] = [
      { a: 'x' },
      { a: null },
      { a: [1, 'x'] },
      { a: [1], b: [1, 2] },
      { a: [1], b: 1 },
      { a: { sum: 1, count: 1, min: 1, max: 1 } },
      { a: { sum: 1, count: 1, min: 1, max: 1, sumsqr: '1' } },
      { a: nested(1_500) },
    ];
    for (const values of wrong) {
      await expect(reduced('_stats', values)).rejects.toMatchObject({ code: 'invalid_value' });
    }
  });

  test('names are recognized by their prefix', async () => {
    const values = { a: 1, b: 2 };
    expect(await reduced('_sum\n', values)).toEqual([[null, 3]]);
    expect(await reduced('_sum  // all of them', values)).toEqual([[null, 3]]);
    expect(await reduced('_count_of_rows', values)).toEqual([[null, 2]]);
    expect(await reduced('_statsx', { a: 1 })).toEqual([[null, { sum: 1, count: 1, min: 1, max: 1, sumsqr: 1 }]]);
    expect(await reduced('_approx_count_distinct;', values)).toEqual([[null, 2]]);
    expect(await reduced('_top_1 of them', values)).toEqual([[null, [2]]]);
    await expect(reduced('_top_1000', values)).rejects.toMatchObject({ code: 'bad_request' });
  });

  test('an empty range has no row', async () => {
    expect(await reduced('_count', {})).toEqual([]);
    expect(await reduced('_sum', { a: 1 }, { start: 'b' })).toEqual([]);
  });

  test('_first, _last, _top_N and _bottom_N return the right values', async () => {
    const values = { a: 5, b: 9, c: 1, d: 7 };
    expect(await reduced('_first', values)).toEqual([[null, 5]]);
    expect(await reduced('_last', values)).toEqual([[null, 7]]);
    expect(await reduced('_top_2', values)).toEqual([[null, [9, 7]]]);
    expect(await reduced('_bottom_3', values)).toEqual([[null, [1, 5, 7]]]);
    expect(await reduced('_first', values, { start: 'b', end: 'c' })).toEqual([[null, 9]]);
  });

  test('_approx_count_distinct is about right, and exact for few keys', async () => {
    const fixture = await ViewFixture.open();
    const documents = Array.from({ length: 6_000 }, (_unused, index) => [`d${index}`, { n: index % 4_000 }] as const);
    await fixture.write(Object.fromEntries(documents));
    const map = 'function (doc) { emit(doc.n, null); }';
    const group = await fixture.group({ view: { map, reduce: '_approx_count_distinct' } });
    await withReader(group, async (reader) => {
      const [[, all]] = (await groupsOf(reader, 'view')) as [[Json, number]];
      expect(Math.abs(all - 4_000)).toBeLessThan(250);
      expect(await groupsOf(reader, 'view', { start: 10, end: 19 })).toEqual([[null, 10]]);
    });
    await fixture.close();
  });

  test('an unknown name is refused', async () => {
    await expect(reduced('_median', { a: 1 })).rejects.toMatchObject({
      code: 'bad_request',
      reason: expect.stringContaining('"_median" is not a built-in reduce'),
    });
  });
});

describe('reduce functions', () => {
  test('get keys with ids first, and null when they rereduce', async () => {
    const reduce = 'function (keys, values, rereduce) { return rereduce ? ["re", keys, values] : [keys, values]; }';
    expect(await reduced(reduce, { a: 1, b: 'x' })).toEqual([
      [
        null,
        [
          [
            ['a', 'a'],
            ['b', 'b'],
          ],
          [1, 'x'],
        ],
      ],
    ]);
  });

  test('that throw return null', async () => {
    expect(await reduced('function (keys, values) { throw new Error("no"); }', { a: 1 })).toEqual([[null, null]]);
  });

  test('whose results grow are refused, unless that is permitted', async () => {
    const values = Object.fromEntries(Array.from({ length: 40 }, (_unused, index) => [`d${index}`, 'x'.repeat(20)]));
    const reduce = 'function (keys, values) { return values; }';
    await expect(reduced(reduce, values)).rejects.toMatchObject({ code: 'reduce_overflow_error' });
    const fixture = await ViewFixture.open({ config: { query_server_config: { reduce_limit: 'false' } } });
    await fixture.write(Object.fromEntries(Object.keys(values).map((id) => [id, { v: values[id] ?? null }])));
    const group = await fixture.group({ view: { map: 'function (doc) { emit(1, doc.v); }', reduce } });
    const groups = await withReader(group, (reader) => groupsOf(reader, 'view'));
    expect(must(groups[0])[1]).toHaveLength(40);
    await fixture.close();
  });

  test('that do not compile fail the index', async () => {
    await expect(reduced('function (keys', { a: 1 })).rejects.toMatchObject({ code: 'compilation_error' });
  });

  test("that can't read the keys don't get any", () => {
    for (const source of [
      'function (keys, values) { return sum(values); }',
      'function(k, v, r) { return r ? v.length : sum(v); }',
      '  (function named ( keys ) { return 1 })',
    ]) {
      expect(mayReadKeys(source), source).toBe(false);
    }
    for (const source of [
      'function (keys, values) { return keys.length; }',
      'function (k, v) { return arguments[0]; }',
      'function (k, v) { return eval("k"); }',
      'function (key, v) { return ke\\u0079.length; }',
      'function ({ length }, v) { return length; }',
      'function (k = 1, v) { return 1; }',
      'function (v, w = v) { return w; }',
      '(keys, values) => keys',
    ]) {
      expect(mayReadKeys(source), source).toBe(true);
    }
  });
});

describe('map functions', () => {
  const rows = async (
    views: Json,
    members: Readonly<Record<string, Json>>,
    documents: Readonly<Record<string, Json>>,
  ) => {
    const fixture = await ViewFixture.open();
    await fixture.write(documents);
    try {
      return await withReader(await fixture.group(views, members), (reader) => rowsOf(reader, 'view'));
    } finally {
      await fixture.close();
    }
  };

  test('see design documents and the local sequence with options only', async () => {
    const views = { view: { map: 'function (doc) { emit(doc._id, doc._local_seq); }' } };
    const documents = { a: {}, '_design/x': { language: 'javascript' } };
    expect(await rows(views, {}, documents)).toEqual([['a', 'a', null]]);
    expect(await rows(views, { options: { local_seq: true, include_design: true } }, documents)).toEqual([
      ['_design/x', '_design/x', 2],
      ['a', 'a', 1],
    ]);
  });

  test('see conflicts', async () => {
    const fixture = await ViewFixture.open();
    const branch = (hash: string, deleted: boolean) => ({
      id: 'a' as never,
      rev: `1-${hash}` as never,
      revisions: { start: 1, ids: [hash] },
      deleted,
      body: '{}',
    });
    const writes = [branch('a'.repeat(32), false), branch('b'.repeat(32), false), branch('c'.repeat(32), true)];
    await fixture.database.write(writes, { newEdits: false, durability: 'relaxed' });
    const map = 'function (doc) { emit(doc._rev[2], [doc._conflicts, doc._deleted_conflicts]); }';
    expect(await withReader(await fixture.group({ view: { map } }), (reader) => rowsOf(reader, 'view'))).toEqual([
      ['a', 'b', [[`1-${'a'.repeat(32)}`], [`1-${'c'.repeat(32)}`]]],
    ]);
    await fixture.close();
  });

  test('that throw skip the document, and those that do not compile fail the index', async () => {
    const documents = { a: { n: 1 }, b: { n: null }, c: { n: 3 } };
    const throwing = { view: { map: 'function (doc) { emit(doc.n.toFixed(1), 1); }' } };
    expect((await rows(throwing, {}, documents)).map(([id]) => id)).toEqual(['a', 'c']);
    await expect(rows({ view: { map: 'function (doc) {' } }, {}, documents)).rejects.toMatchObject({
      code: 'compilation_error',
    });
  });

  test('of two equal views run once, and such views can differ in collation', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write({ a: { k: 'a' }, b: { k: 'B' }, c: { k: 'b' }, d: { k: null } });
    const map = 'function (doc) { emit(doc.k, null); }';
    const group = await fixture.group({
      view: { map },
      raw: { map, options: { collation: 'raw' } },
      counted: { map, reduce: '_count' },
    });
    await withReader(group, async (reader) => {
      expect((await rowsOf(reader, 'view')).map(([, key]) => key)).toEqual([null, 'a', 'b', 'B']);
      expect((await rowsOf(reader, 'raw')).map(([, key]) => key)).toEqual([null, 'B', 'a', 'b']);
      expect(await groupsOf(reader, 'counted')).toEqual([[null, 4]]);
      expect(() => reader.totalRows('other')).toThrow('missing_named_view');
    });
    await fixture.close();
  });

  test('can require modules of views.lib', async () => {
    const views = {
      lib: { double: 'exports.of = function (n) { return 2 * n; };' },
      view: { map: 'function (doc) { emit(require("views/lib/double").of(doc.n), 1); }' },
    };
    expect(await rows(views, {}, { a: { n: 21 } })).toEqual([['a', 42, 1]]);
  });

  test('that emit an equal key in another spelling update the row', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write({ a: { k: '\u00e9' } });
    const group = await fixture.group({ view: { map: 'function (doc) { emit(doc.k, 1); }' } });
    await withReader(group, async (reader) => expect(await rowsOf(reader, 'view')).toEqual([['a', '\u00e9', 1]]));
    await fixture.write({ a: { k: 'e\u0301' } });
    await withReader(group, async (reader) => {
      expect(await rowsOf(reader, 'view')).toEqual([['a', 'e\u0301', 1]]);
      expect(await rowsOf(reader, 'view', { start: '\u00e9', end: '\u00e9' })).toHaveLength(1);
    });
    await fixture.close();
  });

  test('in a language without a mapper are refused', async () => {
    await expect(rows({ view: { map: 'x' } }, { language: 'erlang' }, {})).rejects.toMatchObject({
      code: 'not_implemented',
      reason: expect.stringContaining('"erlang"'),
    });
  });
});

test('a long document is mapped with all its members, wherever it is in a batch', async () => {
  const fixture = await ViewFixture.open();
  const text = 'ä'.repeat(700_000);
  await fixture.write({ a: { n: 1 }, b: { text, n: 2 }, c: { more: text, n: 3, text: `${text}x` }, d: { n: 4 } });
  const map = 'function (doc) { emit(doc.n, [doc._rev, doc._local_seq, doc.text ? doc.text.length : 0]); }';
  const group = await fixture.group({ view: { map } }, { options: { local_seq: true } });
  try {
    const rows = await withReader(group, (reader) => rowsOf(reader, 'view'));
    expect(rows).toEqual([
      ['a', 1, [fixture.revOf('a'), 1, 0]],
      ['b', 2, [fixture.revOf('b'), 2, 700_000]],
      ['c', 3, [fixture.revOf('c'), 3, 700_001]],
      ['d', 4, [fixture.revOf('d'), 4, 0]],
    ]);
  } finally {
    await fixture.close();
  }
});
