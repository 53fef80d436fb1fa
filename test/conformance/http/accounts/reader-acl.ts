import { assert } from 'chai';
import { basic, type Headers, ROOT, withUsers } from '../../../support/conformance/accounts.ts';
import { assertError, assertJson } from '../../../support/conformance/answer.ts';
import { arrayAt, at, stringAt } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';

const needs = ['settings'] as const;
const USERS = [{ name: 'ana', roles: ['editor'] }, { name: 'bob' }];
const REASON = 'You are not authorized to access this db.';

async function secure(t: Toolkit, security: unknown): Promise<void> {
  assertJson(await t.at('PUT', '/_security', { headers: ROOT, json: security }), 200, { ok: true });
}

async function statuses(t: Toolkit, path = ''): Promise<readonly number[]> {
  const senders: readonly Headers[] = [{}, basic('ana', 'ana'), basic('bob', 'bob'), ROOT];
  const found: number[] = [];
  for (const headers of senders) found.push((await t.at('GET', path, { headers })).status);
  return found;
}

/** Members and admins of a database (docs/http/databases.md#security-object). */
export default suite('accounts_reader_acl', [
  test(
    'without members everyone is a member',
    async (given) => {
      const t = await withUsers(given, USERS);
      assert.deepEqual(await statuses(t), [200, 200, 200, 200]);
      await secure(t, { admins: { names: ['ana'] }, members: { names: [], roles: [] } });
      assert.deepEqual(await statuses(t), [200, 200, 200, 200]);
    },
    { needs },
  ),

  test(
    'members have access by name, by role, by the old name `readers`, and as admins',
    async (given) => {
      const t = await withUsers(given, USERS);
      for (const security of [
        { members: { names: ['ana'] } },
        { members: { roles: ['editor'] } },
        { readers: { names: ['ana'], roles: [] } },
        { members: { names: ['zoe'] }, admins: { names: ['ana'] } },
        { members: { names: ['zoe'] }, admins: { roles: ['editor'] } },
      ]) {
        await secure(t, security);
        assert.deepEqual(await statuses(t), [401, 200, 401, 200], JSON.stringify(security));
      }
      assertError(await t.get(''), 401, 'unauthorized', REASON);
    },
    { needs },
  ),

  test(
    'members called "null", "undefined", "_anonymous" or "" don\'t match anonymous clients',
    async (given) => {
      const t = await withUsers(given, USERS);
      for (const members of [{ names: ['null'] }, { names: [''] }, { roles: ['', '_anonymous', 'undefined'] }]) {
        await secure(t, { members });
        assert.deepEqual(await statuses(t), [401, 401, 401, 200], JSON.stringify(members));
      }
    },
    { needs },
  ),

  test(
    'nothing below a closed database is readable, whatever the spelling of the path',
    async (given) => {
      const t = await withUsers(given, USERS);
      await t.at('PUT', '/doc', { headers: ROOT, json: { secret: true } });
      await secure(t, { members: { names: ['ana'] } });
      const { db } = t;
      const [first = '', ...rest] = db;
      const coded = `%${first.charCodeAt(0).toString(16)}${rest.join('')}`;
      const paths = [
        ...[`/${db}/doc`, `//${db}//doc`, `/${coded}/doc`, `/${db}/%64oc`, `/${db}/doc?rev=1-a`, `/${db}/doc/`],
        ...[`/${db}/_all_docs`, `/${db}/_security`, `/${db}/_security/`, `/${db}/_changes?feed=continuous`],
        ...[`/${db}/_local/x`, `/${db}/_design/d`, `/${db}/_design%2Fd`, `/${db}/_design/d/_view/v`],
        ...[`/${db}/_design/d/_rewrite/x`, `/${db}/_design/d/_show/s`, `/${db}/doc/attachment`, `/${db}/_revs_limit`],
        ...[`/${db}/./doc`, `/${db}/x/../doc`, `/x/../${db}/doc`, `/${db}/doc#x`, `/${db}?x=/`],
      ];
      for (const path of paths) {
        const answer = await t.request('GET', path);
        assert.include([301, 401, 404], answer.status, `${path}: ${answer.text}`);
        assert.notInclude(answer.text, 'secret');
      }
    },
    { needs: ['settings', 'any-url', 'manual-redirect'] },
  ),

  test(
    "other methods and method-override headers don't open a closed database",
    async (given) => {
      const t = await withUsers(given, USERS);
      await secure(t, { members: { names: ['ana'] } });
      const override = { 'x-http-method-override': 'GET' };
      assert.equal((await t.at('POST', '', { headers: override })).status, 401);
      assert.equal((await t.at('HEAD', '')).status, 401);
      for (const [method, path] of [
        ['PUT', '/doc'],
        ['DELETE', '/doc?rev=1-a'],
        ['POST', ''],
        ['POST', '/_bulk_docs'],
        ['PUT', '/_security'],
        ['PUT', '/_local/x'],
        ['PUT', '/doc/attachment'],
      ] as const) {
        assert.equal((await t.at(method, path, { json: {} })).status, 401, `${method} ${path}`);
      }
      assert.deepInclude((await t.at('GET', '', { headers: ROOT })).json, { doc_count: 0, update_seq: 0 });
    },
    { needs },
  ),

  test(
    'a list of databases says nothing about the content of closed databases',
    async (given) => {
      const t = await withUsers(given, USERS);
      await secure(t, { members: { names: ['ana'] } });
      const json = { keys: [t.db] };
      const asked = async (headers: Headers) =>
        arrayAt((await t.request('POST', '/_dbs_info', { headers, json })).json)[0];
      assert.deepEqual(await asked({}), { key: t.db, error: 'unauthorized' });
      assert.deepEqual(await asked(basic('bob', 'bob')), { key: t.db, error: 'unauthorized' });
      assert.equal(at(await asked(basic('ana', 'ana')), 'info', 'db_name'), t.db);
    },
    { needs },
  ),

  test(
    'a rewrite into another database needs rights there',
    async (given) => {
      const t = await withUsers(given, USERS, { httpd: { secure_rewrites: 'false' } });
      await t.createDatabase('closed');
      await t.request('PUT', '/closed/doc', { headers: ROOT, json: { secret: true } });
      const security = { members: { names: ['ana'] } };
      await t.request('PUT', '/closed/_security', { headers: ROOT, json: security });
      const rewrites = [{ from: 'out', to: '../../../closed/doc' }];
      await t.at('PUT', '/_design/d', { headers: ROOT, json: { rewrites } });
      assertError(await t.get('/_design/d/_rewrite/out'), 401, 'unauthorized', REASON);
      assert.equal((await t.get('/_design/d/_rewrite/out', basic('ana', 'ana'))).status, 200);
    },
    { needs },
  ),

  test(
    'a copy into another database needs rights there',
    async (given) => {
      const t = await withUsers(given, USERS);
      await t.createDatabase('closed');
      const security = { members: { names: ['ana'] } };
      await t.request('PUT', '/closed/_security', { headers: ROOT, json: security });
      await t.put('doc', { n: 1 });
      await t.at('PUT', `/doc/a?rev=${stringAt((await t.get('/doc')).json, '_rev')}`, { body: 'hello' });
      const copy = (id: string, more: Readonly<Record<string, string>> = {}) =>
        t.at('COPY', '/doc', { headers: { destination: `${t.baseUrl}/closed/${id}`, ...more } });
      assertError(await copy('copy'), 401, 'unauthorized', REASON);
      const [bob, ana] = [basic('bob', 'bob'), basic('ana', 'ana')];
      assertError(await copy('copy', bob), 401, 'unauthorized', REASON);
      assert.equal((await t.request('GET', '/closed/copy', { headers: ROOT })).status, 404);
      assert.equal((await copy('copy', ana)).status, 201);
      assert.equal((await t.request('GET', '/closed/copy/a', { headers: ana })).text, 'hello');
      assert.equal((await copy('_design/copy', ana)).status, 401);
    },
    { needs },
  ),
]);
