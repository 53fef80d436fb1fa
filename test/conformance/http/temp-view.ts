import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { numbered, pluck } from '../../support/conformance/view-steps.ts';

const map = 'function (doc) { emit(doc.integer % 2, doc.integer); }';

/** `_temp_view` (docs/http/views.md#temporary-views). */
export default suite('temp_view', [
  test('a temporary view is answered like a stored view', async (t) => {
    await t.bulk(numbered(3));
    assertJson(await t.at('POST', '/_temp_view', { json: { map } }), 200, {
      total_rows: 3,
      offset: 0,
      rows: [
        { id: '0', key: 0, value: 0 },
        { id: '2', key: 0, value: 2 },
        { id: '1', key: 1, value: 1 },
      ],
    });
  }),

  test('a temporary view reduces, and accepts the parameters of a view', async (t) => {
    await t.bulk(numbered(5));
    const json = { map, reduce: '_sum' };
    assertJson(await t.at('POST', '/_temp_view', { json }), 200, { rows: [{ key: null, value: 10 }] });
    assertJson(await t.at('POST', '/_temp_view?group=true&descending=true', { json }), 200, {
      rows: [
        { key: 1, value: 4 },
        { key: 0, value: 6 },
      ],
    });
    const page = await t.at('POST', '/_temp_view?reduce=false&key=0&limit=1&include_docs=true', { json });
    assert.deepEqual([at(page.json, 'total_rows'), at(page.json, 'rows', 0, 'doc', 'string')], [5, '0']);
    const keyed = await t.at('POST', '/_temp_view?group=true', { json: { ...json, keys: [1] } });
    assertJson(keyed, 200, { rows: [{ key: 1, value: 4 }] });
  }),

  test('a temporary view has its options at the top level', async (t) => {
    await t.put('_design/x', {});
    await t.put('a', {});
    const ids = 'function (doc) { emit(doc._id, null); }';
    const answer = await t.at('POST', '/_temp_view', { json: { map: ids, options: { include_design: true } } });
    assert.deepEqual(pluck(answer, 'id'), ['_design/x', 'a']);
  }),

  test('a temporary view maps only the documents that it names', async (t) => {
    await t.bulk(numbered(5));
    const json = { map, reduce: '_sum', doc_ids: ['3', '0', 'none', '3', '4'] };
    assertJson(await t.at('POST', '/_temp_view?reduce=false', { json }), 200, {
      total_rows: 3,
      offset: 0,
      rows: [
        { id: '0', key: 0, value: 0 },
        { id: '4', key: 0, value: 4 },
        { id: '3', key: 1, value: 3 },
      ],
    });
    assertJson(await t.at('POST', '/_temp_view', { json }), 200, { rows: [{ key: null, value: 7 }] });
    const wrong = await t.at('POST', '/_temp_view', { json: { map, doc_ids: 'a' } });
    assertError(wrong, 400, 'bad_request', '`doc_ids` must be a JSON list of document ids.');
  }),

  test('a temporary view sees each write, and stores nothing', async (t) => {
    const before = await t.updateSeq();
    for (const n of [1, 2, 3]) {
      await t.put(`${n}`, { integer: n });
      const answer = await t.at('POST', '/_temp_view', { json: { map } });
      assert.equal(at(answer.json, 'total_rows'), n);
    }
    assert.equal(await t.updateSeq(), before + 3);
  }),

  test('a temporary view needs POST with a JSON object that has a map', async (t) => {
    const reason = 'Content-Type must be application/json';
    assertError(await t.at('POST', '/_temp_view', { body: JSON.stringify({ map }) }), 415, 'bad_content_type', reason);
    const list = await t.at('POST', '/_temp_view', { json: [] });
    assertError(list, 400, 'bad_request', 'Request body must be a JSON object');
    assert.equal((await t.at('POST', '/_temp_view', { json: {} })).status, 400);
    const wrong = await t.at('POST', '/_temp_view', { json: { map: 'function (' } });
    assert.deepEqual([wrong.status, at(wrong.json, 'error')], [500, 'compilation_error']);
    assertAllowed(await t.get('/_temp_view'), 'POST,QUERY');
  }),
]);
