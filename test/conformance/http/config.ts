import { assert } from 'chai';
import { type Answer, assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

async function assertValue(t: Toolkit, path: string, value: string): Promise<void> {
  assertJson(await t.request('GET', `/_config/${path}`), 200, value);
}

function put(
  t: Toolkit,
  path: string,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return t.request('PUT', `/_config/${path}`, { json: value, headers });
}

const UNKNOWN = [404, 'not_found', 'unknown_config_value'] as const;

/** What a running service is told to do otherwise (docs/http/server.md#configuration). */
export default suite('config', [
  test('all settings are listed with their defaults, as strings', async (t) => {
    const { status, json } = await t.request('GET', '/_config');
    assert.equal(status, 200);
    assert.equal(at(json, 'uuids', 'max_count'), '1000');
    assert.equal(at(json, 'svc_httpd_auth', 'timeout'), '600');
    assert.equal(at(json, 'attachments', 'compression_level'), '8');
    assert.equal(at(json, 'httpd', 'max_connections'), '2048');
    for (const keys of Object.values(Object(json))) {
      for (const value of Object.values(Object(keys))) assert.isString(value);
    }
  }),

  test('one section and one key can be read', async (t) => {
    const { json } = await t.request('GET', '/_config/uuids');
    assert.deepEqual(json, { algorithm: 'sequential', max_count: '1000', utc_id_suffix: '' });
    const answer = await t.request('GET', '/_config/uuids/max_count');
    assert.equal(answer.text, '"1000"\n');
    assert.equal(answer.header('content-type'), 'application/json');
    assert.equal(answer.header('cache-control'), 'must-revalidate');
  }),

  test('a missing section is empty, and a missing key is answered 404', async (t) => {
    assertJson(await t.request('GET', '/_config/absent'), 200, {});
    assertError(await t.request('GET', '/_config/uuids/absent'), ...UNKNOWN);
    assertError(await t.request('GET', '/_config/absent/absent'), ...UNKNOWN);
    assertError(await t.request('DELETE', '/_config/uuids/absent'), ...UNKNOWN);
  }),

  test('a change returns the old value and takes effect at once, and a deletion restores the default', async (t) => {
    try {
      assertJson(await put(t, 'uuids/max_count', '2'), 200, '1000');
      assertJson(await put(t, 'uuids/max_count', '3'), 200, '2');
      await assertValue(t, 'uuids/max_count', '3');
      assertError(await t.request('GET', '/_uuids?count=4'), 403, 'forbidden', 'count parameter too large');
    } finally {
      assertJson(await t.request('DELETE', '/_config/uuids/max_count'), 200, '3');
    }
    await assertValue(t, 'uuids/max_count', '1000');
    assert.equal((await t.request('GET', '/_uuids?count=4')).status, 200);
  }),

  test('own sections and keys can have any characters', async (t) => {
    for (const path of ['app/key', 'app:te%2Fst/a%20%3D%20%5Bb%5D', 'app:%C3%A9/%F0%9F%98%80']) {
      assertJson(await put(t, path, ''), 200, '');
      assertJson(await put(t, path, 'a "quoted" ; [value] = é'), 200, '');
      await assertValue(t, path, 'a "quoted" ; [value] = é');
      assertJson(await t.request('DELETE', `/_config/${path}`), 200, 'a "quoted" ; [value] = é');
      assertError(await t.request('GET', `/_config/${path}`), ...UNKNOWN);
    }
  }),

  test('a value that is not a string, or not JSON, changes nothing', async (t) => {
    for (const value of [7, true, null, ['1'], { a: '1' }]) {
      const answer = await put(t, 'uuids/max_count', value);
      assert.equal(answer.status, 400);
      assert.equal(at(answer.json, 'error'), 'bad_request');
    }
    assertError(await t.request('PUT', '/_config/uuids/max_count', { body: '7x' }), 400, 'bad_request', 'invalid_json');
    await assertValue(t, 'uuids/max_count', '1000');
  }),

  test('an invalid value of a setting is refused with the reason', async (t) => {
    const reason = 'Setting uuids/max_count is "many"; it must be a whole number from 0 to 1000000.';
    assertError(await put(t, 'uuids/max_count', 'many'), 400, 'bad_request', reason);
    await assertValue(t, 'uuids/max_count', '1000');
  }),

  test('an empty or invalid list of authentication handlers is refused', async (t) => {
    for (const value of ['', 'cookie,', '{chttpd_auth, null_authentication_handler}']) {
      const reason = `Setting httpd/authentication_handlers is "${value}"; it must be a list of oauth, cookie, proxy, default, jwt.`;
      assertError(await put(t, 'httpd/authentication_handlers', value), 400, 'bad_request', reason);
    }
    await assertValue(t, 'httpd/authentication_handlers', 'oauth, cookie, default');
    assertJson(await put(t, 'httpd/authentication_handlers', 'jwt,default'), 200, 'oauth, cookie, default');
    assertJson(await put(t, 'httpd/authentication_handlers', 'oauth, cookie, default'), 200, 'jwt,default');
  }),

  test("a value with a line break is refused, so that the configuration file can't be forged", async (t) => {
    for (const value of ['a\n[admins]\neve = secret', 'a\rb', '\u0000']) {
      const answer = await put(t, 'app/key', value);
      assert.equal(answer.status, 400);
      assert.equal(at(answer.json, 'error'), 'bad_request');
    }
    assertError(await t.request('GET', '/_config/app/key'), ...UNKNOWN);
    assertJson(await t.request('GET', '/_config/admins'), 200, {});
  }),

  test(
    'a change survives a restart, unless it was made with X-Svc-Persist: false',
    async (t) => {
      assertJson(await put(t, 'app/kept', '1'), 200, '');
      assertJson(await put(t, 'app/neutral', '1', { 'x-svc-persist': 'false' }), 200, '');
      assertJson(await put(t, 'app/original', '1', { 'x-couch-persist': 'false' }), 200, '');
      await assertValue(t, 'app/neutral', '1');
      await t.restart();
      assertJson(await t.request('GET', '/_config/app'), 200, { kept: '1' });
      const headers = { 'x-svc-persist': 'false' };
      assertJson(await t.request('DELETE', '/_config/app/kept', { headers }), 200, '1');
      assertError(await t.request('GET', '/_config/app/kept'), ...UNKNOWN);
      await t.restart();
      assertJson(await t.request('DELETE', '/_config/app/kept'), 200, '1');
      await t.restart();
      assertJson(await t.request('GET', '/_config/app'), 200, {});
    },
    { needs: ['restart'] },
  ),

  test('the whitelist limits which settings can be changed', async (t) => {
    const refused = [400, 'modification_not_allowed', 'This config variable is read-only'] as const;
    const temporary = { 'x-svc-persist': 'false' };
    assertJson(await put(t, 'httpd/config_whitelist', 'app/free, httpd/config_whitelist', temporary), 200, '');
    try {
      assertJson(await put(t, 'app/free', '1'), 200, '');
      assertError(await put(t, 'app/other', '1'), ...refused);
      assertError(await put(t, 'uuids/max_count', '1'), ...refused);
      assertError(await t.request('DELETE', '/_config/uuids/max_count'), ...refused);
      await assertValue(t, 'uuids/max_count', '1000');
      assertJson(await t.request('DELETE', '/_config/app/free'), 200, '1');
    } finally {
      await t.request('DELETE', '/_config/httpd/config_whitelist', { headers: temporary });
    }
    assertJson(await put(t, 'app/other', '1'), 200, '');
    assertJson(await t.request('DELETE', '/_config/app/other'), 200, '1');
  }),

  test(
    'a setting given at the start can be changed only until the next start',
    async (t) => {
      const other = await t.withSettings({ uuids: { max_count: '5' } });
      const answer = await put(other, 'uuids/max_count', '6');
      assert.equal(answer.status, 400);
      assert.equal(at(answer.json, 'error'), 'modification_not_allowed');
      assert.match(stringAt(answer.json, 'reason'), /uuids\/max_count.*X-Svc-Persist: false/);
      assertJson(await put(other, 'uuids/max_count', '6', { 'x-svc-persist': 'false' }), 200, '5');
      await assertValue(other, 'uuids/max_count', '6');
    },
    { needs: ['settings'] },
  ),

  test('other methods, and changes of whole sections, are refused', async (t) => {
    assertAllowed(await t.request('POST', '/_config/uuids/max_count', { json: '1' }), 'GET,PUT,DELETE');
    for (const path of ['/_config', '/_config/uuids']) {
      assertAllowed(await t.request('PUT', path, { json: {} }), 'GET,PUT,DELETE');
      assertAllowed(await t.request('DELETE', path), 'GET,PUT,DELETE');
    }
    assertError(await t.request('GET', '/_config/a/b/c'), 404, 'not_found', 'missing');
  }),

  test('an invalid value of raw is refused', async (t) => {
    const answer = await t.request('PUT', '/_config/app/key?raw=maybe', { json: 'x' });
    assert.equal(answer.status, 400);
    assert.equal(at(answer.json, 'error'), "Bad value for 'raw' option: maybe");
    assertError(await t.request('GET', '/_config/app/key'), ...UNKNOWN);
  }),

  test('settings are available under /_node/…/_config as in later CouchDB versions', async (t) => {
    for (const node of ['_local', 'nonode@nohost', 'nonode%40nohost']) {
      const path = `/_node/${node}/_config`;
      assert.equal(at((await t.request('GET', path)).json, 'uuids', 'max_count'), '1000');
      assertJson(await t.request('PUT', `${path}/app/key`, { json: '1' }), 200, '');
      await assertValue(t, 'app/key', '1');
      assertJson(await t.request('DELETE', `${path}/app/key`), 200, '1');
      assertError(await t.request('GET', `${path}/app/key`), ...UNKNOWN);
    }
    assertError(await t.request('GET', '/_node/other@host/_config'), 404, 'not_found', 'no such node: other@host');
  }),
]);
