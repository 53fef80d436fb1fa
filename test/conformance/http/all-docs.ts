import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { arrayAt, at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

/** Five documents, a to e. */
async function fiveDocuments(t: Toolkit): Promise<readonly string[]> {
  const rows = await t.bulk(['a', 'b', 'c', 'd', 'e'].map((_id) => ({ _id, upper: _id.toUpperCase() })));
  return rows.map((row) => stringAt(row, 'rev'));
}

/** Asks and gives what is told apart here: the ids in order, and the offset. */
async function idsOf(t: Toolkit, query: string): Promise<{ ids: string; offset: unknown }> {
  const answer = await t.get(`/_all_docs?${query}`);
  assert.equal(answer.status, 200, answer.text);
  const rows = arrayAt(answer.json, 'rows').map((row) => stringAt(row, 'id'));
  return { ids: rows.join(''), offset: at(answer.json, 'offset') };
}

const notFound = (key: string): object => ({ key, error: 'not_found' });

/** `_all_docs` (docs/http/bulk.md#list-of-all-documents). */
export default suite('all_docs', [
  test('rows are framed so that a client can read them line by line', async (t) => {
    const [a, b] = [await t.put('a', {}), await t.put('b', {})];
    assert.equal(
      (await t.get('/_all_docs')).text,
      '{"total_rows":2,"offset":0,"rows":[\r\n' +
        `{"id":"a","key":"a","value":{"rev":"${a}"}},\r\n` +
        `{"id":"b","key":"b","value":{"rev":"${b}"}}\r\n` +
        ']}\n',
    );
  }),

  test('an empty database has no rows', async (t) => {
    assertJson(await t.get('/_all_docs'), 200, { total_rows: 0, offset: 0, rows: [] });
  }),

  test('limit=0 returns no rows, only total and offset', async (t) => {
    await fiveDocuments(t);
    assertJson(await t.get('/_all_docs?limit=0'), 200, { total_rows: 5, offset: 0, rows: [] });
  }),

  test('deleted documents are left out, and design documents are listed', async (t) => {
    const gone = await t.put('gone', {});
    await t.delete('gone', gone);
    await t.put('_design/first', {});
    await t.put('A', {});
    await t.put('a', {});
    await t.put('_local/mine', {});
    const answer = await t.get('/_all_docs');
    assert.deepInclude(answer.json, { total_rows: 3, offset: 0 });
    assert.deepEqual(
      arrayAt(answer.json, 'rows').map((row) => at(row, 'id')),
      ['A', '_design/first', 'a'],
    );
  }),

  ...[
    { query: 'startkey="c"', ids: 'cde', offset: 2 },
    { query: 'start_key="c"', ids: 'cde', offset: 2 },
    { query: 'startkey="bb"', ids: 'cde', offset: 2 },
    { query: 'endkey="c"', ids: 'abc', offset: 0 },
    { query: 'end_key="c"', ids: 'abc', offset: 0 },
    { query: 'endkey="c"&inclusive_end=false', ids: 'ab', offset: 0 },
    { query: 'startkey="b"&endkey="d"', ids: 'bcd', offset: 1 },
    { query: 'startkey="b"&endkey="d"&inclusive_end=false', ids: 'bc', offset: 1 },
    { query: 'key="c"', ids: 'c', offset: 2 },
    { query: 'key="c"&descending=true', ids: 'c', offset: 2 },
    { query: 'limit=2', ids: 'ab', offset: 0 },
    { query: 'skip=2', ids: 'cde', offset: 2 },
    { query: 'skip=1&limit=2', ids: 'bc', offset: 1 },
    { query: 'startkey="b"&skip=1&limit=2', ids: 'cd', offset: 2 },
    { query: 'descending=true', ids: 'edcba', offset: 0 },
    { query: 'descending=TRUE', ids: 'edcba', offset: 0 },
    { query: 'descending=true&startkey="c"', ids: 'cba', offset: 2 },
    { query: 'descending=true&endkey="c"', ids: 'edc', offset: 0 },
    { query: 'descending=true&endkey="c"&inclusive_end=false', ids: 'ed', offset: 0 },
    { query: 'descending=true&startkey="d"&endkey="b"&inclusive_end=false', ids: 'dc', offset: 1 },
    { query: 'descending=true&skip=1&limit=2', ids: 'dc', offset: 1 },
    { query: 'startkey_docid=d', ids: 'de', offset: 3 },
    { query: 'endkey_docid=b', ids: 'ab', offset: 0 },
    { query: 'startkey="f"', ids: '', offset: 5 },
    // Strings sort above null and numbers, and below lists and objects.
    { query: 'key=null', ids: '', offset: 0 },
    { query: 'key=5', ids: '', offset: 0 },
    { query: 'endkey=null', ids: '', offset: 0 },
    { query: 'startkey=null', ids: 'abcde', offset: 0 },
    { query: 'descending=true&endkey=null', ids: 'edcba', offset: 0 },
    { query: 'descending=true&startkey=null', ids: '', offset: 5 },
    { query: 'startkey=null&startkey_docid=d', ids: 'abcde', offset: 0 },
    { query: 'endkey={}', ids: 'abcde', offset: 0 },
    { query: 'startkey=[]', ids: '', offset: 5 },
  ].map(({ query, ids, offset }) =>
    test(`?${query} returns ${ids === '' ? 'nothing' : ids}`, async (t) => {
      await fiveDocuments(t);
      assert.deepEqual(await idsOf(t, query), { ids, offset });
    }),
  ),

  test('skip counts live documents only', async (t) => {
    const [a, , , d] = await fiveDocuments(t);
    await t.delete('a', a ?? '');
    await t.delete('d', d ?? '');
    assert.deepEqual(await idsOf(t, 'skip=1'), { ids: 'ce', offset: 1 });
    assert.deepEqual(await idsOf(t, 'skip=1&limit=1'), { ids: 'c', offset: 1 });
    assert.deepEqual(await idsOf(t, 'skip=1&descending=true'), { ids: 'cb', offset: 1 });
    assert.deepEqual(await idsOf(t, 'startkey="b"&skip=2'), { ids: 'e', offset: 2 });
    assert.equal((await idsOf(t, 'skip=3')).ids, '');
  }),

  test('a range whose end is before its start is empty', async (t) => {
    await fiveDocuments(t);
    for (const query of ['startkey="d"&endkey="b"', 'descending=true&startkey="b"&endkey="d"', 'key="x"', 'skip=9']) {
      assert.equal((await idsOf(t, query)).ids, '', query);
    }
  }),

  test('include_docs adds the documents, and update_seq the sequence', async (t) => {
    const [a, b] = await fiveDocuments(t);
    const answer = await t.get('/_all_docs?include_docs=true&limit=2&update_seq=true');
    assertJson(answer, 200, {
      total_rows: 5,
      offset: 0,
      update_seq: 5,
      rows: [
        { id: 'a', key: 'a', value: { rev: a }, doc: { _id: 'a', _rev: a, upper: 'A' } },
        { id: 'b', key: 'b', value: { rev: b }, doc: { _id: 'b', _rev: b, upper: 'B' } },
      ],
    });
  }),

  test('conflicts=true adds the conflicts if documents are included', async (t) => {
    await t.replicate([replicated('doc', 2, 'ba', { n: 1 }), replicated('doc', 2, 'ca', { n: 2 })]);
    const rows = arrayAt((await t.get('/_all_docs?include_docs=true&conflicts=true')).json, 'rows');
    assert.deepEqual(rows, [
      {
        id: 'doc',
        key: 'doc',
        value: { rev: fakeRev(2, 'c') },
        doc: { _id: 'doc', _rev: fakeRev(2, 'c'), n: 2, _conflicts: [fakeRev(2, 'b')] },
      },
    ]);
    const plain = arrayAt((await t.get('/_all_docs?conflicts=true')).json, 'rows');
    assert.deepEqual(plain, [{ id: 'doc', key: 'doc', value: { rev: fakeRev(2, 'c') } }]);
  }),

  test('keys returns one row per key in the given order, known or not', async (t) => {
    const [a, , c, d] = await fiveDocuments(t);
    const tombstone = await t.delete('d', d ?? '');
    const row = (id: string, rev: unknown): object => ({ id, key: id, value: { rev } });
    const rows = [
      row('c', c),
      notFound('x'),
      row('a', a),
      row('c', c),
      { id: 'd', key: 'd', value: { rev: tombstone, deleted: true } },
    ];
    const keys = ['c', 'x', 'a', 'c', 'd'];
    const posted = await t.at('POST', '/_all_docs', { json: { keys } });
    assertJson(posted, 200, { total_rows: 4, offset: 0, rows });
    assertJson(await t.get(`/_all_docs?keys=${encodeURIComponent(JSON.stringify(keys))}`), 200, {
      total_rows: 4,
      offset: 0,
      rows,
    });
    const reversed = await t.at('POST', '/_all_docs?descending=true', { json: { keys } });
    assert.deepEqual(arrayAt(reversed.json, 'rows'), rows.toReversed());
  }),

  test('keys with include_docs returns null for a deleted document', async (t) => {
    const [a] = await fiveDocuments(t);
    const tombstone = await t.delete('b', stringAt((await t.get('/b')).json, '_rev'));
    const answer = await t.at('POST', '/_all_docs?include_docs=true', { json: { keys: ['a', 'b', 'x'] } });
    assert.deepEqual(arrayAt(answer.json, 'rows'), [
      { id: 'a', key: 'a', value: { rev: a }, doc: { _id: 'a', _rev: a, upper: 'A' } },
      { id: 'b', key: 'b', value: { rev: tombstone, deleted: true }, doc: null },
      notFound('x'),
    ]);
  }),

  test('limit and skip apply to keys', async (t) => {
    await fiveDocuments(t);
    const answer = await t.at('POST', '/_all_docs?skip=1&limit=2', { json: { keys: ['e', 'd', 'x', 'a'] } });
    assert.deepEqual(
      arrayAt(answer.json, 'rows').map((row) => at(row, 'key')),
      ['d', 'x'],
    );
    assert.deepInclude(answer.json, { total_rows: 5, offset: 1 });
    const beyond = await t.get('/_all_docs?skip=7&keys=["a","b"]');
    assertJson(beyond, 200, { total_rows: 5, offset: 2, rows: [] });
    await t.put('_local/l', {});
    await t.put('_design/d', {});
    for (const [path, total] of [
      ['/_design_docs', 1],
      ['/_local_docs', 1],
    ] as const) {
      const rows = [notFound('a')];
      assertJson(await t.get(`${path}?keys=["a"]`), 200, { total_rows: total, offset: 0, rows });
      assertJson(await t.at('POST', path, { json: { keys: ['a'] } }), 200, { total_rows: total, offset: 0, rows });
    }
  }),

  test('POST without keys lists all documents, and POST with empty keys lists none', async (t) => {
    await fiveDocuments(t);
    assert.lengthOf(arrayAt((await t.at('POST', '/_all_docs', { json: {} })).json, 'rows'), 5);
    assertJson(await t.at('POST', '/_all_docs', { json: { keys: [] } }), 200, { total_rows: 5, offset: 0, rows: [] });
  }),

  test('the body of a POST can have any parameter, and overrides the query', async (t) => {
    await fiveDocuments(t);
    for (const path of ['/_all_docs', '/_all_docs?limit=4']) {
      const json = { startkey: 'b', limit: 2, include_docs: true };
      const rows = arrayAt((await t.at('POST', path, { json })).json, 'rows');
      assert.deepEqual(
        rows.map((row) => at(row, 'doc', 'upper')),
        ['B', 'C'],
      );
    }
    const refused = await t.at('POST', '/_all_docs', { json: { limit: -1 } });
    assertError(refused, 400, 'query_parse_error', 'Invalid value for positive integer: -1');
  }),

  test('keys must be a list', async (t) => {
    const answer = await t.at('POST', '/_all_docs', { json: { keys: 'a' } });
    assertError(answer, 400, 'bad_request', '`keys` member must be a array.');
  }),

  ...[
    { query: 'limit=-1', reason: 'Invalid value for positive integer: -1' },
    { query: 'limit=ten', reason: 'Invalid value for integer: ten' },
    { query: 'skip=-1', reason: 'Invalid value for positive integer: -1' },
    { query: 'skip=x', reason: 'Invalid value for integer: x' },
    { query: 'descending=maybe', reason: 'Invalid boolean parameter: maybe' },
    { query: 'include_docs=1', reason: 'Invalid boolean parameter: 1' },
    { query: 'inclusive_end=no', reason: 'Invalid boolean parameter: no' },
    { query: 'count=1', reason: 'QS param `count` is not `limit`' },
    { query: 'keys=["a"]&key="a"', reason: '`keys` is incompatible with `key`, `start_key` and `end_key`' },
    { query: 'keys=["a"]&startkey="a"', reason: '`keys` is incompatible with `key`, `start_key` and `end_key`' },
    { query: 'keys=["a"]&endkey="a"', reason: '`keys` is incompatible with `key`, `start_key` and `end_key`' },
  ].map(({ query, reason }) =>
    test(`?${query} is refused`, async (t) => {
      assertError(await t.get(`/_all_docs?${encodeURI(query)}`), 400, 'query_parse_error', reason);
    }),
  ),

  test('a key that is not JSON is refused', async (t) => {
    for (const query of ['key=a', 'startkey=a', 'endkey=a', 'keys=a']) {
      assertError(await t.get(`/_all_docs?${query}`), 400, 'bad_request', 'invalid_json');
    }
  }),

  test('every write changes the ETag, and nothing else does', async (t) => {
    await fiveDocuments(t);
    const etag = (await t.get('/_all_docs')).header('etag') ?? '';
    assert.match(etag, /^"[0-9a-z]+"$/);
    const unchanged = await t.get('/_all_docs', { 'if-none-match': etag });
    assert.equal(unchanged.status, 304);
    assert.equal(unchanged.header('etag'), etag);
    await t.put('f', {});
    const changed = await t.get('/_all_docs', { 'if-none-match': etag });
    assert.equal(changed.status, 200);
    assert.notEqual(changed.header('etag'), etag);
  }),

  test('_design_docs lists design documents only', async (t) => {
    for (const id of ['a', '_design/y', '_design/x', 'z']) await t.put(id, {});
    const answer = await t.get('/_design_docs');
    assert.deepEqual(
      arrayAt(answer.json, 'rows').map((row) => at(row, 'id')),
      ['_design/x', '_design/y'],
    );
  }),

  test('_local_docs lists local documents only', async (t) => {
    for (const id of ['a', '_local/y', '_local/x']) await t.put(id, { id });
    const answer = await t.get('/_local_docs');
    assert.deepEqual(arrayAt(answer.json, 'rows'), [
      { id: '_local/x', key: '_local/x', value: { rev: '0-1' } },
      { id: '_local/y', key: '_local/y', value: { rev: '0-1' } },
    ]);
  }),

  test('several queries in one request are answered in order', async (t) => {
    await fiveDocuments(t);
    const queries = [{ keys: ['e', 'a'] }, { startkey: 'b', endkey: 'c' }, { limit: 1, skip: 4 }];
    const answer = await t.at('POST', '/_all_docs/queries', { json: { queries } });
    assert.equal(answer.status, 200, answer.text);
    const ids = arrayAt(answer.json, 'results').map((result) => arrayAt(result, 'rows').map((row) => at(row, 'id')));
    assert.deepEqual(ids, [['e', 'a'], ['b', 'c'], ['e']]);
  }),

  test('only GET, POST and HEAD are allowed', async (t) => {
    assertAllowed(await t.at('PUT', '/_all_docs', { json: {} }), 'GET,POST,HEAD,QUERY');
    assertAllowed(await t.at('DELETE', '/_all_docs'), 'GET,POST,HEAD,QUERY');
  }),
]);
