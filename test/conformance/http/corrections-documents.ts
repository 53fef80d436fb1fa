import { assert } from 'chai';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { fakeRev } from '../../support/conformance/fake-revisions.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const headers = { 'content-type': 'application/json' };

/** What no reader of JSON in the family takes. */
const unportable = [
  '"\\ud800"',
  '"a\\udfff"',
  '"\\ude00\\ud83d"',
  '"\\ud83d\\u0041"',
  '["x",{"y":"\\ud83d"}]',
  '{"\\udc00":1}',
  '1e400',
  '-1E+400',
  '[1,{"n":1e309}]',
  '9'.repeat(310),
];

/** All requests that bring a document with this value. */
const writes = (value: string): readonly [method: string, path: string, body: string][] => [
  ['PUT', '/doc', `{"v":${value}}`],
  ['PUT', '/doc?new_edits=false', `{"_rev":"1-a","v":${value}}`],
  ['PUT', '/doc?batch=ok', `{"v":${value}}`],
  ['PUT', '/_local/doc', `{"v":${value}}`],
  ['PUT', '/_design/doc', `{"v":${value}}`],
  ['POST', '', `{"_id":"doc","v":${value}}`],
  ['POST', '/_bulk_docs', `{"docs":[{"_id":"one"},{"_id":"doc","v":${value}}]}`],
  ['POST', '/_bulk_docs', `{"docs":[{"_id":"doc","_rev":"1-a","v":${value}}],"new_edits":false}`],
];

async function assertRefused(t: Toolkit, method: string, path: string, body: string): Promise<void> {
  const answer = await t.at(method, path, { body, headers });
  assert.deepEqual([answer.status, at(answer.json, 'error')], [400, 'bad_request'], `${method} ${path} ${body}`);
  assert.isNotEmpty(stringAt(answer.json, 'reason'));
}

