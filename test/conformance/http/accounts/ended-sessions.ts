import { assert } from 'chai';
import { cookieOf, logIn, ROOT, whoIs, withUsers } from '../../../support/conformance/accounts.ts';
import { assertError, assertJson } from '../../../support/conformance/answer.ts';
import { suite, test } from '../../../support/conformance/suite.ts';

const needs = ['settings', 'forbidden-headers'] as const;
const NOBODY = { name: null, roles: [] };
const ANA = { name: 'ana', roles: [] };

/** Sessions that a client ended (docs/http/accounts.md#sessions). */
export default suite('accounts_ended_sessions', [
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
]);
