import { assert } from 'chai';
import { assertError, assertJson, assertWritten } from '../../support/conformance/answer.ts';
import { at, numberAt, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

/** The life of a database and of a document, in its plainest form (docs/http/documents.md). */
export default suite('basics', [
  test('a new database has the complete database info', async (t) => {
    const answer = await t.get('');
    assert.equal(answer.status, 200);
    const info = answer.json;
    assert.deepInclude(info, {
      db_name: t.db,
      doc_count: 0,
      doc_del_count: 0,
      update_seq: 0,
      purge_seq: 0,
      compact_running: false,
      committed_update_seq: 0,
    });
    assert.isNumber(at(info, 'disk_size'));
    assert.isNumber(at(info, 'data_size'));
    assert.isNumber(at(info, 'disk_format_version'));
    assert.match(stringAt(info, 'instance_start_time'), /^\d+$/);
  }),

  test('the sizes in the database info include the latest write', async (t) => {
    const docs = Array.from({ length: 300 }, (_, index) => ({
      _id: `doc-${index}`,
      text: `${index}`.padStart(100, 'x'),
    }));
    assert.equal((await t.at('POST', '/_bulk_docs', { json: { docs } })).status, 201);
    const info = await t.info();
    assert.isAtLeast(numberAt(info, 'disk_size'), 300 * 100);
    assert.isAtLeast(numberAt(info, 'data_size'), 300 * 100);
    await t.put('small', { n: 1 });
    assert.isAtLeast(numberAt(await t.info(), 'disk_size'), numberAt(info, 'disk_size'));
  }),

  test('PUT creates a document and returns id, revision, ETag and Location', async (t) => {
    const answer = await t.at('PUT', '/first', { json: { title: 'One' } });
    const rev = assertWritten(answer, 201, 'first');
    assert.match(rev, /^1-[0-9a-f]{32}$/);
    assert.equal(answer.header('location'), `${t.baseUrl}/${t.db}/first`);
  }),

  test('a document is read as it was written, with _id and _rev', async (t) => {
    const rev = await t.put('first', { title: 'One', tags: ['a', 'b'], nested: { n: 1 } });
    const answer = await t.get('/first');
    assertJson(answer, 200, { _id: 'first', _rev: rev, title: 'One', tags: ['a', 'b'], nested: { n: 1 } });
    assert.equal(answer.header('etag'), `"${rev}"`);
  }),

  test('members keep the order in which they were written', async (t) => {
    const answer = await t.at('PUT', '/ordered', { body: '{"z":1,"10":2,"9":3,"a":{"y":4,"1":5,"b":6}}' });
    const rev = stringAt(answer.json, 'rev');
    assert.equal(
      (await t.get('/ordered')).text,
      `{"_id":"ordered","_rev":"${rev}","z":1,"10":2,"9":3,"a":{"y":4,"1":5,"b":6}}\n`,
    );
  }),

  test('an update makes the next revision, and update_seq counts it', async (t) => {
    const first = await t.put('doc', { value: 1 });
    const second = await t.put('doc', { _rev: first, value: 2 });
    assert.match(second, /^2-[0-9a-f]{32}$/);
    assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: second, value: 2 });
    assert.deepInclude(await t.info(), { doc_count: 1, update_seq: 2, committed_update_seq: 2 });
  }),

  test('a deleted document is answered 404, but its tombstone can be read', async (t) => {
    const first = await t.put('doc', { value: 1 });
    const answer = await t.at('DELETE', `/doc?rev=${first}`);
    const second = assertWritten(answer, 200, 'doc');
    assert.match(second, /^2-[0-9a-f]{32}$/);
    assert.notProperty(answer.headers, 'location');
    assertError(await t.get('/doc'), 404, 'not_found', 'deleted');
    assertJson(await t.get(`/doc?rev=${second}`), 200, { _id: 'doc', _rev: second, _deleted: true });
    assert.deepInclude(await t.info(), { doc_count: 0, doc_del_count: 1, update_seq: 2 });
  }),

  test('a document that never existed is missing', async (t) => {
    assertError(await t.get('/nobody'), 404, 'not_found', 'missing');
  }),

  test('POST stores under the given id', async (t) => {
    const answer = await t.at('POST', '', { json: { _id: 'given', value: 1 } });
    const rev = assertWritten(answer, 201, 'given');
    assert.equal(answer.header('location'), `${t.baseUrl}/${t.db}/given`);
    assertJson(await t.get('/given'), 200, { _id: 'given', _rev: rev, value: 1 });
  }),

  test('POST without an id generates one', async (t) => {
    const answer = await t.at('POST', '', { json: { value: 1 } });
    const id = stringAt(answer.json, 'id');
    assert.match(id, /^[0-9a-f]{32}$/);
    const rev = assertWritten(answer, 201, id);
    assert.equal(answer.header('location'), `${t.baseUrl}/${t.db}/${id}`);
    assertJson(await t.get(`/${id}`), 200, { _id: id, _rev: rev, value: 1 });
  }),

  test('the same edit in two databases has the same revision, and another edit has another', async (t) => {
    const other = `${t.db}_other`;
    await t.createDatabase(other);
    const edit = { json: { name: 'Ada', born: 1815 } };
    const here = stringAt((await t.at('PUT', '/doc', edit)).json, 'rev');
    const there = stringAt((await t.request('PUT', `/${other}/doc`, edit)).json, 'rev');
    assert.equal(here, there);
    const different = await t.request('PUT', `/${other}/doc2`, { json: { name: 'Ada', born: 1816 } });
    assert.notEqual(stringAt(different.json, 'rev'), there);
  }),
]);
