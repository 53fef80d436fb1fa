import { assert } from 'chai';
import { cookieOf, logIn, whoIs, withUsers } from '../../../support/conformance/accounts.ts';
import { assertError } from '../../../support/conformance/answer.ts';
import { suite, test } from '../../../support/conformance/suite.ts';

const needs = ['settings', 'forbidden-headers'] as const;
const NOBODY = { name: null, roles: [] };

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

/** What the cookie of a session is made from (docs/http/accounts.md#sessions). */
export default suite('accounts_session_cookies', [
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
]);
