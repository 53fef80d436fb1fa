import { assert } from 'chai';
import { basic, type Headers, logIn, ROOT, userPath, withUsers } from '../../../support/conformance/accounts.ts';
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

/** Each function tells all that it was given. */
const SPIES = {
  views: { v: { map: 'function (doc) { emit(null, null); }' } },
  shows: { spy: 'function (doc, req) { return JSON.stringify(req); }' },
  lists: { spy: 'function (head, req) { return JSON.stringify([head, req]); }' },
  updates: { spy: 'function (doc, req) { return [null, JSON.stringify(req)]; }' },
  filters: { spy: 'function (doc, req) { throw { forbidden: JSON.stringify(req) }; }' },
  rewrites: [{ from: 'spy', to: '_show/spy' }],
  validate_doc_update:
    'function (newDoc, oldDoc, userCtx, secObj) { throw { forbidden: JSON.stringify([newDoc, oldDoc, userCtx, secObj]) }; }',
};

/** How they are called, with what a query begins with there. */
const SPIED = [
  ['GET', '/_design/d/_show/spy', '?'],
  ['GET', '/_design/d/_list/spy/v', '?'],
  ['POST', '/_design/d/_update/spy', '?'],
  ['GET', '/_changes?filter=d/spy', '&'],
  ['GET', '/_design/d/_rewrite/spy', '?'],
  ['PUT', '/new', '?'],
] as const;

async function design(t: Toolkit, members: object): Promise<void> {
  const answer = await t.at('PUT', '/_design/d', { headers: ROOT, json: members });
  assert.equal(answer.status, 201, answer.text);
}

/** Who writes is known to the functions of documents, and design documents are for admins (docs/http/accounts.md#access-rights). */
export default suite('accounts_security_validation', [
  test(
    'validation functions see the user of every kind of write',
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
    'validation functions see the same user by session and by password, and the security object',
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
    'shows, lists, updates and filters see the user',
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
    'functions of documents never see credentials',
    async (given) => {
      const settings = {
        ...{
          httpd: { authentication_handlers: 'oauth, cookie, proxy, default' },
          oauth_consumer_secrets: { app: 'consumer-key' },
        },
        ...{ oauth_token_secrets: { tok: 'token-key' }, oauth_token_users: { tok: 'ana' } },
        svc_httpd_auth: { proxy_use_secret: 'true', secret: 'shared', x_auth_token: 'X-Proof-Of-Proxy' },
      };
      const t = await withUsers(given, USERS, settings);
      await t.at('PUT', '/doc', { headers: ROOT, json: {} });
      await design(t, SPIES);
      const { cookie = '' } = await logIn(t, 'ana');
      const password = basic('ana', 'ana')['authorization'] ?? '';
      // printf ana | openssl sha1 -hmac shared
      const token = 'b117dfadb673ddb0afe07e6ac1089061e42d5e2c';
      const plain =
        'oauth_consumer_key=app&oauth_token=tok&oauth_signature_method=PLAINTEXT&oauth_signature=consumer-key%26token-key';
      const ways: readonly (readonly [secret: string, headers: Headers, query: string])[] = [
        [cookie.slice('AuthSession='.length), { cookie: `a=b; ${cookie}; c=d` }, ''],
        [password.slice('Basic '.length), { authorization: password, 'proxy-authorization': password }, ''],
        [token, { 'x-auth-svc-username': 'ana', 'x-auth-svc-roles': 'editor', 'x-proof-of-proxy': token }, ''],
        ['consumer-key', { referer: `http://app.example/?${plain}` }, plain],
      ];
      for (const [secret, headers, query] of ways) {
        for (const [method, path, separator] of SPIED) {
          const sent = method === 'GET' ? { headers } : { headers, json: {} };
          const answer = await t.at(method, `${path}${query === '' ? '' : separator}${query}`, sent);
          // They were called, for the user whose credentials these are.
          assert.include(answer.text.replaceAll('\\', ''), '"name":"ana"', `${path} ${secret}`);
          assert.notInclude(answer.text, secret, path);
        }
      }
      const shown = await t.at('GET', '/_design/d/_show/spy', { headers: { cookie: `a=b; ${cookie}; c=d` } });
      assert.deepEqual(at(JSON.parse(shown.text), 'cookie'), { a: 'b', c: 'd' });
      assert.equal(at(JSON.parse(shown.text), 'headers', 'Cookie'), 'a=b; c=d');
    },
    { needs: ['settings', 'forbidden-headers'] },
  ),

  test(
    'a validation function of the users database never sees a plain password',
    async (given) => {
      const t = await withUsers(given, USERS);
      const validate = 'function (doc, old) { throw({forbidden: JSON.stringify([doc, old])}); }';
      const answer = await t.request('PUT', '/_users/_design/d', {
        headers: ROOT,
        json: { validate_doc_update: validate },
      });
      assert.equal(answer.status, 201);
      const { json } = await t.request('GET', userPath('ana'), { headers: ROOT });
      const changed = { ...Object(json), password: 'plain secret' };
      const refused = await t.request('PUT', userPath('ana'), { headers: basic('ana', 'ana'), json: changed });
      assert.equal(refused.status, 403);
      assert.include(refused.text, 'derived_key');
      assert.notInclude(refused.text, 'plain secret');
    },
    { needs: ['settings'] },
  ),

  test(
    'only admins write design documents, whatever the kind of write',
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
    'a replication writes with the rights of the user that requested it',
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
