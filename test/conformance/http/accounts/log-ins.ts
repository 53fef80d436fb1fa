import { assert } from 'chai';
import { basic, cookieOf, logIn, ROOT, whoIs, withUsers } from '../../../support/conformance/accounts.ts';
import { assertError, assertJson } from '../../../support/conformance/answer.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';

const needs = ['settings', 'forbidden-headers'] as const;
const ANA = { name: 'ana', roles: [] };
const form = { 'content-type': 'application/x-www-form-urlencoded' };

/** Addresses that look like this one's, and lead to another server, or outside of the service. */
function foreignAddresses({ protocol, host, hostname, pathname }: URL): readonly string[] {
  const port = host.slice(hostname.length + 1);
  const outside =
    pathname === '/' ? [] : [`${protocol}//${host}/other`, `${protocol}//${host}${pathname}/%2e%2e/other`];
  return [
    `${protocol}//${hostname}.evil.example:${port}/`,
    `${protocol}//${host}@evil.example/`,
    `${protocol}//user:word@${host}${pathname}`,
    `${protocol}//evil.example\\@${host}/`,
    `${protocol}//evil.example/${host}`,
    `${protocol}//${hostname}:${Number(port) + 1}/`,
    `${protocol}//${host}//evil.example/`,
    `${protocol}:/${host}/x`,
    `${protocol}///${host}.evil.example/`,
    `ftp://${host}/x`,
    ...outside,
  ].map(encodeURIComponent);
}

