import { assert } from 'chai';
import { basic, ROOT, userPath, whoIs, withAdmin, withUsers } from '../../../support/conformance/accounts.ts';
import { assertError, assertJson } from '../../../support/conformance/answer.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';

const needs = ['settings'] as const;
const WRONG = 'Name or password is incorrect.';

const JAN_KEY = 'e579375db0e0c6a6fc79cd9e36a36859f71575c3';
const MONA_KEY = 'b1badbe7bb8f8c052ae346ed22361f1c65365fa16e2fe1221e2e8e1b200bf20b';
const SUE_KEY = '6d379d43d32c77bb22bd108e210e68ebcac89a15004a3afabbac6770';

/** Names and passwords with each request (docs/http/accounts.md#authentication). */
export default suite('accounts_basic_auth', [
  test('while there is no admin, every client is an admin', async (t) => {
    assert.deepEqual(await whoIs(t), { name: null, roles: ['_admin'] });
  }),

  test(
    'with the first admin, other clients lose admin rights',
    async (given) => {
      const t = await withAdmin(given);
      assert.deepEqual(await whoIs(t), { name: null, roles: [] });
      assert.deepEqual(await whoIs(t, ROOT), { name: 'root', roles: ['_admin'] });
      assertError(await t.request('PUT', '/other'), 401, 'unauthorized', 'You are not a server admin.');
    },
    { needs },
  ),

  test(
    'users of the database log in, with their roles',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana', roles: ['editor'] }]);
      assert.deepEqual(await whoIs(t, basic('ana', 'ana')), { name: 'ana', roles: ['editor'] });
    },
    { needs },
  ),

  test(
    'names and passwords may have characters of all scripts, and passwords may have colons',
    async (given) => {
      const t = await withUsers(given, [{ name: 'Ünal 名', password: 'p:ä:😀' }]);
      assert.deepEqual(await whoIs(t, basic('Ünal 名', 'p:ä:😀')), { name: 'Ünal 名', roles: [] });
    },
    { needs },
  ),

  test(
    'wrong credentials are refused at once, whatever the path',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }]);
      for (const headers of [basic('ana', 'x'), basic('nobody', 'x'), basic('root', ''), basic('', '')]) {
        assertError(await t.request('GET', '/', { headers }), 401, 'unauthorized', WRONG);
      }
      for (const text of ['Basic', 'Basic ', 'Basic !!!', 'Basic YW5h', 'basic /w==']) {
        const answer = await t.request('GET', '/', { headers: { authorization: text } });
        assert.include([200, 401], answer.status, text);
        assert.notEqual(at(answer.json, 'userCtx', 'name'), 'ana');
      }
    },
    { needs },
  ),

  test(
    'the name "_" with the password "_" is an anonymous client',
    async (given) => {
      const t = await withAdmin(given);
      assert.deepEqual(await whoIs(t, basic('_', '_')), { name: null, roles: [] });
    },
    { needs },
  ),

  test(
    'a server admin has the roles of the user document with that name, but its own password',
    async (given) => {
      const t = await withUsers(given, [{ name: 'root', password: 'other', roles: ['editor'] }]);
      assert.deepEqual(await whoIs(t, ROOT), { name: 'root', roles: ['_admin', 'editor'] });
      const refused = await t.request('GET', '/', { headers: basic('root', 'other') });
      assertError(refused, 401, 'unauthorized', WRONG);
    },
    { needs },
  ),

  test(
    'where anonymous clients are refused, logging in still works',
    async (given) => {
      const t = await withAdmin(given, { svc_httpd_auth: { require_valid_user: 'true' } });
      const required = 'Authentication required.';
      const paths = [
        '/',
        '/_all_dbs',
        `/${t.db}`,
        `/${t.db}/x`,
        `/${t.db}/_changes`,
        '/_session/x',
        '/_sessions',
        '/x/_up',
      ];
      const others = [
        '/_uuids',
        '/_stats',
        '/_log',
        '/_utilsx',
        '/favicon.ico',
        '/nothing',
        '/_nothing',
        '/x/_all_docs?limit=x',
      ];
      for (const path of [...paths, ...others, '/_config/admins/eve', '/_cluster_setup']) {
        assertError(await t.request('GET', path), 401, 'unauthorized', required);
        assertError(await t.request('GET', path, { headers: basic('_', '_') }), 401, 'unauthorized', required);
        assert.equal((await t.request('HEAD', path)).status, 401);
        assertError(await t.request('DELETE', path), 401, 'unauthorized', required);
        assertError(await t.request('PUT', path, { json: 'x' }), 401, 'unauthorized', required);
        assertError(await t.request('POST', path, { json: {} }), 401, 'unauthorized', required);
      }
      assert.equal((await t.request('GET', '/_session')).status, 200);
      assert.equal((await t.request('GET', '/_up')).status, 200);
      // The page in which one logs in: 501 on a host that does not have it.
      assert.include([200, 501], (await t.request('GET', '/_utils/')).status);
      assert.equal((await t.request('GET', '/_utils/../_all_dbs')).status === 200, false);
      assert.equal((await t.request('GET', '/', { headers: ROOT })).status, 200);
    },
    { needs },
  ),

  test(
    'where anonymous clients are refused and there is no admin, they can create the first admin and do nothing else',
    async (given) => {
      const t = await given.withSettings({});
      assertJson(await t.request('PUT', '/_config/chttpd/require_valid_user', { json: 'true' }), 200, 'false');
      const required = 'Authentication required.';
      for (const path of ['/', `/${t.db}`, '/_config', '/_config/admins', '/_config/chttpd/require_valid_user']) {
        assertError(await t.request('GET', path), 401, 'unauthorized', required);
        assertError(await t.request('PUT', path, { json: 'false' }), 401, 'unauthorized', required);
      }
      assert.deepEqual(await whoIs(t), { name: null, roles: [] });
      assertError(await t.request('DELETE', '/_config/admins/ada'), 401, 'unauthorized', required);
      assert.equal((await t.request('PUT', '/_node/_local/_config/admins/ada', { json: 'secret' })).status, 200);
      assertError(await t.request('PUT', '/_config/admins/eve', { json: 'secret' }), 401, 'unauthorized', required);
      const headers = basic('ada', 'secret');
      assertJson(await t.request('PUT', '/_config/chttpd/require_valid_user', { headers, json: 'false' }), 200, 'true');
      assert.equal((await t.request('GET', '/')).status, 200);
    },
    { needs },
  ),

  test(
    'a 401 asks for a password only if the client or the settings ask for that',
    async (given) => {
      const t = await withAdmin(given);
      const plain = await t.request('GET', '/_active_tasks');
      assert.isUndefined(plain.header('www-authenticate'));
      const headers = { 'x-svc-www-authenticate': 'Cookie' };
      const asked = await t.request('GET', '/_active_tasks', { headers });
      assert.equal(asked.header('www-authenticate'), 'Cookie');
      const set = await withAdmin(given, { httpd: { 'WWW-Authenticate': 'Basic realm="mine"' } });
      assert.equal((await set.request('GET', '/_active_tasks')).header('www-authenticate'), 'Basic realm="mine"');
      const required = await withAdmin(given, { svc_httpd_auth: { require_valid_user: 'true' } });
      assert.equal((await required.request('GET', '/')).header('www-authenticate'), 'Basic realm="server"');
    },
    { needs },
  ),

  test(
    'a refused request for HTML is redirected to the login page',
    async (given) => {
      const t = await withAdmin(given);
      const answer = await t.request('GET', '/_active_tasks?a=1', { headers: { accept: 'text/html' } });
      assert.equal(answer.status, 302);
      const path = encodeURIComponent(`${t.basePath}/_active_tasks?a=1`);
      const page = `${t.baseUrl}/_utils/session.html?return=${path}&reason=You+are+not+a+server+admin.`;
      assert.equal(answer.header('location'), page);
      const json = await t.request('GET', '/_active_tasks', { headers: { accept: 'text/html, */*' } });
      assert.equal(json.status, 401);
    },
    { needs: ['settings', 'manual-redirect'] },
  ),

  test(
    "after wrong passwords a client has to wait, and other clients don't",
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }, { name: 'bob' }]);
      const before = { headers: basic('bob', 'bob') };
      assert.equal((await t.request('GET', '/', before)).status, 200);
      for (let tries = 0; tries < 5; tries++) {
        const answer = await t.request('GET', '/', { headers: basic('ana', `guess ${tries}`) });
        assertError(answer, 401, 'unauthorized', WRONG);
      }
      const late = await t.request('GET', '/', { headers: basic('ana', 'ana') });
      assert.equal(late.status, 429);
      assert.equal(at(late.json, 'error'), 'too_many_requests');
      assert.match(late.header('retry-after') ?? '', /^[1-9]\d*$/);
      assert.equal((await t.request('GET', '/', before)).status, 200);
      assert.equal((await t.request('GET', '/', { headers: ROOT })).status, 200);
    },
    { needs: [...needs, 'one-process'] },
  ),

  test(
    'a correct password in many simultaneous requests is checked once',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }]);
      const headers = basic('ana', 'ana');
      const answers = await Promise.all(Array.from({ length: 20 }, () => t.request('GET', '/', { headers })));
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    },
    { needs },
  ),

  test(
    'a hash of the old scheme is replaced when its user logs in',
    async (given) => {
      const t = await withUsers(given, []);
      // printf 'passwordsalt' | sha1sum
      const password_sha = 'c88e9c67041a74e0357befdff93f87dde0904214';
      const json = { type: 'user', name: 'old', roles: [], password_sha, salt: 'salt' };
      assert.equal((await t.request('PUT', userPath('old'), { headers: ROOT, json })).status, 201);
      const headers = basic('old', 'password');
      assert.deepEqual(await whoIs(t, headers), { name: 'old', roles: [] });
      const kept = (await t.request('GET', userPath('old'), { headers: ROOT })).json;
      assert.equal(at(kept, 'password_scheme'), 'pbkdf2');
      assert.isUndefined(at(kept, 'password_sha'));
      assert.match(`${at(kept, '_rev')}`, /^2-/);
      assert.deepEqual(await whoIs(t, headers), { name: 'old', roles: [] });
      assertError(await t.request('GET', '/', { headers: basic('old', 'x') }), 401, 'unauthorized', WRONG);
    },
    { needs },
  ),

  test(
    'accounts of other servers log in, whatever the hash function and the iterations',
    async (given) => {
      const t = await withUsers(given, [], {
        svc_httpd_auth: { iterations: '100', min_iterations: '100', max_iterations: '1000' },
      });
      const salt = '5a7cb9185b067e50824cd1a858656021';
      const accounts: readonly (readonly [name: string, password: string, hash: object])[] = [
        // From the documentation of CouchDB 1.x to 3.3.
        ['jan', 'apple', { iterations: 10, derived_key: JAN_KEY, salt: '1112283cf988a34f124200a050d308a1' }],
        // As CouchDB 3.4 hashes.
        ['mona', 'correct horse', { pbkdf2_prf: 'sha256', iterations: 600_000, derived_key: MONA_KEY, salt }],
        // openssl kdf -keylen 28 -kdfopt digest:SHA224 -kdfopt 'pass:correct horse' -kdfopt salt:… -kdfopt iter:1000 PBKDF2
        ['sue', 'correct horse', { pbkdf2_prf: 'sha224', iterations: 1_000, derived_key: SUE_KEY, salt }],
      ];
      const docs = accounts.map(([name, , hash]) => {
        const id = `org.couchdb.user:${name}`;
        const members = { _id: id, _rev: '1-e0ebfb84005b920488fc7a8cc5470cc0', name, type: 'user', roles: [name] };
        return { ...members, password_scheme: 'pbkdf2', ...hash };
      });
      const json = { new_edits: false, docs };
      assertJson(await t.request('POST', '/_users/_bulk_docs', { headers: ROOT, json }), 201, []);
      for (const [name, password] of accounts) {
        assertError(await t.request('GET', '/', { headers: basic(name, 'wrong') }), 401, 'unauthorized', WRONG);
        const entered = await t.request('POST', '/_session', { json: { name, password } });
        assertJson(entered, 200, { ok: true, name, roles: [name] });
        // Some hosts keep the cookie of the session.
        await t.request('DELETE', '/_session');
      }
      // Only the hash that is too weak was replaced, and the password stays the same.
      const kept = (name: string) => t.request('GET', userPath(name), { headers: ROOT });
      assert.equal(at((await kept('jan')).json, 'iterations'), 100);
      assert.equal(at((await kept('mona')).json, 'derived_key'), MONA_KEY);
      assert.deepEqual(await whoIs(t, basic('jan', 'apple')), { name: 'jan', roles: ['jan'] });
    },
    { needs },
  ),

  test(
    'a hash with more iterations than are checked matches nothing',
    async (given) => {
      const t = await withUsers(given, [], {
        svc_httpd_auth: {
          ...{ iterations: '5', min_iterations: '1', max_iterations: '9', max_verified_iterations: '9' },
        },
      });
      const hash = { password_scheme: 'pbkdf2', derived_key: JAN_KEY, salt: '1112283cf988a34f124200a050d308a1' };
      const json = { type: 'user', name: 'jan', roles: [], ...hash, iterations: 10 };
      assert.equal((await t.request('PUT', userPath('jan'), { headers: ROOT, json })).status, 201);
      // It tells no more than a name that is not there.
      assertError(await t.request('GET', '/', { headers: basic('jan', 'apple') }), 401, 'unauthorized', WRONG);
    },
    { needs },
  ),

  test(
    'users bring no hashes of their own that are weaker or slower than the settings permit',
    async (given) => {
      const t = await withUsers(given, [], {
        svc_httpd_auth: {
          ...{ iterations: '100', min_iterations: '100', max_iterations: '1000' },
          upgrade_hash_on_auth: 'false',
        },
      });
      const hash = { password_scheme: 'pbkdf2', derived_key: JAN_KEY, salt: '1112283cf988a34f124200a050d308a1' };
      const user = { type: 'user', name: 'jan', roles: [], ...hash };
      const low = await t.request('PUT', userPath('jan'), { json: { ...user, iterations: 99 } });
      assertError(low, 403, 'forbidden', 'Iteration count is too low for this server');
      const high = await t.request('PUT', userPath('jan'), { json: { ...user, iterations: 1001 } });
      assertError(high, 403, 'forbidden', 'Iteration count is too high for this server');
      // Each 20 bytes of the key take all iterations.
      const long = { ...user, iterations: 501, derived_key: '00'.repeat(40) };
      const slow = await t.request('PUT', userPath('jan'), { json: long });
      assertError(slow, 403, 'forbidden', 'Iteration count is too high for this server');
      const holding = await t.request('PUT', userPath('jan'), {
        json: { ...user, iterations: 100, pbkdf2_prf: 'sha224' },
      });
      assertError(holding, 403, 'forbidden', 'Only admins may bring hashes with sha224.');
      const docs = [{ ...user, _id: 'org.couchdb.user:jan', _rev: `1-${'f'.repeat(32)}`, iterations: 99 }];
      const replicated = await t.request('POST', '/_users/_bulk_docs', { json: { new_edits: false, docs } });
      assert.equal(at(replicated.json, 0, 'reason'), 'Iteration count is too low for this server');
      // A hash that an admin brought stays with its document.
      const weak = { ...user, iterations: 10 };
      assert.equal((await t.request('PUT', userPath('jan'), { headers: ROOT, json: weak })).status, 201);
      const headers = basic('jan', 'apple');
      const own = await t.request('GET', userPath('jan'), { headers });
      const changed = { ...Object(own.json), city: 'Berlin' };
      assert.equal((await t.request('PUT', userPath('jan'), { headers, json: changed })).status, 201);
    },
    { needs },
  ),

  test(
    'a user document with conflicts logs in no one',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }]);
      const kept = (await t.request('GET', userPath('ana'), { headers: ROOT })).json;
      const branch = { ...Object(kept), _rev: `1-${'f'.repeat(32)}` };
      const json = { new_edits: false, docs: [branch] };
      assertJson(await t.request('POST', '/_users/_bulk_docs', { headers: ROOT, json }), 201, []);
      const reason =
        'User document conflicts must be resolved before the document is used for authentication purposes.';
      assertError(await t.request('GET', '/', { headers: basic('ana', 'ana') }), 401, 'unauthorized', reason);
      assertError(await t.request('GET', '/', { headers: basic('ana', 'x') }), 401, 'unauthorized', WRONG);
    },
    { needs },
  ),
]);
