import { assert } from 'chai';
import { suite, test } from '../../support/conformance/suite.ts';
import { json, pluck, putViews, query } from '../../support/conformance/view-steps.ts';

/** docs/http/views.md#order-of-keys, with the strings that the family's tests use besides. */
const ascending: readonly unknown[] = [
  null,
  false,
  true,
  1,
  2,
  3,
  4,
  'a',
  'A',
  'aa',
  'b',
  'B',
  'ba',
  'bb',
  ['a'],
  ['b'],
  ['b', 'c'],
  ['b', 'c', 'a'],
  ['b', 'd'],
  ['b', 'd', 'e'],
  { a: 1 },
  { a: 2 },
  { b: 1 },
  { b: 2 },
  { b: 2, a: 1 },
  { b: 2, c: 2 },
];

const map = 'function (doc) { emit(doc.key, null); }';

/** The order of keys (docs/http/views.md#order-of-keys). */
export default suite('view_collation', [
  test('keys sort as null, booleans, numbers, strings, lists, objects', async (t) => {
    await putViews(t, { v: map });
    await t.bulk(ascending.map((key, index) => ({ _id: `${99 - index}`, key })));
    assert.deepEqual(pluck(await query(t, 'v'), 'key'), ascending);
    assert.deepEqual(pluck(await query(t, 'v?descending=true'), 'key'), ascending.toReversed());
  }),

  test('each key is found by itself and as a bound', async (t) => {
    await putViews(t, { v: map });
    await t.bulk(ascending.map((key, index) => ({ _id: `${99 - index}`, key })));
    for (const [index, key] of ascending.entries()) {
      assert.deepEqual(pluck(await query(t, `v?key=${json(key)}`), 'key'), [key]);
      assert.lengthOf(pluck(await query(t, `v?endkey=${json(key)}`), 'key'), index + 1);
      assert.lengthOf(pluck(await query(t, `v?endkey=${json(key)}&inclusive_end=false`), 'key'), index);
      assert.lengthOf(pluck(await query(t, `v?startkey=${json(key)}`), 'key'), ascending.length - index);
    }
  }),

  test('strings of many languages sort as readers expect', async (t) => {
    await putViews(t, { v: map });
    const words = ['côte', 'zebra', 'Äpfel', 'cote', 'apple', 'Zürich', 'côté', 'été', 'coté', 'Ärger', 'zèbre'];
    await t.bulk(words.map((key) => ({ key })));
    const sorted = ['Äpfel', 'apple', 'Ärger', 'cote', 'coté', 'côte', 'côté', 'été', 'zebra', 'zèbre', 'Zürich'];
    assert.deepEqual(pluck(await query(t, 'v'), 'key'), sorted);
  }),

  test('rows with equal keys sort by document id, by bytes', async (t) => {
    await putViews(t, { v: 'function (doc) { emit("same", null); }' });
    await t.bulk(['b', 'B', 'a', 'ä', 'A', '1'].map((_id) => ({ _id })));
    assert.deepEqual(pluck(await query(t, 'v'), 'id'), ['1', 'A', 'B', 'a', 'b', 'ä']);
  }),

  test('a prefix is a range up to a high character', async (t) => {
    await putViews(t, { v: map });
    await t.bulk(['sa', 'se', 'sé', 'sz', 't', 'S'].map((key) => ({ key })));
    assert.deepEqual(pluck(await query(t, `v?startkey="s"&endkey=${json('s\ufff0')}`), 'key'), [
      'S',
      'sa',
      'se',
      'sé',
      'sz',
    ]);
  }),

  test('lists with a common beginning are a range up to an object', async (t) => {
    await putViews(t, { v: map });
    await t.bulk([['a'], ['a', 1], ['a', 'z', 3], ['b'], 'a'].map((key) => ({ key })));
    assert.deepEqual(pluck(await query(t, 'v?startkey=["a"]&endkey=["a",{}]'), 'key'), [
      ['a'],
      ['a', 1],
      ['a', 'z', 3],
    ]);
  }),
]);
