import { assert } from 'chai';
import { basic, cookieOf, logIn, ROOT, whoIs, withUsers } from '../../../support/conformance/accounts.ts';
import { assertError, assertJson } from '../../../support/conformance/answer.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';

const needs = ['settings', 'forbidden-headers'] as const;
const NOBODY = { name: null, roles: [] };
const ANA = { name: 'ana', roles: [] };
const form = { 'content-type': 'application/x-www-form-urlencoded' };

/** The bytes of a cookie's value. */
function bytesOf(cookie: string): Uint8Array {
  const value = cookie.slice(cookie.indexOf('=') + 1);
  return Uint8Array.from(atob(value.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));
}

function cookieWith(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return `AuthSession=${text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

async function hmacSha1(key: string, message: string): Promise<Uint8Array> {
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-1' };
  const imported = await crypto.subtle.importKey('raw', encoder.encode(key), algorithm, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, encoder.encode(message)));
}

function forged(text: string, signature: Uint8Array): string {
  return cookieWith(new Uint8Array([...new TextEncoder().encode(`${text}:`), ...signature]));
}

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

interface Options {
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
  readonly body?: string;
}
type Row = readonly [status: number, method: string, path: string, options?: Options];

/** Sessions (docs/http/accounts.md#sessions). */
export default suite('accounts_cookie_auth', [
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
    'every answer renews the session, whatever its status',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }], { svc_httpd_auth: { timeout: '100' } });
      const { rev } = Object((await t.request('PUT', `/${t.db}/doc`, { headers: ROOT, json: {} })).json);
      const { cookie = '' } = await logIn(t, 'ana');
      t.host.moveClock?.(20_000);
      const tag = { 'if-none-match': `"${rev}"` };
      for (const [status, method, path, options] of [
        [200, 'GET', `/${t.db}/doc`],
        [200, 'GET', `/${t.db}/_all_docs`],
        [200, 'GET', `/${t.db}/_changes?feed=longpoll`],
        [200, 'GET', `/${t.db}/_changes?feed=continuous&timeout=1`],
        [200, 'HEAD', `/${t.db}/doc`],
        [304, 'GET', `/${t.db}/doc`, { headers: tag }],
        [400, 'GET', `/${t.db}/_all_docs?limit=x`],
        [400, 'PUT', `/${t.db}/doc`, { body: '{' }],
        [401, 'PUT', '/new-database'],
        [403, 'GET', '/_users/_all_docs'],
        [404, 'GET', `/${t.db}/nothing`],
        [404, 'HEAD', `/${t.db}/nothing`],
        [404, 'GET', '/no-database/x'],
        [405, 'DELETE', `/${t.db}/_all_docs`],
        [409, 'PUT', `/${t.db}/doc`, { json: {} }],
        [412, 'PUT', `/${t.db}/stub`, { json: { _attachments: { f: { stub: true } } } }],
        [415, 'POST', `/${t.db}/_bulk_docs`, { headers: { 'content-type': 'text/plain' }, body: '{}' }],
        [501, 'GET', '/_oauth/request_token'],
      ] as const satisfies readonly Row[]) {
        const { headers = {}, ...others }: Options = options ?? {};
        const answer = await t.request(method, path, { ...others, headers: { ...headers, cookie } });
        assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
        const set = answer.header('set-cookie') ?? '';
        assert.match(set, /^AuthSession=[\w-]+; Version=1; Path=\/; HttpOnly; SameSite=Lax$/, `${method} ${path}`);
        assert.match(answer.header('cache-control') ?? '', /^private\b/, `${method} ${path}`);
        assert.deepEqual(await whoIs(t, { cookie: cookieOf(answer) }), ANA);
      }
    },
    { needs: ['settings', 'forbidden-headers', 'clock', 'any-url'] },
  ),

  test(
    'a session is renewed even if a function sets a cookie of its own',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }], { svc_httpd_auth: { timeout: '100' } });
      const shows = {
        c: `function () { return { headers: { 'Set-Cookie': 'a=b', 'Cache-Control': 'public, max-age=5' }, body: 'x' }; }`,
      };
      await t.request('PUT', `/${t.db}/_design/s`, { headers: ROOT, json: { shows } });
      const session = await logIn(t, 'ana');
      t.host.moveClock?.(20_000);
      const answer = await t.request('GET', `/${t.db}/_design/s/_show/c`, { headers: session });
      assert.equal(answer.status, 200, answer.text);
      assert.match(
        answer.header('set-cookie') ?? '',
        /^a=b(?:, |\n)AuthSession=[\w-]+; Version=1; Path=\/; HttpOnly; SameSite=Lax$/,
      );
      assert.equal(answer.header('cache-control'), 'private, max-age=5');
    },
    { needs: ['settings', 'forbidden-headers', 'clock'] },
  ),

  test(
    'a session lasts for its timeout since the last request, is renewed meanwhile, and then expires',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }], { svc_httpd_auth: { timeout: '100' } });
      const first = await logIn(t, 'ana');
      const early = await t.request('GET', '/', { headers: first });
      assert.isUndefined(early.header('set-cookie'));
      t.host.moveClock?.(20_000);
      const later = await t.request('GET', '/', { headers: first });
      assert.match(
        later.header('set-cookie') ?? '',
        /^AuthSession=[\w-]+; Version=1; Path=\/; HttpOnly; SameSite=Lax$/,
      );
      const second = { cookie: cookieOf(later) };
      t.host.moveClock?.(90_000);
      assert.deepEqual(await whoIs(t, first), NOBODY);
      assert.deepEqual(await whoIs(t, second), ANA);
      t.host.moveClock?.(20_000);
      assert.deepEqual(await whoIs(t, second), NOBODY);
    },
    { needs: ['settings', 'forbidden-headers', 'clock'] },
  ),

  test(
    'a session stays valid for a correct time when the clock is set back',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }], { svc_httpd_auth: { timeout: '100' } });
      const headers = await logIn(t, 'ana');
      t.host.moveClock?.(-50_000);
      assert.deepEqual(await whoIs(t, headers), ANA);
      t.host.moveClock?.(-100_000);
      assert.deepEqual(await whoIs(t, headers), NOBODY);
    },
    { needs: ['settings', 'forbidden-headers', 'clock'] },
  ),

  test(
    'a session outlives the browser if the settings permit that',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }], { svc_httpd_auth: { allow_persistent_cookies: 'true' } });
      const answer = await t.request('POST', '/_session', { json: { name: 'ana', password: 'ana' } });
      assert.match(answer.header('set-cookie') ?? '', /; Expires=\w{3}, [\w :]+ GMT; Max-Age=600$/);
    },
    { needs },
  ),

  test(
    'a session that was ended is refused with all its cookies, and other sessions stay valid',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }, { name: 'bob' }]);
      const [first, second, ofBob] = [await logIn(t, 'ana'), await logIn(t, 'ana'), await logIn(t, 'bob')];
      assert.notDeepEqual(first, second);
      assertJson(await t.request('DELETE', '/_session', { headers: first }), 200, { ok: true });
      assert.deepEqual(await whoIs(t, first), NOBODY);
      assertError(
        await t.request('PUT', '/other', { headers: first }),
        401,
        'unauthorized',
        'You are not a server admin.',
      );
      assert.deepEqual(await whoIs(t, second), ANA);
      assert.deepEqual(await whoIs(t, ofBob), { name: 'bob', roles: [] });
      assertJson(await t.request('DELETE', '/_session', { headers: first }), 200, { ok: true });
      assert.deepEqual(await whoIs(t, await logIn(t, 'ana')), ANA);
    },
    { needs },
  ),

  test(
    'a session that was ended stays ended after a restart',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }]);
      const [first, second] = [await logIn(t, 'ana'), await logIn(t, 'ana')];
      await t.request('DELETE', '/_session', { headers: first });
      await t.restart();
      assert.deepEqual(await whoIs(t, first), NOBODY);
      assert.deepEqual(await whoIs(t, second), ANA);
    },
    { needs: ['settings', 'forbidden-headers', 'restart'] },
  ),

  test(
    'a session ends with all cookies that renewed it, and with its first cookie',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }], { svc_httpd_auth: { timeout: '100' } });
      for (const ending of [0, 1, 2]) {
        const other = await logIn(t, 'ana');
        const cookies = [await logIn(t, 'ana')];
        for (const headers of cookies) {
          t.host.moveClock?.(20_000);
          const renewed = { cookie: cookieOf(await t.request('GET', '/', { headers })) };
          if (cookies.length < 3) cookies.push(renewed);
        }
        for (const headers of [...cookies, other]) assert.deepEqual(await whoIs(t, headers), ANA);
        await t.request('DELETE', '/_session', { headers: cookies[ending] ?? {} });
        for (const headers of cookies) {
          const answer = await t.request('GET', '/_session', { headers });
          assert.deepEqual(Object(answer.json).userCtx, NOBODY);
          assert.isUndefined(answer.header('set-cookie'));
        }
        assert.deepEqual(await whoIs(t, other), ANA);
      }
    },
    { needs: ['settings', 'forbidden-headers', 'clock'] },
  ),

  test(
    "a session that was ended doesn't come back when the timeout becomes longer",
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }, { name: 'bob' }], { svc_httpd_auth: { timeout: '100' } });
      const ended = await logIn(t, 'ana');
      await t.request('DELETE', '/_session', { headers: ended });
      for (const name of ['bob', 'ana', 'bob']) {
        t.host.moveClock?.(300_000);
        await t.request('DELETE', '/_session', { headers: await logIn(t, name) });
      }
      await t.request('PUT', '/_config/svc_httpd_auth/timeout', { headers: ROOT, json: '10000' });
      assert.deepEqual(await whoIs(t, ended), NOBODY);
      assert.deepEqual(await whoIs(t, await logIn(t, 'ana')), ANA);
    },
    { needs: ['settings', 'forbidden-headers', 'clock'] },
  ),

  test(
    'a session of a CouchDB-compatible server is accepted, renewed and ended',
    async (given) => {
      const admins = { ada: '-hashed-0000000000000000000000000000000000000000,abc' };
      const t = await withUsers(given, [], { admins, svc_httpd_auth: { secret: 'shared', timeout: '100' } });
      const ada = { name: 'ada', roles: ['_admin'] };
      const made = 1_800_000_000_000;
      t.host.moveClock?.(made - Date.now());
      const cookies: string[] = [];
      for (const second of [made / 1000, made / 1000 + 1]) {
        const text = `ada:${second.toString(16).toUpperCase()}`;
        cookies.push(forged(text, await hmacSha1('sharedabc', text)));
      }
      t.host.moveClock?.(20_000);
      const [cookie = '', other = ''] = cookies;
      const renewed = cookieOf(await t.request('GET', '/', { headers: { cookie } }));
      assert.deepEqual(await whoIs(t, { cookie: renewed }), ada);
      await t.request('DELETE', '/_session', { headers: { cookie: renewed } });
      assert.deepEqual(await whoIs(t, { cookie: renewed }), NOBODY);
      assert.deepEqual(await whoIs(t, { cookie }), NOBODY);
      assert.deepEqual(await whoIs(t, { cookie: other }), ada);
    },
    { needs: ['settings', 'forbidden-headers', 'clock'] },
  ),

  test(
    'a session survives a restart even if no secret was set',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }]);
      const headers = await logIn(t, 'ana');
      await t.restart();
      assert.deepEqual(await whoIs(t, headers), ANA);
    },
    { needs: ['settings', 'forbidden-headers', 'restart'] },
  ),

  test(
    'a session is signed with secret and salt as CouchDB-compatible servers do',
    async (given) => {
      const admins = { ada: '-hashed-0000000000000000000000000000000000000000,abc' };
      const t = await withUsers(given, [], { admins, svc_httpd_auth: { secret: 'shared' } });
      const now = Math.floor(Date.now() / 1000)
        .toString(16)
        .toUpperCase();
      const text = `ada:${now}`;
      const right = forged(text, await hmacSha1('sharedabc', text));
      assert.deepEqual(await whoIs(t, { cookie: right }), { name: 'ada', roles: ['_admin'] });
      assert.deepEqual(await whoIs(t, { cookie: `a=b; ${right}; c=d` }), { name: 'ada', roles: ['_admin'] });
      for (const key of ['shared', 'abc', 'sharedabcd', 'x']) {
        const wrong = forged(text, await hmacSha1(key, text));
        assert.deepEqual(await whoIs(t, { cookie: wrong }), NOBODY, key);
      }
      const other = forged(`root:${now}`, await hmacSha1('sharedabc', text));
      assert.deepEqual(await whoIs(t, { cookie: other }), NOBODY);
    },
    { needs },
  ),

  test(
    "a session's cookie with any byte changed is refused",
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }, { name: 'anb' }]);
      const { cookie = '' } = await logIn(t, 'ana');
      const bytes = bytesOf(cookie);
      for (const [at, byte] of bytes.entries()) {
        for (const bit of [1, 128]) {
          const changed = Uint8Array.from(bytes);
          changed[at] = byte ^ bit;
          const answer = await t.request('GET', '/_session', { headers: { cookie: cookieWith(changed) } });
          assert.include([200, 400], answer.status);
          if (answer.status === 200) assert.deepEqual(Object(answer.json)['userCtx'], NOBODY, `byte ${at}`);
        }
      }
    },
    { needs },
  ),

  test(
    'a malformed cookie is refused with its own error, and an empty cookie is ignored',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }]);
      const { cookie = '' } = await logIn(t, 'ana');
      const reason = 'Malformed AuthSession cookie. Please clear your cookies.';
      const truncated = [8, 12, 20, 28].map((length) => cookie.slice(0, 'AuthSession='.length + length));
      for (const broken of [
        'AuthSession=x',
        'AuthSession=%%%',
        'AuthSession=Og',
        `AuthSession=${'A'.repeat(4000)}`,
        ...truncated,
      ]) {
        assertError(await t.request('GET', '/', { headers: { cookie: broken } }), 400, 'bad_request', reason);
      }
      for (const none of ['AuthSession=', 'AuthSession=""', 'XAuthSession=x', 'a=AuthSession=x']) {
        assert.deepEqual(await whoIs(t, { cookie: none }), NOBODY, none);
      }
    },
    { needs },
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
