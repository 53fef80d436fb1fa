import { assert } from 'chai';
import { assertError } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { RequestOptions, Toolkit } from '../../support/conformance/toolkit.ts';

const updates = {
  count: `function (doc, req) {
    if (!doc) return [{ _id: req.id || req.uuid, count: 1 }, "New"];
    doc.count += 1;
    return [doc, "Now " + doc.count];
  }`,
  form: 'function (doc, req) { doc.name = req.form.name; return [doc, { headers: { "Content-Type": "text/plain" }, body: "ok" }]; }',
  json: 'function (doc, req) { doc.n = JSON.parse(req.body).n; return [doc, { json: { n: doc.n } }]; }',
  nothing: 'function (doc, req) { return [null, "nothing saved"]; }',
  status:
    'function (doc, req) { return [{ _id: "made" }, { code: 302, headers: { Location: "/elsewhere", "X-Svc-Id": "own" }, body: "" }]; }',
  stale: 'function (doc, req) { doc._rev = "9-abc"; return [doc, ""]; }',
  bad: 'function (doc, req) { return [{ _id: "_bad" }, ""]; }',
  no_id: 'function (doc, req) { return [{ n: 1 }, ""]; }',
  deletes: 'function (doc, req) { return [{ _id: doc._id, _rev: doc._rev, _deleted: true }, "gone"]; }',
  empty: 'function (doc, req) {}',
  throws: 'function (doc, req) { throw new Error("broken"); }',
};

async function fill(t: Toolkit, members: Readonly<Record<string, unknown>> = {}): Promise<void> {
  await t.put('_design/test', { updates });
  await t.put('doc', { count: 1, ...members });
}

function update(t: Toolkit, method: string, what: string, options: RequestOptions = {}) {
  return t.at(method, `/_design/test/_update/${what}`, options);
}

/** Update functions (docs/http/functions.md#update-functions). */
export default suite('update_functions', [
  test('an update function changes a document, and the response has its new revision', async (t) => {
    await fill(t);
    const answer = await update(t, 'PUT', 'count/doc');
    assert.deepEqual([answer.status, answer.text], [201, 'Now 2']);
    assert.equal(answer.header('content-type'), 'text/html; charset=utf-8');
    const read = await t.get('/doc');
    assert.deepInclude(read.json, { _id: 'doc', count: 2 });
    assert.equal(`"${answer.header('x-svc-update-newrev')}"`, read.header('etag'));
    assert.equal(answer.header('x-svc-id'), 'doc');
  }),

  test('an update function creates a document, with the id of the path or a new one', async (t) => {
    await fill(t);
    assert.deepEqual((await update(t, 'PUT', 'count/new')).text, 'New');
    assert.deepInclude((await t.get('/new')).json, { count: 1 });
    const answer = await update(t, 'POST', 'count');
    assert.match(`${answer.header('x-svc-id')}`, /^[0-9a-f]{32}$/);
    assert.equal((await t.get(`/${answer.header('x-svc-id')}`)).status, 200);
  }),

  test('an update function reads forms and JSON', async (t) => {
    await fill(t);
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const form = await update(t, 'POST', 'form/doc', { headers, body: 'name=Ann+Lee' });
    assert.deepEqual([form.status, form.text, form.header('content-type')], [201, 'ok', 'text/plain']);
    assert.deepInclude((await t.get('/doc')).json, { name: 'Ann Lee' });
    const json = await update(t, 'PUT', 'json/doc', { json: { n: 7 } });
    assert.deepEqual([json.status, json.text, json.header('content-type')], [201, '{"n":7}', 'application/json']);
  }),

  test('an update function that returns no document saves nothing', async (t) => {
    await fill(t);
    const answer = await update(t, 'PUT', 'nothing/doc');
    assert.deepEqual([answer.status, answer.text], [200, 'nothing saved']);
    assert.isUndefined(answer.header('x-svc-update-newrev'));
    assert.deepInclude(await t.info(), { update_seq: 2 });
  }),

  test(
    'status and headers set by an update function have precedence',
    async (t) => {
      await fill(t);
      const answer = await update(t, 'POST', 'status');
      assert.equal(answer.status, 302);
      assert.equal(answer.header('location'), '/elsewhere');
      assert.equal(answer.header('x-svc-id'), 'own');
      assert.equal((await t.get('/made')).status, 200);
    },
    { needs: ['manual-redirect'] },
  ),

  test('an update function can delete a document', async (t) => {
    await fill(t);
    assert.equal((await update(t, 'PUT', 'deletes/doc')).status, 201);
    assertError(await t.get('/doc'), 404, 'not_found', 'deleted');
  }),

  test('a write of an update function is checked like any other', async (t) => {
    await fill(t);
    assertError(await update(t, 'PUT', 'stale/doc'), 409, 'conflict', 'Document update conflict.');
    const reserved = 'Only reserved document ids may start with underscore.';
    assertError(await update(t, 'PUT', 'bad'), 400, 'bad_request', reserved);
    assertError(await update(t, 'PUT', 'no_id'), 400, 'bad_request', 'Document id must not be empty');
    await t.put('_design/rules', {
      validate_doc_update: 'function (newDoc) { if (newDoc.count > 1) throw { forbidden: "no more than one" }; }',
    });
    assertError(await update(t, 'PUT', 'count/doc'), 403, 'forbidden', 'no more than one');
    assert.equal((await update(t, 'PUT', 'count/other')).status, 201);
    assert.deepInclude((await t.get('/doc')).json, { count: 1 });
  }),

  test('failures have the messages of the interface', async (t) => {
    await fill(t);
    const missing = 'missing updates function absent on design doc _design/test';
    assertError(await update(t, 'PUT', 'absent/doc'), 404, 'not_found', missing);
    assertError(await t.at('POST', '/_design/test/_update'), 404, 'update_error', 'Invalid path.');
    const get = await update(t, 'GET', 'count/doc');
    assertError(get, 405, 'method_not_allowed', 'Update functions do not allow GET');
    assert.equal(get.header('allow'), 'POST,PUT,DELETE,COPY,OPTIONS,PATCH');
    for (const name of ['empty', 'throws']) {
      const answer = await update(t, 'PUT', `${name}/doc`);
      assert.deepEqual([answer.status, at(answer.json, 'error')], [500, 'render_error'], name);
    }
    assert.deepInclude(await t.info(), { update_seq: 2 });
  }),
]);
