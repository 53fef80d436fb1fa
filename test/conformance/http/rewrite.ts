import { assert } from 'chai';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';
import { numbered, pluck } from '../../support/conformance/view-steps.ts';

const rewrites = [
  { from: 'welcome', to: '_show/welcome' },
  { from: 'welcome/:name', to: '_show/welcome', query: { name: ':name' } },
  { from: 'request/*', to: '_show/request', query: { rest: '*' } },
  { from: 'doc/:id', to: '../../:id' },
  { from: 'save/:id', to: '../../:id', method: 'PUT' },
  { from: 'info', to: '../..' },
  { from: 'rows', to: '_view/rows' },
  { from: 'range/:from/:to', to: '_view/rows', query: { startkey: ':from', endkey: ':to' } },
  {
    from: 'numbers/:from/:to',
    to: '_view/numbers',
    query: { startkey: ':from', endkey: ':to' },
    formats: { from: 'int', to: 'int' },
  },
  { from: 'pair/:a/:b', to: '_view/pairs', query: { key: [':a', ':b'] } },
  { from: 'keys', to: '_view/numbers', query: { keys: [1, 3] } },
  { from: 'by/:key', to: '_view/rows' },
  { from: 'beginning', to: '_view/pairs', query: { startkey: [':startkey'], endkey: [':startkey', {}] } },
  { from: 'read/:id', to: '../../:id', method: 'GET' },
  { from: 'type/:kind/:target', to: ':kind/:target' },
  { from: 'files/*', to: '_rewrite/request/*' },
  { from: 'loop', to: '_rewrite/loop' },
  { from: 'only', to: '_show/welcome', method: 'POST' },
  { from: '', to: '_show/welcome', query: { name: 'root' } },
];

const design = {
  rewrites,
  shows: {
    welcome: 'function (doc, req) { return "Welcome " + (req.query.name || "all"); }',
    request: 'function (doc, req) { return { json: req }; }',
  },
  views: {
    rows: { map: 'function (doc) { emit(doc.string, null); }' },
    numbers: { map: 'function (doc) { emit(doc.integer, null); }' },
    pairs: { map: 'function (doc) { emit([doc.string, "x"], null); }' },
  },
};

async function fill(t: Toolkit): Promise<void> {
  await t.put('_design/test', design);
  await t.bulk(numbered(6));
}

function get(t: Toolkit, path: string) {
  return t.get(`/_design/test/_rewrite/${path}`);
}

