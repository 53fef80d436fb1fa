import { assert } from 'chai';
import { suite, test } from '../../support/conformance/suite.ts';
import { pluck, putViews, query } from '../../support/conformance/view-steps.ts';

/** Where real clients and servers of the family expect views to be so, and not otherwise. */
export default suite('corrections_views', [
  test('rows of one document under one key ascend by their values', async (t) => {
    const map = 'function (doc) { doc.values.forEach(function (value) { emit(doc.key, value); }); }';
    await putViews(t, { v: map, raw: { map, options: { collation: 'raw' } } });
    const values = ['b', ['x'], { a: 1 }, true, null, false, 10, 9, 'B', [], {}, -1.5];
    await t.bulk([
      { _id: 'a', key: 'k', values },
      { _id: 'b', key: 'k', values: [2, 1] },
    ]);
    const sorted = [-1.5, 9, 10, false, null, true, {}, { a: 1 }, [], ['x'], 'B', 'b', 1, 2];
    for (const name of ['v', 'raw']) {
      assert.deepEqual(pluck(await query(t, name), 'value'), sorted, name);
      assert.deepEqual(pluck(await query(t, `${name}?descending=true`), 'value'), sorted.toReversed(), name);
      const own = await query(t, `${name}?startkey="k"&startkey_docid=b`);
      assert.deepEqual(pluck(own, 'value'), [1, 2]);
    }
    assert.deepEqual(pluck(await query(t, 'v?skip=11&limit=2'), 'value'), ['b', 1]);
  }),

  test('rows under other keys keep their places, and an update comes to the same order', async (t) => {
    await putViews(t, { v: 'function (doc) { doc.rows.forEach(function (row) { emit(row[0], row[1]); }); }' });
    const first = [
      ['x', 3],
      ['y', 2],
      ['x', 1],
    ];
    const rev = await t.put('doc', { rows: first });
    assert.deepEqual(pluck(await query(t, 'v'), 'value'), [1, 3, 2]);
    await t.put('doc', { _rev: rev, rows: [...first, ['x', 2], ['y', 0]] });
    assert.deepEqual(pluck(await query(t, 'v'), 'value'), [1, 2, 3, 0, 2]);
    assert.deepEqual(pluck(await query(t, 'v?key="x"'), 'value'), [1, 2, 3]);
  }),
]);
