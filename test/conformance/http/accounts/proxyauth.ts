import { assert } from 'chai';
import { type Headers, ROOT, userPath, whoIs, withAdmin, withUsers } from '../../../support/conformance/accounts.ts';
import { assertError } from '../../../support/conformance/answer.ts';
import type { Settings } from '../../../support/conformance/host.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';

const needs = ['settings'] as const;
const NOBODY = { name: null, roles: [] };
const ANA = { name: 'ana', roles: ['a', 'b'] };
const USER: Headers = { 'x-auth-svc-username': 'ana', 'x-auth-svc-roles': 'a, b' };
/** printf 'ana' | openssl dgst -sha1 -hmac shared */
const TOKEN = 'b117dfadb673ddb0afe07e6ac1089061e42d5e2c';

function proxied(ofAccounts: Readonly<Record<string, string>>, httpd: Readonly<Record<string, string>> = {}): Settings {
  return { httpd: { authentication_handlers: 'cookie, proxy, default', ...httpd }, svc_httpd_auth: ofAccounts };
}

/** Proxies that say who their users are (docs/http/accounts.md#proxies-that-authenticate). */
export default suite('accounts_proxyauth', [
  test(
    'proxy headers are ignored by default',
    async (given) => {
      assert.deepEqual(await whoIs(await withAdmin(given), USER), NOBODY);
      assert.deepEqual(await whoIs(await withAdmin(given, proxied({})), USER), NOBODY);
      const named = { 'x-auth-svc-username': 'root', 'x-auth-svc-roles': '_admin' };
      assert.deepEqual(await whoIs(await withAdmin(given, proxied({ secret: 'shared' })), named), NOBODY);
    },
    { needs },
  ),

  test(
    'proxy headers are accepted from the configured address of a proxy',
    async (given) => {
      // The requests come from the same machine.
      const trusting = await withAdmin(given, proxied({}, { trusted_proxies: '10.1.1.1, 127.0.0.1' }));
      assert.deepEqual(await whoIs(trusting, USER), ANA);
      const forwarded = { ...USER, 'x-forwarded-for': '203.0.113.1' };
      assert.deepEqual(await whoIs(trusting, forwarded), ANA);
      const other = await withAdmin(given, proxied({}, { trusted_proxies: '10.1.1.1' }));
      assert.deepEqual(await whoIs(other, USER), NOBODY);
      assert.deepEqual(await whoIs(other, { ...USER, 'x-forwarded-for': '10.1.1.1' }), NOBODY);
      // Where the token is asked for, the address alone is not enough.
      const both = { proxy_use_secret: 'true', secret: 'shared' };
      const asking = await withAdmin(given, proxied(both, { trusted_proxies: '127.0.0.1' }));
      assert.deepEqual(await whoIs(asking, USER), NOBODY);
      assert.deepEqual(await whoIs(asking, { ...USER, 'x-auth-svc-token': TOKEN }), ANA);
    },
    { needs: ['settings', 'raw-socket'] },
  ),

  test(
    'proxy headers are accepted with a token made from the secret',
    async (given) => {
      const t = await withAdmin(given, proxied({ proxy_use_secret: 'true', secret: 'shared' }));
      assert.deepEqual(await whoIs(t, { ...USER, 'x-auth-svc-token': TOKEN }), ANA);
      // A proxy that sends one kind may let the other one of its clients pass.
      assert.deepEqual(await whoIs(t, { ...USER, 'x-auth-couchdb-token': TOKEN }), NOBODY);
      const original = {
        'x-auth-couchdb-username': 'ana',
        'x-auth-couchdb-roles': 'a,b',
        'x-auth-couchdb-token': TOKEN,
      };
      assert.deepEqual(await whoIs(t, original), ANA);
      assert.deepEqual(await whoIs(t, { ...original, 'x-auth-svc-roles': '_admin' }), NOBODY);
      assert.deepEqual(
        await whoIs(t, { ...original, 'x-auth-svc-username': 'ana', 'x-auth-svc-token': TOKEN }),
        NOBODY,
      );
      assert.deepEqual(
        await whoIs(t, { ...original, ...USER, 'x-auth-svc-roles': 'a,b', 'x-auth-svc-token': TOKEN }),
        ANA,
      );
      const session = await t.request('GET', '/_session', { headers: original });
      assert.equal(at(session.json, 'info', 'authenticated'), 'proxy');
      for (const token of ['', 'x', TOKEN.slice(1), `${TOKEN}0`, TOKEN.replace(/.$/, '0')]) {
        assert.deepEqual(await whoIs(t, { ...USER, 'x-auth-svc-token': token }), NOBODY, token);
      }
      assert.deepEqual(await whoIs(t, USER), NOBODY);
      assert.deepEqual(await whoIs(t, { ...USER, 'x-auth-svc-username': 'bob', 'x-auth-svc-token': TOKEN }), NOBODY);
    },
    { needs },
  ),

  test(
    'an empty secret accepts no token',
    async (given) => {
      const t = await withAdmin(given, proxied({ proxy_use_secret: 'true' }));
      // printf 'ana' | openssl dgst -sha1 -hmac ''
      const token = 'e2060af7169c1620348d9df0b7431510e7fb8349';
      assert.deepEqual(await whoIs(t, { ...USER, 'x-auth-svc-token': token }), NOBODY);
      assert.deepEqual(await whoIs(t, { ...USER, 'x-auth-svc-token': '' }), NOBODY);
    },
    { needs },
  ),

  test(
    "a session's HMAC doesn't work as a proxy token, and a user without a salt has no session",
    async (given) => {
      const t = await withUsers(given, [], proxied({ proxy_use_secret: 'true', secret: 'shared' }));
      // PBKDF2 with SHA-1 of `mal`, ten iterations. To HMAC a salt of zeros is none.
      const keys = {
        '': '65e098b7d05d2fa829035b31f3bcc80169575793',
        '\0': '3a258f0172ea564a575c18aa80a5a9a846e63a20',
      };
      for (const [salt, derived_key] of Object.entries(keys)) {
        const hash = { password_scheme: 'pbkdf2', iterations: 10, derived_key, salt };
        const json = { type: 'user', name: 'mal', roles: [], ...hash };
        assertError(await t.request('PUT', userPath('mal'), { json }), 403, 'forbidden', 'salt must not be empty.');
        // As if an earlier version had written it, where nothing looks at documents of users.
        await t.request('PUT', '/_config/svc_httpd_auth/authentication_db', { headers: ROOT, json: 'elsewhere' });
        assert.equal((await t.request('PUT', userPath('mal'), { headers: ROOT, json })).status, 201);
        await t.request('DELETE', '/_config/svc_httpd_auth/authentication_db', { headers: ROOT });
        const answer = await t.request('POST', '/_session', { json: { name: 'mal', password: 'mal' } });
        assert.equal(answer.status, 401, answer.text);
        const { json: written } = await t.request('GET', userPath('mal'), { headers: ROOT });
        await t.request('DELETE', `${userPath('mal')}?rev=${at(written, '_rev')}`, { headers: ROOT });
      }
    },
    { needs },
  ),

  test(
    "headers can have configured names, and of the service's roles only _admin is accepted",
    async (given) => {
      const names = { x_auth_username: 'X-User', x_auth_roles: 'X-Roles', x_auth_token: 'X-Token' };
      const t = await withAdmin(given, proxied({ proxy_use_secret: 'true', secret: 'shared', ...names }));
      const headers = { 'x-user': 'ana', 'x-roles': '_admin,_replicator,_x,a', 'x-token': TOKEN };
      assert.deepEqual(await whoIs(t, headers), { name: 'ana', roles: ['_admin', 'a'] });
      assert.deepEqual(await whoIs(t, { ...USER, 'x-auth-svc-token': TOKEN }), NOBODY);
    },
    { needs },
  ),
]);