/** Where real clients and servers of the family expect documents to be so, and not otherwise. */
export default suite('corrections_documents', [
  ...unportable.map((value) =>
    test(`${value.slice(0, 40)} is refused in every kind of document write`, async (t) => {
      for (const [method, path, body] of writes(value)) await assertRefused(t, method, path, body);
      await assertRefused(t, 'PUT', '/_security', `{"mine":${value}}`);
      const index = `{"index":{"fields":["a"],"partial_filter_selector":{"b":${value}}}}`;
      await assertRefused(t, 'POST', '/_index', index);
      assert.deepInclude(await t.info(), { doc_count: 0, update_seq: 0 });
      assert.equal((await t.get('/_local/doc')).status, 404);
    }),
  ),

  test('an update function that returns such a document is refused', async (t) => {
    const half = 'function (doc, req) { return [{ _id: "doc", v: "\\ud800" }, "made"]; }';
    await t.put('_design/test', { updates: { half } });
    const answer = await t.at('POST', '/_design/test/_update/half');
    assert.deepEqual([answer.status, at(answer.json, 'error')], [400, 'bad_request'], answer.text);
    assert.equal((await t.get('/doc')).status, 404);
  }),

  test('valid characters in any spelling, and numbers that doubles can hold, are stored as written', async (t) => {
    const body = '{"a":"\\ud83d\\ude00","b":"\\uD83D\\uDE00 😀","\\ud83d\\ude00":1,"c":[1e308,-1e308,1e-400,0.1e1]}';
    const rev = stringAt((await t.at('PUT', '/doc', { body })).json, 'rev');
    assert.equal((await t.get('/doc')).text, `{"_id":"doc","_rev":"${rev}",${body.slice(1)}\n`);
  }),

  test('long integers keep their digits', async (t) => {
    const body = '{"n":12345678901234567890123456789,"m":-9007199254740993}';
    const rev = stringAt((await t.at('PUT', '/doc', { body })).json, 'rev');
    assert.equal((await t.get('/doc')).text, `{"_id":"doc","_rev":"${rev}",${body.slice(1)}\n`);
  }),

  test('with new_edits=false _revisions decides the revision, whatever _rev says', async (t) => {
    const _revisions = { start: 3, ids: ['c', 'b', 'a'] };
    const put = await t.at('PUT', '/put?new_edits=false', { json: { _rev: '2-x', _revisions, n: 1 } });
    assertJson(put, 201, { ok: true, id: 'put', rev: '3-c' });
    const post = await t.at('POST', '?new_edits=false', { json: { _id: 'post', _revisions, _rev: '7-y' } });
    assertJson(post, 201, { ok: true, id: 'post', rev: '3-c' });
    const docs = [
      { _id: 'bulk', _rev: '1-a', _revisions, n: 1 },
      { _id: 'put', _rev: '1-z', _revisions: { start: 4, ids: ['d', 'c'] }, n: 2 },
    ];
    assertJson(await t.at('POST', '/_bulk_docs', { json: { docs, new_edits: false } }), 201, []);
    for (const [id, rev] of [
      ['post', '3-c'],
      ['bulk', '3-c'],
      ['put', '4-d'],
    ]) {
      const read = await t.get(`/${id}?conflicts=true`);
      assert.equal(at(read.json, '_rev'), rev);
      assert.notProperty(read.json, '_conflicts');
    }
    assert.deepEqual(at((await t.get('/bulk?revs=true')).json, '_revisions'), _revisions);
  }),

  test('latest=true returns the newest leaf that descends from the revision', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: first, n: 2 });
    const third = await t.put('doc', { _rev: second, n: 3 });
    for (const rev of [first, second, third]) {
      assert.deepInclude((await t.get(`/doc?rev=${rev}&latest=true`)).json, { _rev: third, n: 3 });
    }
    assert.deepInclude((await t.get(`/doc?rev=${second}`)).json, { _rev: second, n: 2 });
    const branch = fakeRev(4, 'f');
    const path = { start: 4, ids: [branch.slice(2), third.slice(2), second.slice(2), first.slice(2)] };
    const other = { start: 3, ids: ['0'.repeat(32), second.slice(2), first.slice(2)] };
    await t.replicate([
      { _id: 'doc', _rev: branch, _revisions: path, n: 4 },
      { _id: 'doc', _rev: `3-${'0'.repeat(32)}`, _revisions: other, n: 'other' },
    ]);
    assert.deepInclude((await t.get(`/doc?rev=${second}&latest=true`)).json, { _rev: branch, n: 4 }, 'the winning one');
    const leaf = await t.get(`/doc?rev=3-${'0'.repeat(32)}&latest=true`);
    assert.deepInclude(leaf.json, { n: 'other' });
  }),

  test('a document read with revs=true has its ETag, and is answered 304 with it', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: first, n: 2 });
    for (const [query, rev] of [
      ['revs=true', second],
      [`revs=true&rev=${first}`, first],
      ['revs=true&conflicts=true', second],
    ]) {
      const read = await t.get(`/doc?${query}`);
      assert.deepEqual([read.status, read.header('etag')], [200, `"${rev}"`], query);
      assert.property(read.json, '_revisions');
      const again = await t.get(`/doc?${query}`, { 'if-none-match': `"${rev}"` });
      assert.deepEqual([again.status, again.header('etag'), again.text], [304, `"${rev}"`, ''], query);
    }
    assert.equal((await t.get('/doc?revs=true', { 'if-none-match': `"${first}"` })).status, 200);
  }),

  test('a document read with more than itself has no ETag', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    await t.replicate([
      { _id: 'doc', _rev: fakeRev(1, '0'), n: 2 },
      { _id: 'doc', _rev: fakeRev(1, '1'), _deleted: true },
    ]);
    for (const flag of ['revs_info', 'conflicts', 'deleted_conflicts', 'meta', 'local_seq']) {
      for (const query of [`${flag}=true`, `${flag}=true&revs=true`]) {
        const { json } = await t.get(`/doc?${query}`);
        const answer = await t.get(`/doc?${query}`, { 'if-none-match': `"${rev}", "${stringAt(json, '_rev')}"` });
        assert.equal(answer.status, 200, query);
        assert.notProperty(answer.headers, 'etag', query);
      }
    }
  }),

  test("COPY to a foreign address is refused with CouchDB's reason", async (t) => {
    await t.put('original', { n: 1 });
    for (const destination of ['http://elsewhere.example/db/target', 'https://elsewhere.example:5984/x', 'ftp://x/y']) {
      const answer = await t.at('COPY', '/original', { headers: { destination } });
      assertError(answer, 400, 'bad_request', 'Destination URL must be relative.');
    }
    assert.equal((await t.at('COPY', '/original', { headers: { destination: 'target' } })).status, 201);
  }),
]);
