import { assert } from 'chai';
import { assertError, assertJson, assertWritten } from '../../support/conformance/answer.ts';
import { arrayAt, at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const ddoc = { language: 'javascript', views: { all: { map: 'function (doc) { emit(doc._id); }' } } };

/** Design documents as documents (docs/http/views.md#design-documents). */
export default suite('design_docs', [
  test('design documents are written, read, updated and deleted below _design/', async (t) => {
    const created = await t.at('PUT', '/_design/test', { json: ddoc });
    const first = assertWritten(created, 201, '_design/test');
    assert.equal(created.header('location'), `${t.baseUrl}/${t.db}/_design/test`);
    const read = await t.get('/_design/test');
    assertJson(read, 200, { _id: '_design/test', _rev: first, ...ddoc });
    assert.equal(read.header('etag'), `"${first}"`);
    const second = assertWritten(await t.at('PUT', `/_design/test?rev=${first}`, { json: ddoc }), 201, '_design/test');
    assert.equal((await t.at('HEAD', '/_design/test')).header('etag'), `"${second}"`);
    assertWritten(await t.at('DELETE', `/_design/test?rev=${second}`), 200, '_design/test');
    assertError(await t.get('/_design/test'), 404, 'not_found', 'deleted');
    assertError(await t.get('/_design/other'), 404, 'not_found', 'missing');
  }),

  test('design documents are counted and listed like others', async (t) => {
    for (const id of ['_design/b', '_design/a', 'Z', 'a']) await t.put(id, {});
    assert.deepInclude(await t.info(), { doc_count: 4, update_seq: 4 });
    const rows = arrayAt((await t.get('/_all_docs')).json, 'rows');
    assert.deepEqual(
      rows.map((row) => at(row, 'id')),
      ['Z', '_design/a', '_design/b', 'a'],
    );
    const range = await t.get('/_all_docs?startkey="_design/"&endkey="_design0"');
    assert.deepEqual(
      arrayAt(range.json, 'rows').map((row) => at(row, 'id')),
      ['_design/a', '_design/b'],
    );
  }),

  test('design documents are written by POST and in bulk', async (t) => {
    const posted = await t.at('POST', '', { json: { _id: '_design/one', ...ddoc } });
    assertWritten(posted, 201, '_design/one');
    assert.equal(posted.header('location'), `${t.baseUrl}/${t.db}/_design/one`);
    const [row] = await t.bulk([{ _id: '_design/two', ...ddoc }]);
    assert.deepInclude(row, { ok: true, id: '_design/two' });
    assert.deepInclude((await t.get('/_design/two')).json, ddoc);
  }),

  test(
    'an encoded slash is redirected to the plain one',
    async (t) => {
      await t.put('_design/test', ddoc);
      const answer = await t.get('/_design%2Ftest');
      assert.equal(answer.status, 301);
      assert.equal(answer.header('location'), `${t.baseUrl}/${t.db}/_design/test`);
    },
    { needs: ['manual-redirect'] },
  ),

  test(
    'the redirection keeps the query and the rest of the path',
    async (t) => {
      const rev = await t.put('_design/te%20st', ddoc);
      const answer = await t.get(`/_design%2fte%20st?rev=${rev}&revs=true`);
      assert.equal(answer.status, 301);
      assert.equal(answer.header('location'), `${t.baseUrl}/${t.db}/_design/te%20st?rev=${rev}&revs=true`);
    },
    { needs: ['manual-redirect'] },
  ),

  test('following the redirection returns the document', async (t) => {
    const rev = await t.put('_design/test', ddoc);
    const answer = await t.get('/_design%2Ftest');
    const location = answer.header('location');
    const read = location === undefined ? answer : await t.request('GET', location.slice(t.baseUrl.length));
    assertJson(read, 200, { _id: '_design/test', _rev: rev, ...ddoc });
  }),
]);
