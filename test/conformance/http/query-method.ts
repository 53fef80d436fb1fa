import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

/** QUERY (RFC 10008) asks what a POST that only reads asks (docs/http/requests.md#query). */

const needs = ['query-method'] as const;
const FORMAT = 'application/json';

async function write(t: Toolkit): Promise<void> {
  const map = 'function (doc) { emit(doc.n, null); }';
  const keys =
    'function (head, req) { var row, ids = []; while (row = getRow()) ids.push(row.id); return req.method + ids; }';
  await t.bulk(['a', 'b', 'c'].map((_id, n) => ({ _id, n })));
  await t.put('_design/d', { views: { v: { map } }, lists: { keys } });
}

export default suite('query_method', [
  test(
    'a QUERY is answered like the POST',
    async (t) => {
      await write(t);
      const rev = '1-0123456789abcdef0123456789abcdef';
      const asked: readonly [string, object][] = [
        ['/_find', { selector: { n: { $gt: 0 } }, fields: ['_id'] }],
        ['/_explain', { selector: { n: 1 } }],
        ['/_all_docs', { keys: ['c', 'a'] }],
        ['/_all_docs?limit=1', { startkey: 'b' }],
        ['/_all_docs/queries', { queries: [{ key: 'a' }, { limit: 2 }] }],
        ['/_design_docs', { keys: ['_design/d'] }],
        ['/_design/d/_view/v', { keys: [2, 0] }],
        ['/_changes?filter=_doc_ids', { doc_ids: ['b'] }],
        ['/_bulk_get', { docs: [{ id: 'a' }] }],
        ['/_revs_diff', { a: [rev] }],
        ['/_missing_revs', { a: [rev] }],
      ];
      for (const [path, json] of asked) {
        const [post, query] = [await t.at('POST', path, { json }), await t.at('QUERY', path, { json })];
        assert.equal(query.status, 200, path);
        assert.deepEqual(query.json, post.json, path);
        assert.equal(query.header('accept-query'), FORMAT, path);
        assert.equal(post.header('accept-query'), FORMAT, path);
      }
      const about = await t.request('QUERY', '/_dbs_info', { json: { keys: [t.db] } });
      assert.equal(about.status, 200);
    },
    { needs },
  ),

  test(
    'a list function reads the body, and is told the method',
    async (t) => {
      await write(t);
      const listed = await t.at('QUERY', '/_design/d/_list/keys/v', { json: { keys: [2, 1] } });
      assert.equal(listed.text, 'QUERYc,b');
    },
    { needs },
  ),

  test(
    'a QUERY has an ETag if the GET has one',
    async (t) => {
      await write(t);
      for (const path of ['/_all_docs', '/_design/d/_view/v']) {
        const json = { limit: 2 };
        const first = await t.at('QUERY', path, { json });
        const tag = first.header('etag') ?? '';
        assert.match(tag, /^"[a-z\d]+"$/, path);
        const again = await t.at('QUERY', path, { json, headers: { 'if-none-match': tag } });
        assert.equal(again.status, 304, path);
        assert.equal(again.header('etag'), tag);
      }
      for (const path of ['/_all_docs', '/_design_docs', '/_design/d/_view/v', '/_design/d/_list/keys/v']) {
        const former = [await t.get(path), await t.at('QUERY', path, { json: { keys: [1] } })];
        const tags = former.map((answer) => answer.header('etag') ?? '').join(', ');
        const other = await t.at('QUERY', path, { json: { keys: [2] }, headers: { 'if-none-match': tags } });
        assert.equal(other.status, 200, `${path}: each body has a tag of its own`);
      }
      await t.put('d', { n: 4 });
      const tag = (await t.get('/_all_docs')).header('etag') ?? '';
      await t.put('e', { n: 5 });
      const later = await t.at('QUERY', '/_all_docs', { json: {}, headers: { 'if-none-match': tag } });
      assert.equal(later.status, 200);
      assert.isUndefined((await t.at('QUERY', '/_find', { json: { selector: {} } })).header('etag'));
      assert.isString((await t.get('/_changes')).header('etag'));
      assert.isUndefined((await t.at('QUERY', '/_changes', { json: {} })).header('etag'));
    },
    { needs },
  ),

  test(
    'a QUERY must say that its body is JSON',
    async (t) => {
      for (const path of ['/_find', '/_all_docs', '/_revs_diff']) {
        for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
          const refused = await t.at('QUERY', path, { body: '{}', headers: { 'content-type': type } });
          assertError(refused, 415, 'bad_content_type', 'Content-Type must be application/json');
          assert.equal(refused.header('accept-query'), FORMAT);
        }
      }
      assertJson(await t.at('QUERY', '/_revs_diff', { json: {} }), 200, {});
      assert.equal((await t.at('QUERY', '/_find', { json: {} })).status, 400);
    },
    { needs },
  ),

  test(
    'a QUERY of what only writes, or takes no body, is refused',
    async (t) => {
      const { update_seq: before } = Object((await t.get('')).json);
      const refused: readonly [string, string][] = [
        ['', 'DELETE,GET,HEAD,POST'],
        ['/_bulk_docs', 'POST'],
        ['/_purge', 'POST'],
        ['/_index', 'GET,POST,DELETE'],
        ['/doc', 'DELETE,GET,HEAD,POST,PUT,COPY'],
      ];
      for (const [path, methods] of refused) {
        const answer = await t.at('QUERY', path, { json: { docs: [{ _id: 'x' }] } });
        assertAllowed(answer, methods);
        assert.isUndefined(answer.header('accept-query'), path);
      }
      assert.deepEqual(Object((await t.get('')).json).update_seq, before);
    },
    { needs },
  ),

  test('responses say where a QUERY is answered', async (t) => {
    for (const method of ['GET', 'HEAD']) {
      assert.equal((await t.at(method, '/_all_docs')).header('accept-query'), FORMAT, method);
      assert.isUndefined((await t.at(method, '')).header('accept-query'), method);
    }
    for (const method of ['GET', 'PUT', 'OPTIONS']) {
      const refused = await t.at(method, '/_find', method === 'PUT' ? { json: {} } : {});
      assertAllowed(refused, 'POST,QUERY');
      assert.equal(refused.header('accept-query'), FORMAT, method);
    }
  }),

  test('responses of rewritten requests say it, refusals too', async (t) => {
    const rewrites = [
      { from: 'rows', to: '../../_all_docs' },
      { from: 'ask', to: '../../_find' },
      { from: 'info', to: '../..' },
    ];
    await t.put('_design/r', { rewrites });
    const askAt = (path: string) => t.get(`/_design/r/_rewrite/${path}`);
    const rows = await askAt('rows');
    assert.deepEqual([rows.status, rows.header('accept-query')], [200, FORMAT]);
    const refused = await askAt('ask');
    assertAllowed(refused, 'POST,QUERY');
    assert.equal(refused.header('accept-query'), FORMAT);
    assert.isUndefined((await askAt('info')).header('accept-query'));
  }),

  test(
    'responses at a virtual host say it',
    async (t) => {
      const on = await t.withSettings({ vhosts: { 'notes.example.com': `/${t.db}` } });
      const headers = { host: 'notes.example.com' };
      for (const [path, format] of [
        ['/_all_docs', FORMAT],
        ['/_find', FORMAT],
        ['/', undefined],
      ] as const)
        assert.equal((await on.request('GET', path, { headers })).header('accept-query'), format, path);
    },
    { needs: ['gateway', 'settings', 'forbidden-headers'] },
  ),
]);
