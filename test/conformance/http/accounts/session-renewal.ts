import { assert } from 'chai';
import { cookieOf, logIn, ROOT, whoIs, withUsers } from '../../../support/conformance/accounts.ts';
import { suite, test } from '../../../support/conformance/suite.ts';

const needs = ['settings', 'forbidden-headers'] as const;
const NOBODY = { name: null, roles: [] };
const ANA = { name: 'ana', roles: [] };

interface Options {
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
  readonly body?: string;
}
type Row = readonly [status: number, method: string, path: string, options?: Options];

/** How long sessions last (docs/http/accounts.md#sessions). */
export default suite('accounts_session_renewal', [
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
    'a session survives a restart even if no secret was set',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }]);
      const headers = await logIn(t, 'ana');
      await t.restart();
      assert.deepEqual(await whoIs(t, headers), ANA);
    },
    { needs: ['settings', 'forbidden-headers', 'restart'] },
  ),
]);
