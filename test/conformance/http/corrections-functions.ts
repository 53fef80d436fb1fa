import { assert } from 'chai';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';
import { pluck, putViews, query } from '../../support/conformance/view-steps.ts';

/** Refuses what a document's member `refuse` says, as `{[code]: reason}`. */
const REFUSING = 'function (doc) { if (doc.code) { var t = {}; t[doc.code] = doc.refuse; throw t; } }';

const reasons = [{ field: 'name', problems: [1, null] }, ['a', 'b'], 7, 0, true, false, null, 'text', ''];

async function validateBy(t: Toolkit, validate_doc_update: string): Promise<void> {
  await t.put('_design/rules', { validate_doc_update });
}

/** Where real clients and servers of the family expect functions of documents to be so, and not otherwise. */
export default suite('corrections_functions', [
  ...(
    [
      ['forbidden', 403],
      ['unauthorized', 401],
    ] as const
  ).map(([code, status]) =>
    test(`a validator's ${code} can have any JSON value as its reason`, async (t) => {
      await validateBy(t, REFUSING);
      for (const refuse of reasons) {
        assertJson(await t.at('PUT', '/doc', { json: { code, refuse } }), status, { error: code, reason: refuse });
        const rows = await t.bulk([{ _id: `fine${JSON.stringify(refuse)}` }, { _id: 'doc', code, refuse }]);
        assert.isTrue(at(rows[0], 'ok'));
        assert.deepInclude(rows[1], { id: 'doc', error: code, reason: refuse });
      }
      const replicated = { docs: [{ _id: 'doc', _rev: '1-a', code, refuse: { a: 1 } }], new_edits: false };
      const refused = await t.at('POST', '/_bulk_docs', { json: replicated });
      assertJson(refused, 201, [{ id: 'doc', rev: '1-a', error: code, reason: { a: 1 } }]);
      const aborted = { docs: [{ _id: 'doc', code, refuse: ['no'] }], all_or_nothing: true };
      const all = await t.at('POST', '/_bulk_docs', { json: aborted });
      assert.equal(all.status, 417);
      assert.deepInclude(at(all.json, 0), { id: 'doc', error: code, reason: ['no'] });
      assert.equal((await t.get('/doc')).status, 404);
    }),
  ),

  ...[
    'throw "text"',
    'throw 5',
    'throw {foo: "bar"}',
    'throw {}',
    'throw null',
    'throw new Error("oops")',
    'x.y.z',
  ].map((body) =>
    test(`a validator that does ${body} is an unknown error`, async (t) => {
      await validateBy(t, `function () { ${body} }`);
      const answer = await t.at('PUT', '/doc', { json: {} });
      assert.deepEqual([answer.status, at(answer.json, 'error')], [500, 'unknown_error'], answer.text);
      assert.isNotEmpty(stringAt(answer.json, 'reason'));
      const [row] = await t.bulk([{ _id: 'doc' }]);
      assert.deepInclude(row, { id: 'doc', error: 'unknown_error' });
      assert.equal((await t.get('/doc')).status, 404);
    }),
  ),

  ...[
    { what: 'is missing', call: 'require("views/lib/absent")' },
    { what: 'has a path that leads out', call: 'require("../../../x")' },
    { what: 'does not compile', call: 'require("views/lib/broken")' },
    { what: 'throws', call: 'require("views/lib/throws")' },
  ].map(({ what, call }) =>
    test(`a module that ${what} leaves only that document out of the view`, async (t) => {
      const lib = { broken: 'exports.x = ;', throws: 'throw new Error("no");', fine: 'exports.n = 7;' };
      await putViews(t, {
        lib,
        v: `function (doc) { if (doc.bad) { ${call}; } emit(doc._id, require("views/lib/fine").n); }`,
        other: 'function (doc) { emit(doc._id, null); }',
      });
      await t.bulk([{ _id: 'a' }, { _id: 'b', bad: true }, { _id: 'c' }]);
      assert.deepEqual(pluck(await query(t, 'v'), 'id'), ['a', 'c']);
      assert.deepEqual(pluck(await query(t, 'v'), 'value'), [7, 7]);
      assert.deepEqual(pluck(await query(t, 'other'), 'id'), ['a', 'b', 'c']);
    }),
  ),

  test('a map function that catches a failed require continues', async (t) => {
    const map = 'function (doc) { try { require("views/lib/absent"); } catch (e) { emit(doc._id, "caught"); } }';
    await putViews(t, { v: map });
    await t.put('a', {});
    assert.deepEqual(pluck(await query(t, 'v'), 'value'), ['caught']);
  }),

  test('shows and updates see the ancestry of their document', async (t) => {
    await t.put('_design/test', {
      shows: { s: 'function (doc) { return { json: doc._revisions }; }' },
      updates: {
        see: 'function (doc) { return [null, { json: doc._revisions }]; }',
        change: 'function (doc) { doc.n = 3; return [doc, "changed"]; }',
        copy: 'function (doc, req) { doc._id = "copy"; delete doc._rev; return [doc, "copied"]; }',
      },
    });
    const first = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: first, n: 2 });
    const _revisions = { start: 2, ids: [second.slice(2), first.slice(2)] };
    assert.deepEqual((await t.get('/_design/test/_show/s/doc')).json, _revisions);
    assert.deepEqual((await t.at('POST', '/_design/test/_update/see/doc')).json, _revisions);
    assert.equal((await t.at('POST', '/_design/test/_update/change/doc')).text, 'changed');
    const read = (await t.get('/doc?revs=true')).json;
    assert.deepEqual([at(read, 'n'), at(read, '_revisions', 'start')], [3, 3]);
    assert.equal((await t.at('POST', '/_design/test/_update/copy/doc')).text, 'copied');
    assert.deepEqual(at((await t.get('/copy?revs=true')).json, '_revisions', 'start'), 1);
  }),

  test('a show that returns nothing is an empty answer, also for a missing document', async (t) => {
    await t.put('_design/test', {
      shows: {
        nothing: 'function () {}',
        null: 'function () { return null; }',
        provided: 'function () { provides("json", function () {}); }',
        throws: 'function (doc) { return doc.name; }',
      },
    });
    await t.put('doc', { name: 'x' });
    for (const what of ['nothing', 'nothing/doc', 'nothing/absent', 'null', 'null/doc', 'null/absent']) {
      const answer = await t.get(`/_design/test/_show/${what}`);
      assert.deepEqual([answer.status, answer.text], [200, ''], what);
      assert.equal(answer.header('content-type'), 'text/html; charset=utf-8');
    }
    const provided = await t.get('/_design/test/_show/provided/absent');
    assert.deepEqual([provided.status, provided.text, provided.header('content-type')], [200, '', 'application/json']);
    assertError(await t.get('/_design/test/_show/throws/absent'), 404, 'not_found', 'document not found');
    const failed = await t.get('/_design/test/_show/throws');
    assert.deepEqual([failed.status, at(failed.json, 'error')], [500, 'render_error']);
  }),

  test("an ETag set by a function is replaced by the service's", async (t) => {
    const headers = '{ headers: { ETag: "own", "X-Own": "1" } }';
    await t.put('_design/test', {
      shows: {
        plain: 'function () { return "x"; }',
        tagged: `function () { var r = ${headers}; r.body = "x"; return r; }`,
        started: `function () { start({ headers: { etag: "own" } }); return "x"; }`,
      },
      lists: { tagged: `function () { start(${headers}); return "x"; }` },
      views: { v: { map: 'function (doc) { emit(doc._id, null); }' } },
    });
    for (const path of ['_show/tagged', '_show/started', '_list/tagged/v', '_list/tagged/_all_docs']) {
      const answer = await t.get(`/_design/test/${path}`);
      assert.deepEqual([answer.status, answer.text], [200, 'x'], path);
      const tag = `${answer.header('etag')}`;
      assert.match(tag, /^"[0-9a-z]{20,}"$/, path);
      const again = await t.get(`/_design/test/${path}`, { 'if-none-match': tag });
      assert.deepEqual([again.status, again.header('etag')], [304, tag], path);
    }
    assert.equal((await t.get('/_design/test/_show/tagged')).header('x-own'), '1');
  }),

  test('update functions answer every method except GET', async (t) => {
    const count = 'function (doc, req) { doc = doc || { _id: req.id, n: 0 }; doc.n++; return [doc, req.method]; }';
    await t.put('_design/test', { updates: { count } });
    const methods = ['POST', 'PUT', 'DELETE', 'COPY', 'OPTIONS', 'PATCH'];
    for (const [index, method] of methods.entries()) {
      const answer = await t.at(method, '/_design/test/_update/count/doc');
      assert.deepEqual([answer.status, answer.text], [201, method]);
      assert.equal(at((await t.get('/doc')).json, 'n'), index + 1);
    }
    const get = await t.at('GET', '/_design/test/_update/count/doc');
    assertError(get, 405, 'method_not_allowed', 'Update functions do not allow GET');
    assert.equal((await t.at('HEAD', '/_design/test/_update/count/doc')).status, 405);
    assert.equal(at((await t.get('/doc')).json, 'n'), methods.length);
  }),
]);
