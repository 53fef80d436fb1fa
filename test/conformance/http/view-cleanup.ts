import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { numbered, putViews, query } from '../../support/conformance/view-steps.ts';

const headers = { 'content-type': 'application/json' };

/** `_view_cleanup` (docs/http/views.md#view-indexes). */
export default suite('view_cleanup', [
  test('cleanup keeps the indexes of existing design documents', async (t) => {
    const rev = await putViews(t, { v: 'function (doc) { emit(doc.integer, 1); }' });
    await t.bulk(numbered(10));
    await query(t, 'v');
    await putViews(t, { v: 'function (doc) { emit(doc.integer, 2); }' }, { _rev: rev });
    await query(t, 'v');
    assertJson(await t.at('POST', '/_view_cleanup', { headers }), 202, { ok: true });
    const stale = await query(t, 'v?stale=ok');
    assert.equal(at(stale.json, 'total_rows'), 10);
    assert.equal(at(stale.json, 'rows', 0, 'value'), 2);
  }),

  test('after a cleanup, the index of a restored definition is built again', async (t) => {
    const one = { v: 'function (doc) { emit(doc.integer, 1); }' };
    const first = await putViews(t, one);
    await t.bulk(numbered(10));
    await query(t, 'v');
    const second = await putViews(t, { v: 'function (doc) { emit(doc.integer, 2); }' }, { _rev: first });
    await t.at('POST', '/_view_cleanup', { headers });
    await putViews(t, one, { _rev: second });
    assert.equal(at((await query(t, 'v?stale=ok')).json, 'total_rows'), 0);
    assert.equal(at((await query(t, 'v')).json, 'total_rows'), 10);
  }),

  test('cleanup needs POST and the content type of JSON', async (t) => {
    const reason = 'Content-Type must be application/json';
    assertError(await t.at('POST', '/_view_cleanup'), 415, 'bad_content_type', reason);
    assertAllowed(await t.get('/_view_cleanup'), 'POST');
  }),
]);