/** How sessions begin, and end on logout (docs/http/accounts.md#sessions). */
export default suite('accounts_log_ins', [
  test(
    'a session begins with name and password, as JSON or as a form, and ends on logout',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana', roles: ['editor'] }]);
      const byJson = await t.request('POST', '/_session', { json: { name: 'ana', password: 'ana' } });
      assertJson(byJson, 200, { ok: true, name: 'ana', roles: ['editor'] });
      const pattern = /^AuthSession=[\w-]+; Version=1; Path=\/; HttpOnly; SameSite=Lax$/;
      assert.match(byJson.header('set-cookie') ?? '', pattern);
      const byForm = await t.request('POST', '/_session', { headers: form, body: 'name=ana&password=ana' });
      assertJson(byForm, 200, { ok: true, name: 'ana', roles: ['editor'] });
      const session = await t.request('GET', '/_session', { headers: { cookie: cookieOf(byForm) } });
      assertJson(session, 200, {
        ok: true,
        userCtx: { name: 'ana', roles: ['editor'] },
        info: {
          authenticated: 'cookie',
          authentication_db: '_users',
          authentication_handlers: ['oauth', 'cookie', 'default'],
        },
      });
      const ended = await t.request('DELETE', '/_session', { headers: { cookie: cookieOf(byForm) } });
      assertJson(ended, 200, { ok: true });
      const over =
        'AuthSession=; Version=1; Path=/; HttpOnly; SameSite=Lax; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0';
      assert.equal(ended.header('set-cookie'), over);
      for (const answer of [byJson, byForm, ended]) {
        assert.equal(answer.header('cache-control'), 'private, must-revalidate');
      }
    },
    { needs },
  ),

  test(
    'a session begins with the member or field `username` as well',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }]);
      const byJson = await t.request('POST', '/_session', { json: { username: 'ana', password: 'ana' } });
      assertJson(byJson, 200, { ok: true, name: 'ana', roles: [] });
      const byForm = await t.request('POST', '/_session', { headers: form, body: 'username=ana&password=ana' });
      assertJson(byForm, 200, { ok: true, name: 'ana', roles: [] });
      const both = { name: 'ana', username: 'bob', password: 'ana' };
      assertJson(await t.request('POST', '/_session', { json: both }), 200, { ok: true, name: 'ana', roles: [] });
    },
    { needs },
  ),

  test(
    "a session of a server admin has the admin's name",
    async (given) => {
      const t = await withUsers(given, []);
      const json = { name: 'root', password: 'secret of root' };
      const answer = await t.request('POST', '/_session', { json });
      assertJson(answer, 200, { ok: true, name: 'root', roles: ['_admin'] });
      assert.deepEqual(await whoIs(t, { cookie: cookieOf(answer) }), { name: 'root', roles: ['_admin'] });
    },
    { needs },
  ),

  test(
    'wrong credentials are refused with an empty cookie',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }]);
      for (const json of [{ name: 'ana', password: 'x' }, { name: 'nobody', password: 'x' }, {}, { name: 1 }]) {
        const answer = await t.request('POST', '/_session', { json });
        assertError(answer, 401, 'unauthorized', 'Name or password is incorrect.');
        assert.match(answer.header('set-cookie') ?? '', /^AuthSession=; /);
      }
    },
    { needs },
  ),

  test(
    'an anonymous client can be asked to log in',
    async (given) => {
      const t = await withUsers(given, []);
      const plain = (await t.request('GET', '/_session')).json;
      assert.isUndefined(at(plain, 'info', 'authenticated'));
      assertError(await t.request('GET', '/_session?basic=true'), 401, 'unauthorized', 'Please login.');
      assert.equal((await t.request('GET', '/_session?basic=true', { headers: ROOT })).status, 200);
    },
    { needs },
  ),

  test(
    'a log-in redirects to a path of this server only',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana', roles: ['editor'] }]);
      const right = { json: { name: 'ana', password: 'ana' } };
      const wrong = { json: { name: 'ana', password: 'x' } };
      const gone = await t.request('POST', '/_session?next=/_utils/?a=b', right);
      assertJson(gone, 302, { ok: true, name: null, roles: ['editor'] });
      const origin = new URL(t.baseUrl).origin;
      assert.equal(gone.header('location'), `${origin}/_utils/?a=b`);
      assert.match(gone.header('set-cookie') ?? '', /^AuthSession=[\w-]+;/);
      const failed = await t.request('POST', '/_session?next=/yes&fail=/no', wrong);
      assert.equal(failed.status, 302);
      assert.equal(failed.header('location'), `${origin}/no`);
      assert.match(failed.header('set-cookie') ?? '', /^AuthSession=;/);
      const out = await t.request('DELETE', '/_session?next=/bye');
      assert.equal(out.status, 302);
      assert.equal(out.header('location'), `${origin}/bye`);
      for (const path of [
        'https://evil.example/',
        '//evil.example',
        '/\\evil.example',
        '\\\\evil.example',
        '/%5Cevil.example',
        '/%09/evil.example',
        '%20//evil.example',
        '/%0D%0ASet-Cookie:%20a=b',
        'javascript:alert(1)',
        '@evil.example',
        '.evil.example',
        '',
        ...foreignAddresses(new URL(t.baseUrl)),
      ]) {
        for (const parameter of ['next', 'fail']) {
          const answer = await t.request('POST', `/_session?${parameter}=${path}`, right);
          assert.equal(answer.status, 400, `${parameter} ${path}`);
          assert.isUndefined(answer.header('set-cookie'));
        }
        assert.equal((await t.request('DELETE', `/_session?next=${path}`)).status, 400, path);
      }
    },
    { needs: ['settings', 'manual-redirect', 'any-url'] },
  ),

  test(
    'a log-in redirects to a full address of this service',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }]);
      const json = { name: 'ana', password: 'ana' };
      const base = t.baseUrl.replace(/\/$/, '');
      const { origin, host } = new URL(base);
      const below = base.slice(origin.length);
      for (const [next, location] of [
        [`${base}/d/x?a=b&c=d#e`, `${base}/d/x?a=b&c=d#e`],
        [`${base}/d/%C3%A4`, `${base}/d/%C3%A4`],
        [`HTTP://${host.toUpperCase()}${below}/d`, `${base}/d`],
        [`${base}/d/../x`, `${base}/x`],
      ] as const) {
        const gone = await t.request('POST', `/_session?next=${encodeURIComponent(next)}`, { json });
        assert.equal(gone.status, 302, next);
        assert.equal(gone.header('location'), location);
        const out = await t.request('DELETE', `/_session?next=${encodeURIComponent(next)}`);
        assert.equal(out.header('location'), location);
      }
    },
    { needs: ['settings', 'manual-redirect', 'any-url'] },
  ),

  test(
    'with a session and a password in one request, the first authentication handler decides',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }, { name: 'bob' }]);
      const session = await logIn(t, 'ana');
      assert.deepEqual(await whoIs(t, { ...session, ...basic('bob', 'bob') }), ANA);
      const wrong = await whoIs(t, { ...session, ...basic('bob', 'x') });
      assert.deepEqual(wrong, ANA);
    },
    { needs },
  ),
]);
