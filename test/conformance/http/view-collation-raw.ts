import { assert } from 'chai';
import { suite, test } from '../../support/conformance/suite.ts';
import { json, pluck, putViews, query } from '../../support/conformance/view-steps.ts';

/** docs/http/views.md#raw-order */
const ascending: readonly unknown[] = [
  1,
  2,
  3,
  4,
  false,
  null,
  true,
  { a: 1 },
  { a: 2 },
  { b: 1 },
  { b: 2 },
  { b: 2, a: 1 },
  { b: 2, c: 2 },
  ['a'],
  ['b'],
  ['b', 'c'],
  ['b', 'c', 'a'],
  ['b', 'd'],
  ['b', 'd', 'e'],
  'A',
  'B',
  'a',
  'aa',
  'b',
  'ba',
  'bb',
  'ä',
];

const map = 'function (doc) { emit(doc.key, null); }';

/** `collation: raw`, in the options of the design document or of the view itself (docs/http/views.md#design-options). */
export default suite('view_collation_raw', [
  test('raw collation sorts numbers, words, objects, lists, then strings by bytes', async (t) => {
    await putViews(t, { v: map }, { options: { collation: 'raw' } });
    await t.bulk(ascending.map((key, index) => ({ _id: `${99 - index}`, key })));
    assert.deepEqual(pluck(await query(t, 'v'), 'key'), ascending);
    for (const [index, key] of ascending.entries()) {
      assert.lengthOf(pluck(await query(t, `v?endkey=${json(key)}`), 'key'), index + 1, JSON.stringify(key));
    }
  }),

  test("the view's own option overrides the design document's", async (t) => {
    const views = {
      raw: { map, options: { collation: 'raw' } },
      plain: { map, options: { collation: 'unicode' } },
      inherited: { map },
    };
    await putViews(t, views);
    await t.bulk(['a', 'B'].map((key) => ({ key })));
    assert.deepEqual(pluck(await query(t, 'raw'), 'key'), ['B', 'a']);
    assert.deepEqual(pluck(await query(t, 'plain'), 'key'), ['a', 'B']);
    assert.deepEqual(pluck(await query(t, 'inherited'), 'key'), ['a', 'B']);
    await t.put('_design/test', {
      _rev: (await t.get('/_design/test')).header('etag')?.slice(1, -1),
      views,
      options: { collation: 'raw' },
    });
    assert.deepEqual(pluck(await query(t, 'plain'), 'key'), ['a', 'B']);
    assert.deepEqual(pluck(await query(t, 'inherited'), 'key'), ['B', 'a']);
  }),
]);
