import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';
import { json, pluck, putViews, query, rowsOf } from '../../support/conformance/view-steps.ts';

/** Three documents for each of the keys a, b, c. */
async function fillLetters(t: Toolkit): Promise<void> {
  const map = 'function (doc) { emit(doc._id[0], null); }';
  await putViews(t, { v: map, count: { map, reduce: '_count' } });
  await t.bulk(['a', 'b', 'c'].flatMap((letter) => [1, 2, 3].map((n) => ({ _id: `${letter}${n}` }))));
}

/** Where real clients and servers of the family expect views to be so, and not otherwise. */
export default suite('corrections_views', [
  test('rows of one document with the same key are sorted by value', async (t) => {
    const map = 'function (doc) { doc.values.forEach(function (value) { emit(doc.key, value); }); }';
    await putViews(t, { v: map, raw: { map, options: { collation: 'raw' } } });
    const values = ['b', ['x'], { a: 1 }, true, null, false, 10, 9, 'B', [], {}, -1.5];
    await t.bulk([
      { _id: 'a', key: 'k', values },
      { _id: 'b', key: 'k', values: [2, 1] },
    ]);
    const sorted = [-1.5, 9, 10, false, null, true, {}, { a: 1 }, [], ['x'], 'B', 'b', 1, 2];
    for (const name of ['v', 'raw']) {
      assert.deepEqual(pluck(await query(t, name), 'value'), sorted, name);
      assert.deepEqual(pluck(await query(t, `${name}?descending=true`), 'value'), sorted.toReversed(), name);
      const own = await query(t, `${name}?startkey="k"&startkey_docid=b`);
      assert.deepEqual(pluck(own, 'value'), [1, 2]);
    }
    assert.deepEqual(pluck(await query(t, 'v?skip=11&limit=2'), 'value'), ['b', 1]);
  }),

  test('rows with other keys keep their places, and an update ends in the same order', async (t) => {
    await putViews(t, { v: 'function (doc) { doc.rows.forEach(function (row) { emit(row[0], row[1]); }); }' });
    const first = [
      ['x', 3],
      ['y', 2],
      ['x', 1],
    ];
    const rev = await t.put('doc', { rows: first });
    assert.deepEqual(pluck(await query(t, 'v'), 'value'), [1, 3, 2]);
    await t.put('doc', { _rev: rev, rows: [...first, ['x', 2], ['y', 0]] });
    assert.deepEqual(pluck(await query(t, 'v'), 'value'), [1, 2, 3, 0, 2]);
    assert.deepEqual(pluck(await query(t, 'v?key="x"'), 'value'), [1, 2, 3]);
  }),

  test('startkey_docid and endkey_docid narrow a list of keys', async (t) => {
    await fillLetters(t);
    const ids = async (search: string, keys: readonly unknown[]) => {
      const posted = pluck(await query(t, `v?${search}`, { json: { keys } }), 'id');
      assert.deepEqual(pluck(await query(t, `v?${search}&keys=${json(keys)}`), 'id'), posted);
      return posted;
    };
    assert.deepEqual(await ids('startkey_docid=b2', ['b', 'a']), ['b2', 'b3']);
    assert.deepEqual(await ids('startkey_docid=a2', ['b', 'a']), ['b1', 'b2', 'b3', 'a2', 'a3']);
    assert.deepEqual(await ids('endkey_docid=b2', ['b', 'a']), ['b1', 'b2', 'a1', 'a2', 'a3']);
    assert.deepEqual(await ids('start_key_doc_id=a2&end_key_doc_id=b1', ['a', 'b']), ['a2', 'a3', 'b1']);
    const descending = await ids('descending=true&startkey_docid=b2&endkey_docid=a3', ['a', 'b']);
    assert.deepEqual(descending, ['b2', 'b1', 'a3']);
    const counted = await query(t, `count?group=true&startkey_docid=a2&keys=${json(['a', 'b'])}`);
    assert.deepEqual(rowsOf(counted), [
      { key: 'a', value: 2 },
      { key: 'b', value: 3 },
    ]);
  }),

  test('an empty list of keys with a bound returns no rows, and no error', async (t) => {
    await fillLetters(t);
    for (const bound of ['startkey="a"', 'endkey="b"', 'key="a"', 'startkey="a"&endkey="b"&inclusive_end=false']) {
      assertJson(await query(t, `v?keys=[]&${bound}`), 200, { total_rows: 9, offset: 0, rows: [] });
      assertJson(await query(t, `v?${bound}`, { json: { keys: [] } }), 200, { total_rows: 9, offset: 0, rows: [] });
      assertJson(await query(t, `count?keys=[]&${bound}`), 200, { rows: [] });
      assertJson(await t.get(`/_all_docs?keys=[]&${bound}`), 200, { total_rows: 10, offset: 0, rows: [] });
      assert.equal((await t.get(`/_design/test/_view/v?keys=["a"]&${bound}`)).status, 400);
    }
  }),

  test('a reduced view with one key needs no group', async (t) => {
    await fillLetters(t);
    assert.deepEqual(rowsOf(await query(t, 'count?keys=["a"]')), [{ key: null, value: 3 }]);
    assert.deepEqual(rowsOf(await query(t, 'count', { json: { keys: ['b'] } })), [{ key: null, value: 3 }]);
    assert.deepEqual(rowsOf(await query(t, 'count?keys=["none"]')), []);
    assert.deepEqual(rowsOf(await query(t, 'count?keys=["a"]&group=true')), [{ key: 'a', value: 3 }]);
    const several = await t.get('/_design/test/_view/count?keys=["a","b"]');
    assertError(several, 400, 'query_parse_error', 'Multi-key fetchs for reduce views must use `group=true`');
  }),

  test('of key, startkey and endkey the last in the query counts', async (t) => {
    await fillLetters(t);
    const keys = async (search: string) => [...new Set(pluck(await query(t, `v?${search}`), 'key'))];
    assert.deepEqual(await keys('startkey="a"&endkey="c"&key="b"'), ['b']);
    assert.deepEqual(await keys('key="b"&startkey="a"'), ['a', 'b']);
    assert.deepEqual(await keys('key="b"&endkey="c"'), ['b', 'c']);
    assert.deepEqual(await keys('startkey="a"&key="b"&endkey="c"'), ['b', 'c']);
    assert.deepEqual(await keys('key="b"&startkey="a"&inclusive_end=false'), ['a']);
    assert.deepEqual(await keys('startkey="a"&key="b"&inclusive_end=false'), ['b']);
    const posted = await query(t, 'v?key="a"', { json: { startkey: 'b', endkey: 'c' } });
    assert.deepEqual([...new Set(pluck(posted, 'key'))], ['b', 'c'], 'the body is behind the query');
    assert.deepEqual(pluck(await t.get('/_all_docs?key="a2"&startkey="a1"'), 'id'), ['a1', 'a2']);
    assert.deepEqual(pluck(await t.get('/_all_docs?startkey="a1"&key="a2"'), 'id'), ['a2']);
  }),

  test('a purge keeps the ETags of views in which the document has no rows', async (t) => {
    await putViews(t, {
      even: { map: 'function (doc) { if (doc.n % 2 === 0) emit(doc.n, 1); }', reduce: '_sum' },
      odd: 'function (doc) { if (doc.n % 2 === 1) emit(doc.n, 1); }',
    });
    const revs = new Map<string, string>();
    for (const n of [1, 2, 3, 4]) revs.set(`d${n}`, await t.put(`d${n}`, { n }));
    revs.set('none', await t.put('none', {}));
    const tags = async () => {
      const asked = ['even', 'even?reduce=false', 'odd'].map((what) => query(t, what));
      return (await Promise.all(asked)).map((answer) => answer.header('etag'));
    };
    const purge = async (id: string) => {
      const answer = await t.at('POST', '/_purge', { json: { [id]: [revs.get(id)] } });
      assert.equal(answer.status, 200, answer.text);
    };
    const [even, rows, odd] = await tags();
    await purge('none');
    assert.deepEqual(await tags(), [even, rows, odd]);
    const again = await t.get('/_design/test/_view/even', { 'if-none-match': `${even}` });
    assert.equal(again.status, 304);
    await purge('d3');
    const [evenNow, rowsNow, oddNow] = await tags();
    assert.deepEqual([evenNow, rowsNow], [even, rows]);
    assert.notEqual(oddNow, odd);
    await purge('d2');
    const [evenLast, rowsLast, oddLast] = await tags();
    assert.equal(oddLast, oddNow);
    assert.notEqual(evenLast, even);
    assert.notEqual(rowsLast, rows);
    assert.deepEqual(pluck(await query(t, 'even?reduce=false'), 'id'), ['d4']);
  }),

  test('_compact below a design document compacts its index', async (t) => {
    await putViews(t, { v: 'function (doc) { emit(doc._id, null); }' });
    await t.put('a', {});
    await query(t, 'v');
    const headers = { 'content-type': 'application/json' };
    assertJson(await t.at('POST', '/_design/test/_compact', { headers }), 202, { ok: true });
    assertJson(await t.at('POST', '/_compact/test', { headers }), 202, { ok: true });
    assertError(await t.at('POST', '/_design/none/_compact', { headers }), 404, 'not_found', 'missing');
    assertError(
      await t.at('POST', '/_design/test/_compact'),
      415,
      'bad_content_type',
      'Content-Type must be application/json',
    );
    assertAllowed(await t.get('/_design/test/_compact'), 'POST');
    assert.deepEqual(pluck(await query(t, 'v'), 'id'), ['a']);
  }),
]);
