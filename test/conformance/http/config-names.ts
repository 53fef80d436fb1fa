import { assert } from 'chai';
import { ROOT, withAdmin } from '../../support/conformance/accounts.ts';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const APPS = 'An app keeps its own settings in the section app or app:NAME.';

/** Settings under the names that other servers of the family have for them, and settings that mean nothing here (docs/http/server.md#names-of-settings). */
export default suite('config_names', [
  test('a setting can be read, changed and deleted under each of its names', async (t) => {
    const pairs = [
      ['svc/max_dbs_open', 'couchdb/max_dbs_open', '100'],
      ['svc/max_attachment_chunk_size', 'couchdb/max_attachment_size', '4294967296'],
      ['svc_httpd_auth/timeout', 'couch_httpd_auth/timeout', '600'],
      ['svc_httpd_auth/timeout', 'chttpd_auth/timeout', '600'],
      ['httpd/changes_timeout', 'chttpd/changes_timeout', '60000'],
      ['svc_httpd_oauth/use_users_db', 'couch_httpd_oauth/use_users_db', 'false'],
    ] as const;
    for (const [own, other, value] of pairs) {
      const changed = value === 'false' ? 'true' : '777';
      assertJson(await t.request('GET', `/_config/${other}`), 200, value);
      assertJson(await t.request('PUT', `/_config/${other}`, { json: changed }), 200, value);
      for (const name of [own, other]) assertJson(await t.request('GET', `/_config/${name}`), 200, changed);
      assertJson(await t.request('DELETE', `/_config/${own}`), 200, changed);
      assertJson(await t.request('GET', `/_config/${other}`), 200, value);
      assertJson(await t.request('PUT', `/_config/${own}`, { json: changed }), 200, value);
      assertJson(await t.request('DELETE', `/_node/_local/_config/${other}`), 200, changed);
      assertJson(await t.request('GET', `/_config/${own}`), 200, value);
    }
  }),

  test('a CouchDB section shows its settings, and the list of all settings has each once', async (t) => {
    const { json } = await t.request('GET', '/_config/chttpd');
    assert.equal(at(json, 'require_valid_user'), 'false');
    assert.equal(at(json, 'enable_cors'), 'false');
    const all = Object((await t.request('GET', '/_config')).json);
    for (const section of ['chttpd', 'chttpd_auth', 'couchdb', 'couch_httpd_auth']) assert.notProperty(all, section);
    assert.notProperty(all.httpd, 'require_valid_user');
  }),

  test('the settings of a node have the sections of the present versions of CouchDB, too', async (t) => {
    for (const name of ['_local', 'nonode@nohost']) {
      const all = Object((await t.request('GET', `/_node/${name}/_config`)).json);
      assert.equal(at(all, 'chttpd', 'require_valid_user'), 'false');
      assert.equal(at(all, 'chttpd', 'max_http_request_size'), '4294967296');
      assert.equal(at(all, 'chttpd_auth', 'timeout'), '600');
      assert.equal(at(all, 'couchdb', 'max_document_size'), '67108864');
      assert.equal(at(all, 'httpd', 'enable_cors'), 'false');
      assert.equal(at(all, 'svc', 'max_document_size'), '67108864');
      assert.notProperty(all, 'couch_httpd_auth');
    }
  }),

  test(
    'chttpd/require_valid_user keeps anonymous clients out',
    async (given) => {
      const t = await withAdmin(given);
      const put = (path: string, json: string) => t.request('PUT', path, { headers: ROOT, json });
      assert.equal((await t.request('GET', '/_all_dbs', { headers: {} })).status, 200);
      for (const key of ['require_valid_user', 'require_valid_user_except_for_up']) {
        assertJson(await put(`/_node/_local/_config/chttpd/${key}`, 'true'), 200, 'false');
        assertError(await t.request('GET', '/_all_dbs'), 401, 'unauthorized', 'Authentication required.');
        assertError(await t.request('PUT', '/refused'), 401, 'unauthorized', 'Authentication required.');
        assert.equal((await t.request('GET', '/_up')).status, 200);
        assertJson(await put(`/_config/svc_httpd_auth/${key}`, 'false'), 200, 'true');
        assert.equal((await t.request('GET', '/_all_dbs')).status, 200);
      }
    },
    { needs: ['settings'] },
  ),

  test('an unknown setting is refused with the nearest name', async (t) => {
    const unknown = [
      ['httpd/enable_cros', ' The nearest is httpd/enable_cors.'],
      ['chttpd/require_valid_usr', ' The nearest is chttpd/require_valid_user.'],
      ['auth/require_valid_user', ' The nearest is svc_httpd_auth/require_valid_user.'],
      ['cors:example.com/origns', ' The nearest is cors:example.com/origins.'],
      ['shoes/colour_of_the_laces', ''],
      ['__proto__/toString', ''],
    ] as const;
    for (const [name, nearest] of unknown) {
      const answer = await t.request('PUT', `/_config/${name}`, { json: 'true' });
      assertError(answer, 400, 'bad_request', `There is no setting ${name}.${nearest} ${APPS}`);
      assertError(await t.request('GET', `/_config/${name}`), 404, 'not_found', 'unknown_config_value');
      assertError(await t.request('DELETE', `/_config/${name}`), 404, 'not_found', 'unknown_config_value');
    }
  }),

  test('a CouchDB setting without effect in this service is refused with the reason', async (t) => {
    const refused = [
      ['couchdb/file_compression', 'its files have their own format'],
      ['svc/file_compression', 'its files have their own format'],
      ['chttpd/admin_only_all_dbs', 'set svc_httpd_auth/require_valid_user'],
      ['couch_peruser/q', 'databases have no shards'],
      ['smoosh.ratio_dbs/min_priority', 'compaction and caches need no settings'],
      ['httpd_global_handlers/_x', 'the service starts no other programs'],
    ] as const;
    for (const [name, why] of refused) {
      const answer = await t.request('PUT', `/_config/${name}`, { json: 'true' });
      assert.equal(answer.status, 400, name);
      assert.equal(at(answer.json, 'error'), 'bad_request');
      assert.match(`${at(answer.json, 'reason')}`, new RegExp(`^Setting ${name} has no effect here: .*${why}`));
    }
  }),

  test('sections with free keys accept any key', async (t) => {
    const names = [
      'app/any',
      'app:shop/colour',
      'oauth_token_users/t',
      'jwt_keys/hmac:_default',
      'cors:example.com/methods',
    ];
    for (const name of names) {
      assertJson(await t.request('PUT', `/_config/${name}`, { json: 'R0VU' }), 200, '');
      assertJson(await t.request('DELETE', `/_config/${name}`), 200, 'R0VU');
    }
  }),

  test('the whitelist accepts each name of a setting, in both forms', async (t) => {
    const temporary = { 'x-svc-persist': 'false' };
    const lists = ['couchdb/max_dbs_open, httpd/config_whitelist', '[{httpd,config_whitelist}, {svc, "max_dbs_open"}]'];
    for (const json of lists) {
      assert.equal(
        (await t.request('PUT', '/_config/httpd/config_whitelist', { json, headers: temporary })).status,
        200,
      );
      try {
        for (const section of ['svc', 'couchdb']) {
          assert.equal((await t.request('PUT', `/_config/${section}/max_dbs_open`, { json: '7' })).status, 200);
          assert.equal((await t.request('DELETE', `/_config/${section}/max_dbs_open`)).status, 200);
        }
        const other = await t.request('PUT', '/_config/chttpd/require_valid_user', { json: 'false' });
        assertError(other, 400, 'modification_not_allowed', 'This config variable is read-only');
      } finally {
        await t.request('DELETE', '/_config/chttpd/config_whitelist', { headers: temporary });
      }
    }
  }),
]);
