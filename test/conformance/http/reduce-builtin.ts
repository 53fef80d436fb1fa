import { assert } from 'chai';
import { suite, test } from '../../support/conformance/suite.ts';
import { numbered, onlyValue, putViews, query, rowsOf } from '../../support/conformance/view-steps.ts';

const map = 'function (doc) { emit(doc.integer % 2, doc.integer); }';

/** The reduces that the service has itself (docs/http/views.md#built-in-reduces). */
export default suite('reduce_builtin', [
  test('_count counts rows', async (t) => {
    await putViews(t, { v: { map, reduce: '_count' } });
    await t.bulk(numbered(101));
    assert.equal(onlyValue(await query(t, 'v')), 101);
    assert.deepEqual(rowsOf(await query(t, 'v?group=true')), [
      { key: 0, value: 51 },
      { key: 1, value: 50 },
    ]);
  }),

  test('_sum adds numbers', async (t) => {
    await putViews(t, { v: { map, reduce: '_sum' } });
    await t.bulk(numbered(101));
    assert.equal(onlyValue(await query(t, 'v')), 5050);
    assert.equal(onlyValue(await query(t, 'v?key=1')), 2500);
  }),

  test('_sum adds lists position by position', async (t) => {
    await putViews(t, { v: { map: 'function (doc) { emit(1, doc.value); }', reduce: '_sum' } });
    await t.bulk([[1, 2], [3, 4, 5], [6]].map((value) => ({ value })));
    assert.deepEqual(onlyValue(await query(t, 'v')), [10, 6, 5]);
  }),

  test('_stats returns sum, count, min, max and sum of squares', async (t) => {
    await putViews(t, { v: { map, reduce: '_stats' } });
    await t.bulk(numbered(11));
    assert.deepEqual(onlyValue(await query(t, 'v')), { sum: 55, count: 11, min: 0, max: 10, sumsqr: 385 });
    assert.deepEqual(onlyValue(await query(t, 'v?key=1')), { sum: 25, count: 5, min: 1, max: 9, sumsqr: 165 });
  }),

  test('_approx_count_distinct counts distinct keys approximately', async (t) => {
    await putViews(t, {
      v: { map: 'function (doc) { emit(doc.integer % 100, null); }', reduce: '_approx_count_distinct' },
    });
    await t.bulk(numbered(1000));
    assert.closeTo(Number(onlyValue(await query(t, 'v'))), 100, 5);
  }),

  test('several views can reduce the same rows', async (t) => {
    await putViews(t, { count: { map, reduce: '_count' }, sum: { map, reduce: '_sum' }, rows: map });
    await t.bulk(numbered(10));
    assert.equal(onlyValue(await query(t, 'count')), 10);
    assert.equal(onlyValue(await query(t, 'sum')), 45);
    assert.lengthOf(rowsOf(await query(t, 'rows')), 10);
  }),
]);
