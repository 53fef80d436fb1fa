import { assert } from 'chai';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { numbered, putViews, query } from '../../support/conformance/view-steps.ts';

/** `offset`: how many rows of the view come before the first of the answer, in its direction. */
export default suite('view_offsets', [
  test('offset is the number of rows before the first row, in the direction of the query', async (t) => {
    await putViews(t, { v: 'function (doc) { emit(doc.letter, doc.number); }' });
    const docs = ['a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'b4', 'b5', 'c1', 'c2'];
    await t.bulk(docs.map((_id) => ({ _id, letter: _id.charAt(0), number: Number(_id.charAt(1)) })));
    const expected: readonly [string, number][] = [
      ['startkey="c"', 8],
      ['startkey="b"', 3],
      ['startkey="d"', 10],
      ['startkey="b"&startkey_docid=b3', 5],
      ['startkey="a"&startkey_docid=a4', 3],
      ['descending=true&startkey="c"', 0],
      ['descending=true&startkey="b"', 2],
      ['descending=true&startkey="a"', 7],
      ['descending=true&startkey="0"', 10],
      ['skip=4', 4],
      ['startkey="b"&skip=2', 5],
      ['startkey="c"&skip=5', 10],
      ['skip=100', 10],
      ['endkey="0"', 0],
    ];
    for (const [parameters, offset] of expected) {
      const { json } = await query(t, `v?${parameters}`);
      assert.deepEqual([at(json, 'total_rows'), at(json, 'offset')], [10, offset], parameters);
    }
  }),

  test('offset is correct in a large index, ascending and descending', async (t) => {
    await putViews(t, { v: 'function (doc) { emit(doc.integer, null); }' });
    await t.bulk(numbered(2000));
    for (const n of [0, 1, 999, 1500, 1999]) {
      assert.equal(at((await query(t, `v?startkey=${n}&limit=1`)).json, 'offset'), n);
      assert.equal(at((await query(t, `v?descending=true&startkey=${n}&limit=1`)).json, 'offset'), 1999 - n);
    }
  }),
]);
