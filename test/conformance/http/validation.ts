import { assert } from 'chai';
import { assertError, assertJson, assertWritten } from '../../support/conformance/answer.ts';
import { fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

/** Refuses documents without an author, and changes of it. */
const AUTHORS = `function (newDoc, oldDoc, userCtx, secObj) {
  if (newDoc._deleted) return;
  if (!newDoc.author) throw { forbidden: "Documents must have an author." };
  if (oldDoc && oldDoc.author !== newDoc.author) throw { unauthorized: "You are not the author." };
}`;

function validateBy(t: Toolkit, source: string, name = 'test'): Promise<string> {
  return t.put(`_design/${name}`, { validate_doc_update: source });
}

const refused = { error: 'forbidden', reason: 'Documents must have an author.' };

/** Answers with what a validator was given. */
const ECHO =
  'function (newDoc, oldDoc, userCtx, secObj) { throw { forbidden: JSON.stringify([newDoc, oldDoc, userCtx, secObj]) }; }';

async function echo(t: Toolkit, method: string, path: string, json?: unknown): Promise<unknown> {
  const answer = await t.at(method, path, json === undefined ? {} : { json });
  assert.equal(answer.status, 403, answer.text);
  return JSON.parse(`${at(answer.json, 'reason')}`);
}

/** `validate_doc_update` (docs/http/functions.md#validation-functions). */
export default suite('validation', [
  test('a validation function refuses single writes of every kind', async (t) => {
    const owned = await t.put('owned', { author: 'ann' });
    const other = await t.put('other', {});
    await validateBy(t, AUTHORS);
    const { error, reason } = refused;
    assertError(await t.at('PUT', '/doc', { json: {} }), 403, error, reason);
    assertError(await t.at('POST', '', { json: { n: 1 } }), 403, error, reason);
    assertError(await t.at('PUT', '/other', { json: { _rev: other } }), 403, error, reason);
    assertError(await t.at('COPY', '/other', { headers: { destination: 'copy' } }), 403, error, reason);
    const stolen = await t.at('PUT', '/owned', { json: { _rev: owned, author: 'bob' } });
    assertError(stolen, 401, 'unauthorized', 'You are not the author.');
    const deleted = await t.at('DELETE', `/owned?rev=${owned}`);
    assert.equal(deleted.status, 200);
    assert.deepInclude(await t.info(), { doc_count: 2, update_seq: 4 });
  }),

  test('documents that pass are written as usual', async (t) => {
    await validateBy(t, AUTHORS);
    const rev = assertWritten(await t.at('PUT', '/doc', { json: { author: 'ann' } }), 201, 'doc');
    assertWritten(await t.at('PUT', '/doc', { json: { author: 'ann', n: 2, _rev: rev } }), 201, 'doc');
    const stale = await t.at('PUT', '/doc', { json: { author: 'ann', n: 3, _rev: rev } });
    assertError(stale, 409, 'conflict', 'Document update conflict.');
    assertError(await t.at('PUT', '/doc', { json: {} }), 409, 'conflict', 'Document update conflict.');
  }),

  test('a validation function refuses single rows of a bulk write', async (t) => {
    await validateBy(t, AUTHORS);
    const rows = await t.bulk([{ _id: 'a', author: 'ann' }, { _id: 'b' }, { _id: 'c', author: 'cid' }]);
    assert.deepInclude(rows[0], { ok: true, id: 'a' });
    assert.deepEqual(rows[1], { id: 'b', rev: '', ...refused });
    assert.deepInclude(rows[2], { ok: true, id: 'c' });
    const rev = at(rows[0], 'rev');
    const again = await t.bulk([{ _id: 'a', _rev: rev, author: 'eve' }]);
    assert.deepEqual(again, [{ id: 'a', rev, error: 'unauthorized', reason: 'You are not the author.' }]);
    assert.deepInclude(await t.info(), { doc_count: 3 });
  }),

  test('one refusal aborts an all_or_nothing request', async (t) => {
    await validateBy(t, AUTHORS);
    const docs = [{ _id: 'a', author: 'ann' }, { _id: 'b' }, { _id: '_local/c' }];
    const answer = await t.at('POST', '/_bulk_docs', { json: { docs, all_or_nothing: true } });
    assertJson(answer, 417, [{ id: 'b', rev: '', ...refused }]);
    assertError(await t.get('/a'), 404, 'not_found', 'missing');
    assertError(await t.get('/_local/c'), 404, 'not_found', 'missing');
    const replicas = [replicated('a', 2, 'ba', { author: 'ann' }), replicated('b', 2, 'ba', {})];
    const json = { docs: replicas, all_or_nothing: true, new_edits: false };
    const again = await t.at('POST', '/_bulk_docs', { json });
    assertJson(again, 417, [{ id: 'b', rev: fakeRev(2, 'b'), ...refused }]);
    assert.deepInclude(await t.info(), { doc_count: 1, update_seq: 1 });
  }),

  test('a validation function refuses replicated revisions', async (t) => {
    await validateBy(t, AUTHORS);
    const docs = [replicated('a', 2, 'ba', { author: 'ann' }), replicated('b', 2, 'ba', {})];
    const rows = await t.bulk(docs, { new_edits: false });
    assert.deepEqual(rows, [{ id: 'b', rev: fakeRev(2, 'b'), ...refused }]);
    const single = await t.at('PUT', '/b?new_edits=false', { json: replicated('b', 2, 'ba', {}) });
    assertError(single, 403, refused.error, refused.reason);
    const child = replicated('a', 3, 'cba', { author: 'bob' });
    assertError(
      await t.at('PUT', '/a?new_edits=false', { json: child }),
      401,
      'unauthorized',
      'You are not the author.',
    );
    assert.deepInclude(await t.info(), { doc_count: 2 });
  }),

  test('a known revision is not validated again', async (t) => {
    await t.replicate([replicated('a', 2, 'ba', {})]);
    await validateBy(t, AUTHORS);
    await t.replicate([replicated('a', 2, 'ba', {})]);
    assert.deepInclude(await t.info(), { doc_count: 2, update_seq: 2 });
  }),

  test('design documents and local documents are not validated', async (t) => {
    const rev = await validateBy(t, AUTHORS);
    await t.put('_local/x', { n: 1 });
    await t.put('_design/other', { n: 1 });
    await t.delete('_design/test', rev);
    await t.put('doc', {});
  }),

  test('writes with batch=ok are validated when they are written', async (t) => {
    await validateBy(t, AUTHORS);
    assert.equal((await t.at('PUT', '/a?batch=ok', { json: { author: 'ann' } })).status, 202);
    assert.equal((await t.at('PUT', '/b?batch=ok', { json: {} })).status, 202);
    await t.at('POST', '/_ensure_full_commit', { headers: { 'content-type': 'application/json' } });
    assert.equal((await t.get('/a')).status, 200);
    assertError(await t.get('/b'), 404, 'not_found', 'missing');
  }),

  test('the validation functions of all design documents are called', async (t) => {
    await validateBy(t, AUTHORS, 'authors');
    await validateBy(t, 'function (newDoc) { if (!newDoc.title) throw { forbidden: "no title" }; }', 'titles');
    assertError(await t.at('PUT', '/a', { json: { title: 'x' } }), 403, refused.error, refused.reason);
    assertError(await t.at('PUT', '/a', { json: { author: 'x' } }), 403, 'forbidden', 'no title');
    await t.put('a', { author: 'x', title: 'y' });
  }),

  test('a validation function applies from the response to its design document on, until it is changed or deleted', async (t) => {
    await t.put('before', {});
    const first = await validateBy(t, AUTHORS);
    assert.equal((await t.at('PUT', '/a', { json: {} })).status, 403);
    const second = await t.put('_design/test', {
      _rev: first,
      validate_doc_update: 'function (newDoc) { if (newDoc.no) throw { forbidden: "no" }; }',
    });
    await t.put('a', {});
    assertError(await t.at('PUT', '/b', { json: { no: true } }), 403, 'forbidden', 'no');
    await t.delete('_design/test', second);
    await t.put('b', { no: true });
  }),

  test('a validation function gets the new document, the old one, the user and the security object', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    const hash = rev.slice(2);
    await validateBy(t, ECHO);
    await t.at('PUT', '/_security', { json: { members: { names: [], roles: ['staff'] } } });
    const [created, nothing, user, security] = Object.values(Object(await echo(t, 'PUT', '/new', { n: 0 })));
    assert.deepEqual(created, { _id: 'new', _revisions: { start: 0, ids: [] }, n: 0 });
    assert.isNull(nothing);
    assert.deepEqual(user, { db: t.db, name: null, roles: ['_admin'] });
    assert.deepEqual(security, { members: { names: [], roles: ['staff'] } });
    const old = { _id: 'doc', _rev: rev, _revisions: { start: 1, ids: [hash] }, n: 1 };
    const [changed, before] = Object.values(Object(await echo(t, 'PUT', '/doc', { _rev: rev, n: 2 })));
    assert.deepEqual([changed, before], [{ ...old, n: 2 }, old]);
    const [deleted] = Object.values(Object(await echo(t, 'DELETE', `/doc?rev=${rev}`)));
    assert.deepEqual(deleted, { _id: 'doc', _rev: rev, _deleted: true, _revisions: { start: 1, ids: [hash] } });
    const path = '/doc?new_edits=false';
    const [merged, parent] = Object.values(
      Object(await echo(t, 'PUT', path, { _rev: '2-ff', _revisions: { start: 2, ids: ['ff', hash] } })),
    );
    assert.deepEqual(merged, { _id: 'doc', _rev: '2-ff', _revisions: { start: 2, ids: ['ff', hash] } });
    assert.deepEqual(parent, old);
  }),

  test('another exception is a failure of the function', async (t) => {
    await validateBy(t, 'function (newDoc) { undefinedFunction(); }');
    const answer = await t.at('PUT', '/a', { json: {} });
    assert.equal(answer.status, 500, answer.text);
    assert.notEqual(at(answer.json, 'error'), 'forbidden');
    assert.equal((await t.get('/a')).status, 404);
  }),

  test("a validation function that doesn't compile refuses everything", async (t) => {
    const rev = await validateBy(t, 'function (');
    const answer = await t.at('PUT', '/a', { json: {} });
    assert.deepEqual([answer.status, at(answer.json, 'error')], [500, 'compilation_error']);
    await t.delete('_design/test', rev);
    await t.put('a', {});
  }),

  test("a validation function that doesn't compile refuses single rows, so that a fixed one can be in the same request", async (t) => {
    const rev = await validateBy(t, 'function (');
    const fixed = { _id: '_design/test', _rev: rev, validate_doc_update: 'function () {}' };
    const rows = await t.bulk([{ _id: 'a' }, fixed, { _id: '_local/b' }]);
    assert.deepEqual([at(rows[0], 'id'), at(rows[0], 'error')], ['a', 'compilation_error']);
    assert.deepEqual([at(rows[1], 'ok'), at(rows[2], 'ok')], [true, true]);
    assert.equal((await t.get('/a')).status, 404);
    await t.put('a', {});
  }),

  test('a validation function is found in any spelling of its member name', async (t) => {
    const body = '{"validate\\u005fdoc_update":"function () { throw { forbidden: \'no\' }; }"}';
    assert.equal((await t.at('PUT', '/_design/test', { body })).status, 201);
    assertError(await t.at('PUT', '/a', { json: {} }), 403, 'forbidden', 'no');
  }),

  test('a validation function can require modules of its design document', async (t) => {
    await t.put('_design/test', {
      lib: { check: 'exports.needs = function (doc, name) { if (!doc[name]) throw { forbidden: "no " + name }; };' },
      validate_doc_update: 'function (newDoc) { require("lib/check").needs(newDoc, "colour"); }',
    });
    assertError(await t.at('PUT', '/a', { json: {} }), 403, 'forbidden', 'no colour');
    await t.put('a', { colour: 'red' });
  }),

  test('a refusal can be a list as well as an object', async (t) => {
    await validateBy(t, 'function (newDoc) { throw newDoc.thrown; }');
    const write = (thrown: unknown) => t.at('PUT', '/a', { json: { thrown } });
    assertError(await write(['forbidden', 'no']), 403, 'forbidden', 'no');
    assertError(await write(['unauthorized', 'log in']), 401, 'unauthorized', 'log in');
    assertError(await write(['error', 'forbidden', 'no']), 403, 'forbidden', 'no');
    assertError(await write(['error', 'unauthorized', 'log in']), 401, 'unauthorized', 'log in');
    assertError(await write(['error', 'teapot', 'short and stout']), 500, 'teapot', 'short and stout');
    const [row] = await t.bulk([{ _id: 'a', thrown: ['forbidden', 'no'] }]);
    assert.deepEqual(row, { id: 'a', rev: '', error: 'forbidden', reason: 'no' });
  }),

  test('many documents in one request are validated', async (t) => {
    await validateBy(t, AUTHORS);
    const docs = Array.from({ length: 500 }, (_, n) => ({ _id: `${n}`, ...(n % 3 === 0 ? {} : { author: 'ann' }) }));
    const rows = await t.bulk(docs);
    const outcome = rows.map((row) => at(row, 'ok') === true);
    assert.deepEqual(
      outcome,
      docs.map((doc) => 'author' in doc),
    );
  }),

  test(
    'a validation function applies after a restart',
    async (t) => {
      await validateBy(t, AUTHORS);
      await t.restart();
      assertError(await t.at('PUT', '/a', { json: {} }), 403, refused.error, refused.reason);
    },
    { needs: ['restart'] },
  ),

  test(
    'writes with batch=ok are validated and stored when the service ends',
    async (t) => {
      await validateBy(t, AUTHORS);
      await t.at('PUT', '/a?batch=ok', { json: { author: 'ann' } });
      await t.at('PUT', '/b?batch=ok', { json: {} });
      await t.restart();
      assertJson(await t.get('/_all_docs?startkey="a"'), 200, {
        total_rows: 2,
        offset: 1,
        rows: [{ id: 'a', key: 'a', value: { rev: (await t.get('/a')).header('etag')?.slice(1, -1) } }],
      });
    },
    { needs: ['restart'] },
  ),
]);