/** Rewriting (docs/http/functions.md#rewrite-rules). */
export default suite('rewrite', [
  test('a rewrite leads to functions, documents, views and the database', async (t) => {
    await fill(t);
    assert.equal((await get(t, 'welcome')).text, 'Welcome all');
    assert.deepInclude((await get(t, 'doc/3')).json, { _id: '3', integer: 3 });
    assert.deepEqual(pluck(await get(t, 'rows?limit=2'), 'id'), ['0', '1']);
    assert.deepInclude((await get(t, 'info')).json, { db_name: t.db });
    assert.equal((await t.get('/_design/test/_rewrite')).text, 'Welcome root');
  }),

  test('variables of the path are inserted into path and query', async (t) => {
    await fill(t);
    assert.equal((await get(t, 'welcome/Ann%20Lee')).text, 'Welcome Ann Lee');
    assert.equal((await get(t, 'type/_show/welcome?name=you')).text, 'Welcome you');
    assert.deepEqual(pluck(await get(t, 'range/1/3'), 'key'), ['1', '2', '3']);
    assert.deepEqual(pluck(await get(t, 'numbers/1/3'), 'key'), [1, 2, 3]);
    assert.deepEqual(pluck(await get(t, 'pair/2/x'), 'id'), ['2']);
    assert.deepEqual(pluck(await get(t, 'keys'), 'key'), [1, 3]);
  }),

  test('view keys from path variables and from the query are JSON', async (t) => {
    await fill(t);
    assert.deepEqual(pluck(await get(t, 'by/4'), 'id'), ['4']);
    assert.deepEqual(pluck(await get(t, 'beginning?startkey="3"'), 'key'), [['3', 'x']]);
    assert.deepEqual(pluck(await get(t, 'rows?startkey="4"'), 'key'), ['4', '5']);
  }),

  test('the rest of a path is inserted at the star', async (t) => {
    await fill(t);
    assert.deepInclude((await get(t, 'request/a/b%2Fc')).json, { id: null });
    assert.equal(at((await get(t, 'request/a/b')).json, 'query', 'rest'), 'a/b');
    assert.equal(at((await get(t, 'files/x/y')).json, 'query', 'rest'), 'x/y');
  }),

  test('method and body are kept', async (t) => {
    await fill(t);
    const written = await t.at('PUT', '/_design/test/_rewrite/save/new', { json: { n: 1 } });
    assert.equal(written.status, 201, written.text);
    assert.deepInclude((await t.get('/new')).json, { n: 1 });
    const head = await t.at('HEAD', '/_design/test/_rewrite/doc/3');
    assert.deepEqual([head.status, head.bytes.length], [200, 0]);
    const read = await t.at('HEAD', '/_design/test/_rewrite/read/3');
    assert.deepEqual([read.status, read.bytes.length], [200, 0]);
    assertError(await get(t, 'only'), 404, 'not_found', 'missing');
    assert.equal((await t.at('POST', '/_design/test/_rewrite/only')).text, 'Welcome all');
  }),

  test('functions see the requested path', async (t) => {
    await fill(t);
    const request = (await get(t, 'files/x?colour=blue')).json;
    assert.deepEqual(at(request, 'requested_path'), [t.db, '_design', 'test', '_rewrite', 'files', 'x']);
    assert.deepEqual(at(request, 'path'), [t.db, '_design', 'test', '_show', 'request']);
    assert.equal(at(request, 'query', 'colour'), 'blue');
    assert.equal(
      at(request, 'headers', 'X-Svc-Requested-Path'),
      `${t.basePath}/${t.db}/_design/test/_rewrite/files/x?colour=blue`,
    );
  }),

  test('functions see no path from forged headers', async (t) => {
    await fill(t);
    const forged = { 'x-svc-requested-path': '/forged', 'x-svc-vhost-path': '/forged' };
    const rewritten = await t.at('GET', '/_design/test/_rewrite/files/x', { headers: forged });
    assert.deepEqual(at(rewritten.json, 'requested_path'), [t.db, '_design', 'test', '_rewrite', 'files', 'x']);
    const direct = await t.at('GET', '/_design/test/_show/request', { headers: forged });
    assert.deepEqual(at(direct.json, 'requested_path'), [t.db, '_design', 'test', '_show', 'request']);
    for (const { text } of [rewritten, direct]) assert.notInclude(text, 'forged');
  }),

  test('the longer the design document, the fewer rewrites in a row are allowed', async (t) => {
    const filling = 'x'.repeat(500_000);
    const step = (from: number) => ({ from: `${from}`, to: `_rewrite/${from + 1}` });
    const rewrites = [...Array.from({ length: 20 }, (_, from) => step(from)), { from: '20', to: '../../doc' }];
    await t.put('doc', { n: 1 });
    await t.put('_design/short', { rewrites });
    await t.put('_design/long', { rewrites, filling });
    assert.deepInclude((await t.get('/_design/short/_rewrite/0')).json, { n: 1 });
    assert.deepInclude((await t.get('/_design/long/_rewrite/15')).json, { n: 1 });
    const reason = 'Exceeded rewrite recursion limit';
    assertError(await t.get('/_design/long/_rewrite/0'), 400, 'bad_request', reason);
  }),

  test('the first matching rule is used', async (t) => {
    await t.put('_design/test', {
      rewrites: [
        { from: 'a', to: '_show/one', method: 'POST' },
        { from: 'a', to: '_show/two' },
        { from: '*', to: '_show/three' },
      ],
      shows: {
        one: 'function () { return "1"; }',
        two: 'function () { return "2"; }',
        three: 'function () { return "3"; }',
      },
    });
    assert.equal((await get(t, 'a')).text, '2');
    assert.equal((await t.at('POST', '/_design/test/_rewrite/a')).text, '1');
    assert.equal((await get(t, 'b/c')).text, '3');
    assert.equal((await t.get('/_design/test/_rewrite')).text, '3');
  }),

  test('a path without a matching rule is answered 404', async (t) => {
    await fill(t);
    assertError(await get(t, 'unknown/path'), 404, 'not_found', 'missing');
    assertError(await get(t, 'doc/unknown'), 404, 'not_found', 'missing');
    assertError(await get(t, 'loop'), 400, 'bad_request', 'Exceeded rewrite recursion limit');
  }),

  test('a design document can have 10,000 rules', async (t) => {
    const rule = { from: 'x', to: '../..' };
    await t.put('_design/many', { rewrites: Array(10_001).fill(rule) });
    const reason =
      'A design document has 10000 rewrite rules at most, and this one has 10001. Use variables such as ":id" in their paths.';
    assertError(await t.get('/_design/many/_rewrite/x'), 400, 'rewrite_error', reason);
  }),

  test('rules that are not a list are refused', async (t) => {
    await t.put('_design/none', {});
    assertError(await t.get('/_design/none/_rewrite/x'), 404, 'rewrite_error', 'Invalid path.');
    await t.put('_design/text', { rewrites: 'function () {}' });
    const reason = 'Rewrite rules are a String. They must be a JSON Array.';
    assertError(await t.get('/_design/text/_rewrite/x'), 400, 'rewrite_error', reason);
  }),

  test('a rule can lead out of the design document, but not out of the database', async (t) => {
    await t.put('_design/up', { rewrites: [{ from: 'x', to: '../../../_all_dbs' }] });
    const reason = 'too many ../.. segments';
    assertError(await t.get('/_design/up/_rewrite/x'), 500, 'insecure_rewrite_rule', reason);
    await t.put('_design/own', { rewrites: [{ from: 'all', to: '../../_all_docs' }] });
    assertJson(await t.get('/_design/own/_rewrite/all?limit=0'), 200, { total_rows: 2, offset: 0, rows: [] });
  }),

  test(
    'a rule leads further up only if the settings permit it',
    async (t) => {
      const open = await t.withSettings({ httpd: { secure_rewrites: 'false' } });
      await open.put('_design/up', { rewrites: [{ from: 'x', to: '../../../_all_dbs' }] });
      const answer = await open.get('/_design/up/_rewrite/x');
      assertJson(answer, 200, [open.db]);
    },
    { needs: ['settings'] },
  ),
]);
