import { assert } from 'chai';
import { basic, type Headers, logIn, ROOT, withUsers } from '../../../support/conformance/accounts.ts';
import { assertError, assertJson } from '../../../support/conformance/answer.ts';
import { arrayAt, at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';

const needs = ['settings'] as const;
const NOT_ADMIN = 'You are not a db or server admin.';
const USERS = [{ name: 'ana', roles: ['editor'] }, { name: 'bob' }];

/** Documents belong to their authors; admins may do all. */
const AUTHORS = `function (newDoc, oldDoc, userCtx, secObj) {
  var isAdmin = userCtx.roles.indexOf('_admin') >= 0 || (secObj.admins && secObj.admins.names.indexOf(userCtx.name) >= 0);
  if (isAdmin) return;
  if (userCtx.name === null) throw { unauthorized: "Log in first." };
  if (newDoc.author !== userCtx.name) throw { forbidden: "Write your own documents, " + userCtx.name + " of " + userCtx.db };
}`;

const ECHO = 'function (newDoc, oldDoc, userCtx, secObj) { throw { forbidden: JSON.stringify([userCtx, secObj]) }; }';

async function design(t: Toolkit, members: object): Promise<void> {
  const answer = await t.at('PUT', '/_design/d', { headers: ROOT, json: members });
  assert.equal(answer.status, 201, answer.text);
}

/** Who writes is known to the functions of documents, and design documents are for admins (docs/http.md#access-rights). */
export default suite('accounts_security_validation', [
  test(
    'validation functions know who writes, on every way in',
    async (given) => {
      const t = await withUsers(given, USERS);
      await design(t, { validate_doc_update: AUTHORS });
      const reason = `Write your own documents, ana of ${t.db}`;
      const ana = basic('ana', 'ana');
      const put = (headers: Headers, json: object) => t.at('PUT', '/doc', { headers, json });
      assertError(await put({}, { author: 'ana' }), 401, 'unauthorized', 'Log in first.');
      assertError(await put(ana, { author: 'bob' }), 403, 'forbidden', reason);
      assert.equal((await put(ana, { author: 'ana' })).status, 201);
      const docs = [
        { _id: 'a', author: 'ana' },
        { _id: 'b', author: 'bob' },
      ];
      const rows = arrayAt((await t.at('POST', '/_bulk_docs', { headers: ana, json: { docs } })).json);
      assert.deepEqual(
        rows.map((row) => at(row, 'error')),
        [undefined, 'forbidden'],
      );
      assert.equal((await put(ROOT, { author: 'eve', _rev: at(await read(t), '_rev') })).status, 201);
    },
    { needs },
  ),

  test(
    'a session and a password are the same user, with the security object beside',
    async (given) => {
      const t = await withUsers(given, USERS);
      await design(t, { validate_doc_update: ECHO });
      const security = { admins: { names: ['bob'] }, note: 'mine' };
      await t.at('PUT', '/_security', { headers: ROOT, json: security });
      for (const headers of [basic('ana', 'ana'), await logIn(t, 'ana')]) {
        const answer = await t.at('PUT', '/doc', { headers, json: {} });
        assert.deepEqual(JSON.parse(`${at(answer.json, 'reason')}`), [
          { db: t.db, name: 'ana', roles: ['editor'] },
          security,
        ]);
      }
    },
    { needs: ['settings', 'forbidden-headers'] },
  ),

  test(
    'shows, lists, updates and filters know who asks',
    async (given) => {
      const t = await withUsers(given, USERS);
      await design(t, {
        views: { v: { map: 'function (doc) { emit(null, null); }' } },
        shows: { who: 'function (doc, req) { return JSON.stringify(req.userCtx); }' },
        lists: { who: 'function (head, req) { return JSON.stringify(req.userCtx); }' },
        updates: { who: 'function (doc, req) { return [null, JSON.stringify(req.userCtx)]; }' },
        filters: { own: 'function (doc, req) { return doc.author === req.userCtx.name; }' },
      });
      await t.at('PUT', '/doc', { headers: ROOT, json: { author: 'ana' } });
      const ana = basic('ana', 'ana');
      const user = { db: t.db, name: 'ana', roles: ['editor'] };
      for (const [method, path] of [
        ['GET', '_show/who'],
        ['GET', '_list/who/v'],
        ['POST', '_update/who'],
      ] as const) {
        const answer = await t.at(method, `/_design/d/${path}`, { headers: ana });
        assert.deepEqual(JSON.parse(answer.text), user, path);
        const nobody = await t.at(method, `/_design/d/${path}`);
        assert.deepEqual(JSON.parse(nobody.text), { db: t.db, name: null, roles: [] }, path);
      }
      const changed = async (headers: Headers) =>
        arrayAt((await t.at('GET', '/_changes?filter=d/own', { headers })).json, 'results').map((row) => at(row, 'id'));
      assert.deepEqual(await changed(ana), ['doc']);
      assert.deepEqual(await changed(basic('bob', 'bob')), []);
    },
    { needs },
  ),

  test(
    'a function of a document sees the cookies and the password of nobody else',
    async (given) => {
      const t = await withUsers(given, USERS);
      await design(t, { shows: { all: 'function (doc, req) { return JSON.stringify(req); }' } });
      const session = await logIn(t, 'ana');
      const shown = await t.at('GET', '/_design/d/_show/all', { headers: session });
      assert.notInclude(shown.text, `${session['cookie']}`.slice('AuthSession='.length));
      const basicShown = await t.at('GET', '/_design/d/_show/all', { headers: basic('ana', 'ana') });
      assert.notInclude(basicShown.text, `${basic('ana', 'ana')['authorization']}`);
      const other = await t.at('GET', '/_design/d/_show/all', { headers: { cookie: 'a=b; AuthSession=; c=d' } });
      assert.deepInclude(at(JSON.parse(other.text), 'cookie'), { a: 'b', c: 'd' });
    },
    { needs: ['settings', 'forbidden-headers'] },
  ),

  test(
    'design documents are for admins, on every way in',
    async (given) => {
      const t = await withUsers(given, USERS);
      const security = { admins: { names: ['bob'] } };
      await t.at('PUT', '/_security', { headers: ROOT, json: security });
      const make = 'function (doc, req) { return [{ _id: "_design/made" }, "done"]; }';
      await design(t, { updates: { make } });
      await t.at('PUT', '/doc', { headers: ROOT, json: {} });
      const cases: readonly (readonly [method: string, path: string, headers: Headers, json?: unknown])[] = [
        ['PUT', '/_design/x', {}, {}],
        ['PUT', '/_design%2Fx', {}, {}],
        ['PUT', '/_design/x?new_edits=false', {}, { _rev: '1-a' }],
        ['PUT', '/_design/x?batch=ok', {}, {}],
        ['POST', '', {}, { _id: '_design/x' }],
        ['COPY', '/doc', { destination: '_design/x' }],
        ['PUT', '/_design/x/file', { 'content-type': 'text/plain' }, 'text'],
        ['POST', '/_design/d/_update/make', {}, {}],
        ['POST', '/_index', {}, { index: { fields: ['a'] } }],
      ];
      for (const [method, path, headers, json] of cases) {
        for (const sender of [{}, basic('ana', 'ana')]) {
          const options = { headers: { ...sender, ...headers }, ...(json === undefined ? {} : { json }) };
          const answer = await t.at(method, path, options);
          if (path.includes('batch=ok')) continue;
          assertError(answer, 401, 'unauthorized', NOT_ADMIN);
        }
      }
      await t.at('POST', '/_ensure_full_commit', { headers: ROOT, json: {} });
      const docs = [{ _id: '_design/x', _rev: '1-a' }];
      const rows = await t.at('POST', '/_bulk_docs', {
        headers: basic('ana', 'ana'),
        json: { docs, new_edits: false },
      });
      assert.deepInclude(arrayAt(rows.json)[0], { id: '_design/x', error: 'unauthorized', reason: NOT_ADMIN });
      assertError(await t.get('/_design/x'), 404, 'not_found', 'missing');
      assert.equal((await t.at('PUT', '/_design/x', { headers: basic('bob', 'bob'), json: {} })).status, 201);
    },
    { needs },
  ),

  test(
    'a replication writes with the rights of whoever asked for it',
    async (given) => {
      const t = await withUsers(given, USERS);
      await t.createDatabase('copy');
      await t.at('PUT', '/own', { headers: ROOT, json: { author: 'ana' } });
      await t.at('PUT', '/others', { headers: ROOT, json: { author: 'bob' } });
      const validator = { validate_doc_update: AUTHORS };
      await t.request('PUT', '/copy/_design/d', { headers: ROOT, json: validator });
      const json = { source: t.db, target: 'copy' };
      const answer = await t.request('POST', '/_replicate', { headers: basic('ana', 'ana'), json });
      assert.equal(answer.status, 200, answer.text);
      assert.deepInclude(arrayAt(answer.json, 'history')[0], { docs_written: 1, doc_write_failures: 1 });
      assertError(await t.request('GET', '/copy/others'), 404, 'not_found', 'missing');
      await t.request('PUT', '/copy/_security', { headers: ROOT, json: { members: { names: ['bob'] } } });
      const refused = await t.request('POST', '/_replicate', { headers: basic('ana', 'ana'), json });
      assert.equal(refused.status, 500, refused.text);
      assert.equal(at(refused.json, 'error'), 'unauthorized');
    },
    { needs },
  ),
]);

async function read(t: Toolkit): Promise<unknown> {
  const answer = await t.get('/doc', ROOT);
  assertJson(answer, 200, answer.json);
  return answer.json;
}
