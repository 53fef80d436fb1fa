import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { numbered, pluck, putViews, query, rowsOf } from '../../support/conformance/view-steps.ts';

/** What a view is and how its answer is framed (docs/http/views.md#view-queries). */
export default suite('view_basics', [
  test('rows are sorted by key, with total_rows and offset', async (t) => {
    await putViews(t, { by_n: 'function (doc) { emit(doc.integer, doc.string); }' });
    await t.bulk(numbered(3).toReversed());
    assertJson(await query(t, 'by_n'), 200, {
      total_rows: 3,
      offset: 0,
      rows: [
        { id: '0', key: 0, value: '0' },
        { id: '1', key: 1, value: '1' },
        { id: '2', key: 2, value: '2' },
      ],
    });
  }),

  test('each row is on its own line', async (t) => {
    await putViews(t, { v: { map: 'function (doc) { emit(doc.integer, null); }', reduce: '_count' } });
    await t.bulk(numbered(2));
    assert.equal(
      (await query(t, 'v?reduce=false&update_seq=true')).text,
      '{"total_rows":2,"offset":0,"update_seq":3,"rows":[\r\n{"id":"0","key":0,"value":null},\r\n{"id":"1","key":1,"value":null}\r\n]}\n',
    );
    assert.equal((await query(t, 'v')).text, '{"rows":[\r\n{"key":null,"value":2}\r\n]}\n');
  }),

  test('an empty view has no rows, reduced or not', async (t) => {
    await putViews(t, { v: { map: 'function (doc) {}', reduce: '_sum' } });
    assertJson(await query(t, 'v'), 200, { rows: [] });
    assertJson(await query(t, 'v?reduce=false'), 200, { total_rows: 0, offset: 0, rows: [] });
    assertJson(await query(t, 'v?group=true'), 200, { rows: [] });
  }),

  test('limit=0 returns no rows, only total_rows and offset', async (t) => {
    await putViews(t, { v: 'function (doc) { emit(null, 1); }' });
    await t.bulk(numbered(4));
    assertJson(await query(t, 'v?limit=0'), 200, { total_rows: 4, offset: 0, rows: [] });
  }),

  test('rows follow documents as they are added, changed and deleted', async (t) => {
    await putViews(t, { v: 'function (doc) { if (doc.tag) emit(doc.tag, doc._rev); }' });
    const first = await t.put('a', { tag: 'x' });
    assertJson(await query(t, 'v'), 200, { total_rows: 1, offset: 0, rows: [{ id: 'a', key: 'x', value: first }] });
    const second = await t.put('a', { _rev: first, tag: 'y' });
    await t.put('b', { tag: 'x' });
    assert.deepEqual(rowsOf(await query(t, 'v')), [
      { id: 'b', key: 'x', value: (await t.get('/b')).header('etag')?.slice(1, -1) },
      { id: 'a', key: 'y', value: second },
    ]);
    const third = await t.put('a', { _rev: second });
    assert.deepEqual(pluck(await query(t, 'v'), 'id'), ['b']);
    await t.put('a', { _rev: third, tag: 'z' });
    await t.delete('b', `${(await t.get('/b')).header('etag')?.slice(1, -1)}`);
    assert.deepEqual(pluck(await query(t, 'v'), 'key'), ['z']);
  }),

  test('a view is rebuilt when the design document changes', async (t) => {
    await t.bulk(numbered(3));
    const rev = await putViews(t, { v: 'function (doc) { emit("one", null); }' });
    assert.deepEqual(pluck(await query(t, 'v'), 'key'), ['one', 'one', 'one']);
    await putViews(t, { v: 'function (doc) { emit("two", null); }' }, { _rev: rev });
    assert.deepEqual(pluck(await query(t, 'v'), 'key'), ['two', 'two', 'two']);
  }),

  test('a document can emit many rows, or none', async (t) => {
    await putViews(t, {
      words: 'function (doc) { (doc.words || []).forEach(function (w) { emit(w, doc.words.length); }); }',
    });
    await t.bulk([{ _id: 'a', words: ['u', 'v', 'u'] }, { _id: 'b', words: [] }, { _id: 'c' }]);
    const answer = await query(t, 'words');
    assert.deepEqual(pluck(answer, 'key'), ['u', 'u', 'v']);
    assert.deepEqual(pluck(answer, 'value'), [3, 3, 3]);
  }),

  test("emitted values that JSON can't represent become null", async (t) => {
    await putViews(t, {
      v: 'function (doc) { emit(undefined, undefined); emit(NaN, Infinity); emit([-0, 1e400], { a: undefined }); }',
    });
    await t.put('a', {});
    assert.equal(
      (await query(t, 'v')).text,
      '{"total_rows":3,"offset":0,"rows":[\r\n{"id":"a","key":null,"value":null},\r\n{"id":"a","key":null,"value":null},\r\n{"id":"a","key":[0,null],"value":{}}\r\n]}\n',
    );
  }),

  test('HEAD returns only headers', async (t) => {
    await putViews(t, { v: 'function (doc) { emit(1, 1); }' });
    await t.put('a', {});
    const head = await t.at('HEAD', '/_design/test/_view/v');
    assert.equal(head.status, 200);
    assert.equal(head.header('etag'), (await query(t, 'v')).header('etag'));
  }),

  test('the content type is JSON if the client accepts it, else plain text', async (t) => {
    await putViews(t, { v: 'function (doc) {}' });
    assert.equal((await query(t, 'v')).header('content-type'), 'application/json');
    const plain = await t.get('/_design/test/_view/v', { accept: '*/*' });
    assert.equal(plain.header('content-type'), 'text/plain; charset=utf-8');
    assert.equal(plain.header('cache-control'), 'must-revalidate');
  }),

  test('other methods and paths of unknown views are refused', async (t) => {
    await putViews(t, { v: 'function (doc) {}' });
    assertAllowed(await t.at('PUT', '/_design/test/_view/v'), 'GET,POST,HEAD,QUERY');
    assertAllowed(await t.at('DELETE', '/_design/test/_view/v'), 'GET,POST,HEAD,QUERY');
    assertError(await t.get('/_design/test/_view/w'), 404, 'not_found', 'missing_named_view');
    assertError(await t.get('/_design/test/_view/v/w'), 404, 'not_found', 'missing_named_view');
    assertError(await t.get('/_design/other/_view/v'), 404, 'not_found', 'missing');
    assertError(await t.request('GET', '/no_such_database/_design/test/_view/v'), 404, 'not_found', 'no_db_file');
  }),

  test('names of views and design documents can need encoding', async (t) => {
    await t.put('_design/a%2Fb', { views: { 'c/d é': { map: 'function (doc) { emit(1, 2); }' } } });
    await t.put('x', {});
    const answer = await t.get(`/_design/a%2Fb/_view/${encodeURIComponent('c/d é')}`);
    assertJson(answer, 200, { total_rows: 1, offset: 0, rows: [{ id: 'x', key: 1, value: 2 }] });
  }),

  test('a deleted design document has no views', async (t) => {
    const rev = await putViews(t, { v: 'function (doc) {}' });
    await query(t, 'v');
    await t.delete('_design/test', rev);
    assertError(await t.get('/_design/test/_view/v'), 404, 'not_found', 'deleted');
  }),

  test(
    'a view has its rows after a restart',
    async (t) => {
      await putViews(t, { v: { map: 'function (doc) { emit(doc.integer, doc.integer); }', reduce: '_sum' } });
      await t.bulk(numbered(50));
      const before = await query(t, 'v?group=true');
      await t.restart();
      assert.deepEqual((await query(t, 'v?group=true')).json, before.json);
      await t.put('more', { integer: 1000 });
      assertJson(await query(t, 'v'), 200, { rows: [{ key: null, value: 2225 }] });
    },
    { needs: ['restart'] },
  ),
]);
