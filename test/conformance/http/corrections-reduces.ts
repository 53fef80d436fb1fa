import { assert } from 'chai';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';
import { numbered, onlyValue, putViews, query } from '../../support/conformance/view-steps.ts';

const map = 'function (doc) { emit(doc._id, doc.value); }';

/** What a built-in reduce makes of values. */
async function reduced(t: Toolkit, reduce: string, values: readonly unknown[]): Promise<unknown> {
  await putViews(t, { v: { map, reduce } });
  await t.bulk(values.map((value, place) => ({ _id: `d${`${place}`.padStart(4, '0')}`, value })));
  return onlyValue(await query(t, 'v'));
}

async function assertInvalid(t: Toolkit, reduce: string, values: readonly unknown[]): Promise<void> {
  await putViews(t, { v: { map, reduce } });
  await t.bulk(values.map((value) => ({ value })));
  const answer = await t.get('/_design/test/_view/v');
  assert.deepEqual([answer.status, at(answer.json, 'error')], [500, 'invalid_value'], answer.text);
}

/** Where real clients and servers of the family expect built-in reduces to be so, and not otherwise. */
export default suite('corrections_reduces', [
  ...[
    { reduce: '_sum\n', result: 6 },
    { reduce: '  _sum', result: 6 },
    { reduce: '_sum;', result: 6 },
    { reduce: '_summary', result: 6 },
    { reduce: '_count // of all', result: 3 },
    { reduce: '_stats()', result: { sum: 6, count: 3, min: 1, max: 3, sumsqr: 14 } },
    { reduce: '_approx_count_distinct\n', result: 3 },
  ].map(({ reduce, result }) =>
    test(`${JSON.stringify(reduce)} is recognized by its prefix`, async (t) => {
      assert.deepEqual(await reduced(t, reduce, [1, 2, 3]), result);
    }),
  ),

  test('an unknown built-in reduce name is refused', async (t) => {
    await putViews(t, { v: { map, reduce: '_median' } });
    const answer = await t.get('/_design/test/_view/v');
    assert.deepEqual([answer.status, at(answer.json, 'error')], [400, 'bad_request']);
  }),

  test('_sum: a number counts as a list of one', async (t) => {
    assert.deepEqual(await reduced(t, '_sum', [1, [10, 20], 2]), [13, 20]);
  }),

  test('_sum: of lists of different lengths the rest of the longer one is kept', async (t) => {
    assert.deepEqual(await reduced(t, '_sum', [[1], [10, 20, 30], [100, 200]]), [111, 220, 30]);
  }),

  test('_sum: objects are added member by member', async (t) => {
    const values = [{ a: 1, b: { c: 2, d: [1] } }, { a: 10, b: { d: [1, 2] }, e: 5 }, { b: { c: 1, d: 3 } }];
    assert.deepEqual(await reduced(t, '_sum', values), { a: 11, b: { c: 3, d: [5, 2] }, e: 5 });
  }),

  test('_sum works over many rows, and over a part of them', async (t) => {
    await putViews(t, {
      v: { map: 'function (doc) { emit(doc.integer, { n: doc.integer, one: [1] }); }', reduce: '_sum' },
    });
    await t.bulk(numbered(2_000));
    assert.deepEqual(onlyValue(await query(t, 'v')), { n: 1_999_000, one: [2_000] });
    assert.deepEqual(onlyValue(await query(t, 'v?startkey=10&endkey=19')), { n: 145, one: [10] });
  }),

  ...[['x'], [null], [[1, 'x']], [{ a: 'x' }], [{ a: 1 }, 1], [{ a: 1 }, [1]], [{ a: 1 }, { a: { b: 1 } }]].map(
    (values) => test(`_sum: ${JSON.stringify(values)} can't be added`, (t) => assertInvalid(t, '_sum', values)),
  ),

  test('_stats: lists of equal length have statistics for each position', async (t) => {
    assert.deepEqual(
      await reduced(t, '_stats', [
        [1, 10],
        [2, 20],
      ]),
      [
        { sum: 3, count: 2, min: 1, max: 2, sumsqr: 5 },
        { sum: 30, count: 2, min: 10, max: 20, sumsqr: 500 },
      ],
    );
  }),

  test('_stats: precomputed statistics are combined', async (t) => {
    const made = { sum: 10, count: 4, min: 1, max: 4, sumsqr: 30 };
    assert.deepEqual(await reduced(t, '_stats', [made, 5, made]), { sum: 25, count: 9, min: 1, max: 5, sumsqr: 85 });
  }),

  ...[['x'], [{}], [{ sum: 1, count: 1 }], [[1], [1, 2]], [[1], 1], [['x']]].map((values) =>
    test(`_stats: ${JSON.stringify(values)} is refused`, (t) => assertInvalid(t, '_stats', values)),
  ),
]);
