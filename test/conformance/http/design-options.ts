import { assert } from 'chai';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { numbered, pluck, putViews, query, rowsOf } from '../../support/conformance/view-steps.ts';

const ids = 'function (doc) { emit(doc._id, null); }';

/** `options` of a design document (docs/http/views.md#design-options). */
export default suite('design_options', [
  test('include_design shows design documents to the map', async (t) => {
    await t.put('a', {});
    const rev = await putViews(t, { v: ids });
    assert.deepEqual(pluck(await query(t, 'v'), 'key'), ['a']);
    await putViews(t, { v: ids }, { _rev: rev, options: { include_design: true } });
    assert.deepEqual(pluck(await query(t, 'v'), 'key'), ['_design/test', 'a']);
  }),

  test('local_seq shows _local_seq to the map', async (t) => {
    const map = 'function (doc) { emit(doc._id, doc._local_seq === undefined ? "none" : doc._local_seq); }';
    const rev = await putViews(t, { v: map });
    await t.bulk(numbered(2));
    assert.deepEqual(pluck(await query(t, 'v'), 'value'), ['none', 'none']);
    await putViews(t, { v: map }, { _rev: rev, options: { local_seq: true } });
    assert.deepEqual(pluck(await query(t, 'v'), 'value'), [2, 3]);
  }),

  test('query parameters in options are defaults, which the request overrides', async (t) => {
    await putViews(t, { v: ids }, { options: { include_docs: true, descending: true, limit: 2 } });
    await t.bulk(numbered(4));
    assert.deepEqual(pluck(await query(t, 'v'), 'id'), ['3', '2']);
    assert.deepEqual(
      pluck(await query(t, 'v'), 'doc').map((doc) => at(doc, 'integer')),
      [3, 2],
    );
    assert.deepEqual(rowsOf(await query(t, 'v?include_docs=false&descending=false&limit=1')), [
      { id: '0', key: '0', value: null },
    ]);
  }),

  test("defaults that don't suit the query are ignored", async (t) => {
    const views = { rows: ids, sum: { map: 'function (doc) { emit(doc.integer % 2, doc.integer); }', reduce: '_sum' } };
    await putViews(t, views, { options: { include_docs: true, group: true } });
    await t.bulk(numbered(4));
    assertJson(await query(t, 'sum'), 200, {
      rows: [
        { key: 0, value: 2 },
        { key: 1, value: 4 },
      ],
    });
    assert.lengthOf(rowsOf(await query(t, 'rows')), 4);
    assert.deepInclude(rowsOf(await query(t, 'sum?reduce=false&limit=1'))[0], { id: '0', value: 0 });
    const refused = await t.get('/_design/test/_view/sum?include_docs=true');
    assertError(refused, 400, 'query_parse_error', '`include_docs` is invalid for reduce');
  }),

  test('a bound in the request replaces all default bounds', async (t) => {
    await putViews(t, { v: ids }, { options: { startkey: '2', reduce: false } });
    await t.bulk(numbered(4));
    assert.deepEqual(pluck(await query(t, 'v'), 'id'), ['2', '3']);
    assert.deepEqual(pluck(await query(t, 'v', { json: { keys: ['1'] } }), 'id'), ['1']);
    assert.deepEqual(pluck(await query(t, 'v?startkey="3"'), 'id'), ['3']);
  }),
]);
