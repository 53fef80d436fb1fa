import { assert } from 'chai';
import { assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';
import { json, numbered, onlyValue, pluck, putViews, query, rowsOf } from '../../support/conformance/view-steps.ts';

const edges: readonly (readonly [number, number])[] = [
  [1, 1000],
  [13, 987],
  [250, 251],
  [333, 667],
  [999, 1000],
  [2, 500],
];

const SUM = 'function (keys, values) { return sum(values); }';

async function summed(t: Toolkit, count: number): Promise<void> {
  await putViews(t, {
    v: { map: 'function (doc) { emit(doc.integer, doc.integer); emit(doc.integer, doc.integer); }', reduce: SUM },
  });
  await t.bulk(numbered(count, 1));
}

/** Documents whose keys are lists of one to three letters, each ten times. */
async function lists(t: Toolkit): Promise<void> {
  await putViews(t, { v: { map: 'function (doc) { emit(doc.keys, 1); }', reduce: SUM } });
  const keys = [
    ['a'],
    ['a', 'b'],
    ['a', 'b', 'c'],
    ['a', 'b', 'd'],
    ['a', 'c', 'd'],
    ['d'],
    ['d', 'a'],
    ['d', 'b'],
    ['d', 'c'],
  ];
  for (let round = 0; round < 10; round += 1) await t.bulk(keys.map((each) => ({ keys: each })));
}

/** JavaScript reduces, ranges and groups (docs/http/views.md#reduced-views). */
export default suite('reduce', [
  test('a reduction covers all rows, or a range', async (t) => {
    await summed(t, 200);
    assert.equal(onlyValue(await query(t, 'v')), 40200);
    assert.equal(onlyValue(await query(t, 'v?startkey=4&endkey=4')), 8);
    assert.equal(onlyValue(await query(t, 'v?startkey=4&endkey=5')), 18);
    assert.equal(onlyValue(await query(t, 'v?startkey=4&endkey=6')), 30);
    assert.equal(onlyValue(await query(t, 'v?startkey=4&endkey=6&inclusive_end=false')), 18);
    assert.equal(onlyValue(await query(t, 'v?key=7')), 14);
    assert.equal(onlyValue(await query(t, 'v?descending=true&startkey=6&endkey=4')), 30);
    assert.deepEqual(rowsOf(await query(t, 'v?startkey=500')), []);
  }),

  test('ranges that begin and end anywhere in the index are reduced correctly', async (t) => {
    await summed(t, 1000);
    for (const [from, to] of edges) {
      const expected = (to - from + 1) * (from + to);
      assert.equal(onlyValue(await query(t, `v?startkey=${from}&endkey=${to}`)), expected, `${from} to ${to}`);
    }
  }),

  test('group=true groups by key', async (t) => {
    await summed(t, 20);
    const answer = await query(t, 'v?group=true&startkey=18');
    assertJson(answer, 200, { rows: [18, 19, 20].map((key) => ({ key, value: 2 * key })) });
    assert.deepEqual(pluck(await query(t, 'v?group=true&limit=2&skip=3'), 'key'), [4, 5]);
    assert.deepEqual(pluck(await query(t, 'v?group=true&descending=true&limit=2'), 'key'), [20, 19]);
    assert.deepEqual(rowsOf(await query(t, 'v?group=true&limit=0')), []);
  }),

  test('group_level groups by the first elements of list keys', async (t) => {
    await lists(t);
    assert.deepEqual(rowsOf(await query(t, 'v?group_level=1')), [
      { key: ['a'], value: 50 },
      { key: ['d'], value: 40 },
    ]);
    assert.deepEqual(rowsOf(await query(t, 'v?group_level=2')), [
      { key: ['a'], value: 10 },
      { key: ['a', 'b'], value: 30 },
      { key: ['a', 'c'], value: 10 },
      { key: ['d'], value: 10 },
      { key: ['d', 'a'], value: 10 },
      { key: ['d', 'b'], value: 10 },
      { key: ['d', 'c'], value: 10 },
    ]);
    assert.deepEqual((await query(t, 'v?group_level=3')).json, (await query(t, 'v?group=true')).json);
    assert.lengthOf(rowsOf(await query(t, 'v?group_level=9')), 9);
    assert.equal(onlyValue(await query(t, 'v?group_level=0')), 90);
  }),

  test('groups can be limited to ranges and pages', async (t) => {
    await lists(t);
    assert.deepEqual(rowsOf(await query(t, `v?group_level=1&startkey=${json(['b'])}`)), [{ key: ['d'], value: 40 }]);
    assert.deepEqual(
      rowsOf(await query(t, `v?group_level=2&startkey=${json(['a', 'b'])}&endkey=${json(['a', 'b', {}])}`)),
      [{ key: ['a', 'b'], value: 30 }],
    );
    const cut = await query(t, `v?group_level=1&startkey=${json(['a', 'b', 'd'])}&endkey=${json(['d', 'a'])}`);
    assert.deepEqual(rowsOf(cut), [
      { key: ['a'], value: 20 },
      { key: ['d'], value: 20 },
    ]);
    assert.deepEqual(pluck(await query(t, 'v?group_level=2&skip=1&limit=2'), 'key'), [
      ['a', 'b'],
      ['a', 'c'],
    ]);
    assert.deepEqual(pluck(await query(t, 'v?group_level=1&descending=true'), 'key'), [['d'], ['a']]);
  }),

  test('keys that are not lists are their own groups with group_level', async (t) => {
    await putViews(t, { v: { map: 'function (doc) { emit(doc.key, 1); }', reduce: SUM } });
    await t.bulk([null, 1, 1, 'x', ['x', 1], ['x', 2], { x: 1 }].map((key) => ({ key })));
    assert.deepEqual(rowsOf(await query(t, 'v?group_level=1')), [
      { key: null, value: 1 },
      { key: 1, value: 2 },
      { key: 'x', value: 1 },
      { key: ['x'], value: 2 },
      { key: { x: 1 }, value: 1 },
    ]);
  }),

  test('a reduce function gets keys with document ids, and its own results when it rereduces', async (t) => {
    const reduce =
      'function (keys, values, rereduce) { if (rereduce) return { n: sum(values.map(function (v) { return v.n; })), first: values[0].first, again: keys === null }; return { n: values.length, first: keys[0] }; }';
    await putViews(t, { v: { map: 'function (doc) { emit(doc.integer, null); }', reduce } });
    await t.bulk(numbered(3));
    assert.deepInclude(onlyValue(await query(t, 'v')), { n: 3 });
    assert.sameDeepMembers([at(onlyValue(await query(t, 'v?key=1')), 'first')], [[1, '1']]);
  }),

  test('reductions follow changes of documents', async (t) => {
    await putViews(t, { v: { map: 'function (doc) { emit(doc.kind, doc.n); }', reduce: SUM } });
    const rev = await t.put('a', { kind: 'x', n: 1 });
    await t.put('b', { kind: 'x', n: 2 });
    assert.deepEqual(rowsOf(await query(t, 'v?group=true')), [{ key: 'x', value: 3 }]);
    const next = await t.put('a', { _rev: rev, kind: 'y', n: 10 });
    assert.deepEqual(rowsOf(await query(t, 'v?group=true')), [
      { key: 'x', value: 2 },
      { key: 'y', value: 10 },
    ]);
    await t.delete('a', next);
    assert.deepEqual(rowsOf(await query(t, 'v?group=true')), [{ key: 'x', value: 2 }]);
  }),

  test('a variance computed by rereduce equals the directly computed one', async (t) => {
    const reduce = `function (keys, values, rereduce) {
      var count = 0, total = 0, squares = 0;
      values.forEach(function (v) {
        if (rereduce) { count += v.count; total += v.total; squares += v.squares; }
        else { count += 1; total += v; squares += v * v; }
      });
      return { count: count, total: total, squares: squares, variance: (squares - total * total / count) / count };
    }`;
    await putViews(t, { v: { map: 'function (doc) { emit(null, doc.integer); }', reduce } });
    await t.bulk(numbered(1000, 1));
    assert.deepInclude(onlyValue(await query(t, 'v')), { count: 1000, total: 500500, variance: 83333.25 });
  }),
]);
