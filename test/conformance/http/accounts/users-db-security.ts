import { assert } from 'chai';
import { basic, ROOT, USER_ID, userPath, withUsers } from '../../../support/conformance/accounts.ts';
import { assertError, assertJson } from '../../../support/conformance/answer.ts';
import { arrayAt, at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';

const needs = ['settings'] as const;
const USERS = [{ name: 'ana' }, { name: 'bob' }];
const NOT_ADMIN = 'You are not a db or server admin.';

/** The replicator may be writing into it at the same time. */
async function removeDocument(t: Toolkit, path: string): Promise<void> {
  for (;;) {
    const { json } = await t.request('GET', path, { headers: ROOT });
    const answer = await t.request('DELETE', `${path}?rev=${at(json, '_rev')}`, { headers: ROOT });
    if (answer.status === 409) continue;
    assert.equal(answer.status, 200, answer.text);
    return;
  }
}

/** Who reads what of the users' database (docs/http/accounts.md#reading-users). */
export default suite('accounts_users_db_security', [
  test(
    'users read their own documents only',
    async (given) => {
      const t = await withUsers(given, USERS);
      const headers = basic('ana', 'ana');
      assert.equal(at((await t.request('GET', userPath('ana'), { headers })).json, 'name'), 'ana');
      assert.property((await t.request('GET', `${userPath('ana')}?revs=true`, { headers })).json, '_revisions');
      assert.match((await t.request('HEAD', userPath('ana'), { headers })).header('etag') ?? '', /^"1-/);
      for (const path of [
        userPath('bob'),
        userPath('nobody'),
        `${userPath('bob')}?rev=1-a`,
        `${userPath('bob')}/file`,
      ]) {
        assertError(await t.request('GET', path, { headers }), 404, 'not_found', 'missing');
        assertError(await t.request('GET', path), 404, 'not_found', 'missing');
      }
      for (const query of ['open_revs=all', 'revs=true&open_revs=["1-a"]', 'attachments=true', 'meta=true']) {
        const answer = await t.request('GET', `${userPath('bob')}?${query}`, { headers });
        assertError(answer, 404, 'not_found', 'missing');
      }
      assert.equal((await t.request('GET', userPath('bob'), { headers: ROOT })).status, 200);
    },
    { needs },
  ),

  test(
    'only admins read resources that show many documents',
    async (given) => {
      const t = await withUsers(given, USERS);
      const json = { docs: [{ id: `${USER_ID}bob` }], keys: [`${USER_ID}bob`], selector: { name: 'bob' }, queries: [] };
      const list = 'Only admins can access _all_docs of system databases.';
      const functions = 'Only admins can access design document actions for system databases.';
      await t.request('PUT', '/_users/_design/d', {
        headers: ROOT,
        json: { views: { v: { map: 'function (doc) {}' } } },
      });
      const cases: readonly (readonly [what: string, status: number, reason: string])[] = [
        ['GET /_users/_all_docs', 403, list],
        ['POST /_users/_all_docs', 403, list],
        ['POST /_users/_all_docs/queries', 403, list],
        ['GET /_users/_all_docs?include_docs=true', 403, list],
        ['GET /_users/_design/d/_view/v', 403, functions],
        ['POST /_users/_design/d/_view/v', 403, functions],
        ['GET /_users/_design/d/_view/v?feed=continuous', 403, functions],
        ['GET /_users/_design/d/_info', 403, functions],
        ['GET /_users/_design/d/_show/s', 403, functions],
        ['GET /_users/_design/d/_list/l/v', 403, functions],
        ['POST /_users/_design/d/_update/u', 403, functions],
        ['GET /_users/_design/d/_rewrite/x', 403, functions],
        ['GET /_users/_design/d', 403, 'Only administrators can view design docs in the users database.'],
        ['GET /_users/_changes', 401, NOT_ADMIN],
        ['GET /_users/_changes?feed=longpoll', 401, NOT_ADMIN],
        ['POST /_users/_changes', 401, NOT_ADMIN],
        ['POST /_users/_bulk_get', 401, NOT_ADMIN],
        ['POST /_users/_find', 401, NOT_ADMIN],
        ['POST /_users/_explain', 401, NOT_ADMIN],
        ['GET /_users/_index', 401, NOT_ADMIN],
        ['POST /_users/_revs_diff', 401, NOT_ADMIN],
        ['POST /_users/_missing_revs', 401, NOT_ADMIN],
        ['GET /_users/_design_docs', 401, NOT_ADMIN],
        ['GET /_users/_local_docs', 401, NOT_ADMIN],
        ['GET /_users/_local/x', 401, NOT_ADMIN],
      ];
      for (const [what, status, reason] of cases) {
        const [method = '', path = ''] = what.split(' ');
        for (const headers of [{}, basic('ana', 'ana')]) {
          const answer = await t.request(method, path, { headers, ...(method === 'POST' ? { json } : {}) });
          assertError(answer, status, status === 403 ? 'forbidden' : 'unauthorized', reason);
        }
      }
      assert.equal((await t.request('GET', '/_users', { headers: basic('ana', 'ana') })).status, 200);
    },
    { needs },
  ),

  test(
    'admins of the users database read and write all of it',
    async (given) => {
      const t = await withUsers(given, USERS);
      const json = { admins: { names: ['ana'], roles: [] } };
      assertJson(await t.request('PUT', '/_users/_security', { headers: ROOT, json }), 200, { ok: true });
      const headers = basic('ana', 'ana');
      assert.equal((await t.request('GET', userPath('bob'), { headers })).status, 200);
      assert.equal((await t.request('GET', '/_users/_changes', { headers })).status, 200);
      const rows = arrayAt((await t.request('GET', '/_users/_all_docs', { headers })).json, 'rows');
      assert.deepEqual(
        rows.map((row) => at(row, 'id')),
        [`${USER_ID}ana`, `${USER_ID}bob`],
      );
    },
    { needs },
  ),

  test(
    'public fields are readable by everyone, alone and in lists, and other fields are not',
    async (given) => {
      const settings = { svc_httpd_auth: { users_db_public: 'true', public_fields: 'name, color, _rev' } };
      const t = await withUsers(given, USERS, settings);
      const { json } = await t.request('GET', userPath('bob'), { headers: ROOT });
      await t.request('PUT', userPath('bob'), { headers: ROOT, json: { ...Object(json), color: 'red' } });
      const shown = await t.request('GET', `${userPath('bob')}?revs=true&meta=true`, { headers: basic('ana', 'ana') });
      const rev = at(shown.json, '_rev');
      assertJson(shown, 200, { _id: `${USER_ID}bob`, _rev: rev, name: 'bob', color: 'red' });
      assertJson(await t.request('GET', userPath('bob')), 200, {
        _id: `${USER_ID}bob`,
        _rev: rev,
        name: 'bob',
        color: 'red',
      });
      const list = await t.request('GET', '/_users/_all_docs?include_docs=true');
      assert.notInclude(list.text, 'derived_key');
      assert.deepEqual(
        arrayAt(list.json, 'rows').map((row) => at(row, 'doc', 'name')),
        ['ana', 'bob'],
      );
      const keyed = await t.request('POST', '/_users/_all_docs?include_docs=true', {
        json: { keys: [`${USER_ID}bob`] },
      });
      assert.notInclude(keyed.text, 'derived_key');
      assert.equal((await t.request('GET', '/_users/_changes')).status, 401);
    },
    { needs },
  ),

  test(
    'attachments are never public',
    async (given) => {
      const settings = { svc_httpd_auth: { users_db_public: 'true', public_fields: 'name, _attachments' } };
      const t = await withUsers(given, USERS, settings);
      const bob = basic('bob', 'bob');
      const file = `${userPath('bob')}/file`;
      const { json } = await t.request('GET', userPath('bob'), { headers: ROOT });
      const put = await t.request('PUT', `${file}?rev=${at(json, '_rev')}`, { headers: bob, body: 'of bob' });
      assert.equal(put.status, 201, put.text);
      assert.equal((await t.request('GET', file, { headers: bob })).text, 'of bob');
      for (const headers of [{}, basic('ana', 'ana')]) {
        for (const method of ['GET', 'PUT', 'DELETE']) {
          assertError(await t.request(method, file, { headers }), 404, 'not_found', 'missing');
        }
        assert.notInclude((await t.request('GET', userPath('bob'), { headers })).text, 'file');
      }
    },
    { needs },
  ),

  test(
    'only admins read local documents, whoever writes them',
    async (given) => {
      const t = await withUsers(given, USERS);
      await t.createDatabase('_replicator');
      const doc = { _id: '_local/x', a: 1 };
      for (const headers of [{}, basic('ana', 'ana')]) {
        for (const db of ['/_users', '/_replicator']) {
          const json = { docs: [doc] };
          const answers = [
            await t.request('PUT', `${db}/_local/x`, { headers, json: doc }),
            await t.request('POST', db, { headers, json: doc }),
            await t.request('POST', `${db}/_bulk_docs`, { headers, json }),
            await t.request('POST', `${db}/_bulk_docs`, { headers, json: { ...json, new_edits: false } }),
            await t.request('POST', `${db}/_bulk_docs`, { headers, json: { ...json, all_or_nothing: true } }),
          ];
          for (const answer of answers) assertError(answer, 401, 'unauthorized', NOT_ADMIN);
        }
      }
      const copy = { ...basic('ana', 'ana'), destination: '_local/x' };
      assertError(await t.request('COPY', userPath('ana'), { headers: copy }), 401, 'unauthorized', NOT_ADMIN);
      assertError(await t.request('GET', '/_users/_local/x', { headers: ROOT }), 404, 'not_found', 'missing');
      const ofAdmin = await t.request('POST', '/_users/_bulk_docs', { headers: ROOT, json: { docs: [doc] } });
      assert.equal(at(ofAdmin.json, '0', 'ok'), true, ofAdmin.text);
    },
    { needs },
  ),

  test(
    'public fields are not public unless users_db_public is on',
    async (given) => {
      const t = await withUsers(given, USERS, { svc_httpd_auth: { public_fields: 'name' } });
      assertError(await t.request('GET', userPath('bob')), 404, 'not_found', 'missing');
      assert.equal((await t.request('GET', '/_users/_all_docs')).status, 403);
    },
    { needs },
  ),

  test(
    "other users' replication documents are shown without credentials",
    async (given) => {
      const t = await withUsers(given, USERS);
      await t.createDatabase('_replicator');
      const secret = 'topsecret';
      const json = {
        source: { url: `https://me:${secret}@a.example/db?key=${secret}`, headers: { authorization: secret } },
        target: `https://me:p@${secret}@b.example/db`,
        owner: 'bob',
        user_ctx: { name: 'bob', roles: [] },
      };
      assert.equal((await t.request('PUT', '/_replicator/r', { headers: ROOT, json })).status, 201);
      const shown = { source: { url: 'https://a.example/db' }, target: 'https://b.example/db' };
      for (const path of ['r', 'r?attachments=true', '_all_docs?include_docs=true', 'r?open_revs=all']) {
        for (const headers of [{}, basic('ana', 'ana')]) {
          const answer = await t.request('GET', `/_replicator/${path}`, { headers });
          assert.equal(answer.status, 200, answer.text);
          assert.notInclude(answer.text, secret, path);
        }
      }
      assert.deepInclude((await t.request('GET', '/_replicator/r')).json, shown);
      for (const headers of [ROOT, basic('bob', 'bob')]) {
        const { text } = await t.request('GET', '/_replicator/r', { headers });
        assert.include(text, '-sealed-');
        assert.notInclude(text, secret);
      }
      // A slip in a URL may put the password anywhere.
      const slips = [' http://me:$@a.example/db', 'http:/me:$@a.example/db', 'http://me:1/$@a.example/db'];
      for (const slip of [...slips, 'http:me:$@a.example/db', 'http://me:?$@a.example/db', 'http://a.example/db#$']) {
        const source = slip.replace('$', secret);
        const written = await t.request('PUT', '/_replicator/slip', { headers: ROOT, json: { ...json, source } });
        assert.equal(written.status, 201, written.text);
        for (const path of ['slip', '_all_docs?include_docs=true']) {
          for (const headers of [ROOT, basic('ana', 'ana')]) {
            assert.notInclude((await t.request('GET', `/_replicator/${path}`, { headers })).text, secret, slip);
          }
        }
        await removeDocument(t, '/_replicator/slip');
        if (!slip.startsWith('http://')) {
          const refused = await t.request('POST', '/_replicate', { headers: ROOT, json: { source, target: 'x' } });
          const reason = "The `source' must be the name of a database, or its URL with http: or https:.";
          assertError(refused, 400, 'bad_request', reason);
        }
      }
      const closed = [
        ...['_changes?include_docs=true', '_changes?filter=_selector', '_bulk_get', '_find', '_index'],
        // Names of these parameters are read in any case; the first value counts.
        ...['_changes?INCLUDE_DOCS=true', '_changes?Include_docs=true&include_docs=false', '_changes?FILTER=_selector'],
      ];
      for (const path of closed) {
        const method = path === '_find' || path === '_bulk_get' ? 'POST' : 'GET';
        const answer = await t.request(method, `/_replicator/${path}`, { headers: basic('ana', 'ana') });
        assertError(answer, 401, 'unauthorized', NOT_ADMIN);
      }
      assert.equal((await t.request('GET', '/_replicator/_changes')).status, 200);
      const copied = await t.request('COPY', '/_replicator/r', { headers: { destination: 'copy' } });
      assert.notEqual(copied.status, 500);
      assert.notInclude((await t.request('GET', '/_replicator/copy', { headers: ROOT })).text, secret);
    },
    { needs },
  ),
]);
