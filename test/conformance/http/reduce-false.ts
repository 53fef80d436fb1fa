import { assert } from 'chai';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { numbered, onlyValue, putViews, query, rowsOf } from '../../support/conformance/view-steps.ts';

/** `reduce=false` shows the rows that are reduced otherwise. */
export default suite('reduce_false', [
  test('reduce=false returns the rows of a reduced view', async (t) => {
    const reduce = 'function (keys, values) { return sum(values); }';
    await putViews(t, { v: { map: 'function (doc) { emit(doc.integer, doc.integer); }', reduce } });
    await t.bulk(numbered(5, 1));
    assert.equal(onlyValue(await query(t, 'v')), 15);
    const answer = await query(t, 'v?reduce=false');
    assert.equal(at(answer.json, 'total_rows'), 5);
    assert.deepEqual(
      rowsOf(answer),
      [1, 2, 3, 4, 5].map((n) => ({ id: `${n}`, key: n, value: n })),
    );
    assert.equal(onlyValue(await query(t, 'v?reduce=true')), 15);
  }),
]);
