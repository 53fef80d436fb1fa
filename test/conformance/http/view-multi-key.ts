import { assert } from 'chai';
import { assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';
import { json, numbered, pluck, putViews, query } from '../../support/conformance/view-steps.ts';

async function fill(t: Toolkit): Promise<void> {
  const map = 'function (doc) { emit(doc.integer, doc.integer); emit(doc.integer, doc.string); }';
  await putViews(t, { v: map, sum: { map: 'function (doc) { emit(doc.integer % 5, doc.integer); }', reduce: '_sum' } });
  await t.bulk(numbered(20));
}

/** Several keys at once, by POST and by GET (docs/http/views.md#views-by-keys). */
export default suite('view_multi_key', [
  test('keys returns the rows of each key, in the order of keys, by GET and POST', async (t) => {
    await fill(t);
    const keys = [10, 3, 'none', 15, 3];
    const posted = await query(t, 'v', { json: { keys } });
    assert.deepEqual(pluck(posted, 'key'), [10, 10, 3, 3, 15, 15, 3, 3]);
    assert.deepEqual([at(posted.json, 'total_rows'), at(posted.json, 'offset')], [40, 20]);
    assert.deepEqual((await query(t, `v?keys=${json(keys)}`)).json, posted.json);
    assert.deepEqual((await query(t, `v?keys=[10,3]`, {})).status, 200);
  }),

  test('skip, limit and descending apply to the rows of all keys together', async (t) => {
    await fill(t);
    const keys = [10, 3, 15];
    assert.deepEqual(pluck(await query(t, 'v?skip=1&limit=3', { json: { keys } }), 'key'), [10, 3, 3]);
    assert.deepEqual(pluck(await query(t, 'v?limit=0', { json: { keys } }), 'key'), []);
    assert.deepEqual(pluck(await query(t, 'v?descending=true&limit=3', { json: { keys } }), 'key'), [15, 15, 3]);
  }),

  test('an empty list of keys returns no rows', async (t) => {
    await fill(t);
    assertJson(await query(t, 'v', { json: { keys: [] } }), 200, { total_rows: 40, offset: 0, rows: [] });
    assertJson(await query(t, 'v?keys=[]'), 200, { total_rows: 40, offset: 0, rows: [] });
    assertJson(await query(t, 'sum?group=true', { json: { keys: [] } }), 200, { rows: [] });
  }),

  test('a body without keys returns all rows', async (t) => {
    await fill(t);
    assert.deepEqual((await query(t, 'v', { json: {} })).json, (await query(t, 'v')).json);
  }),

  test('other parameters can be in the body', async (t) => {
    await fill(t);
    assert.deepEqual(pluck(await query(t, 'v', { json: { startkey: 18, limit: 3 } }), 'key'), [18, 18, 19]);
    assert.deepEqual(pluck(await query(t, 'v?limit=2', { json: { key: 4, descending: true } }), 'value'), ['4', 4]);
  }),

  test('a reduced view reduces each key by itself', async (t) => {
    await fill(t);
    assertJson(await query(t, 'sum?group=true', { json: { keys: [4, 0, 9, 4] } }), 200, {
      rows: [
        { key: 4, value: 46 },
        { key: 0, value: 30 },
        { key: 4, value: 46 },
      ],
    });
    assertJson(await query(t, 'sum?group=true&keys=[1]'), 200, { rows: [{ key: 1, value: 34 }] });
    assertJson(await query(t, 'sum?group=true&limit=1&skip=1', { json: { keys: [4, 0, 3] } }), 200, {
      rows: [{ key: 0, value: 30 }],
    });
  }),

  test('include_docs works with keys', async (t) => {
    await fill(t);
    const rows = pluck(await query(t, 'v?include_docs=true&limit=1', { json: { keys: [7] } }), 'doc');
    assert.deepInclude(rows[0], { _id: '7', integer: 7 });
  }),
]);
