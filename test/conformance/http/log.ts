import { assert } from 'chai';
import { basic, ROOT, withUsers } from '../../support/conformance/accounts.ts';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

async function write(t: Toolkit, message: string, level = 'info'): Promise<void> {
  assertJson(await t.request('POST', '/_log', { json: { level, message } }), 200, { ok: true });
}

async function read(t: Toolkit, query = ''): Promise<string> {
  const answer = await t.request('GET', `/_log${query}`);
  assert.equal(answer.status, 200);
  assert.equal(answer.header('content-type'), 'text/plain; charset=utf-8');
  return answer.text;
}

const post = (t: Toolkit, json: object) => t.request('POST', '/_session', { json });
const get = (t: Toolkit, headers: Record<string, string>) => t.request('GET', '/', { headers });

/** Of a session that began now, with a signature of zeros. */
function wrongCookie(): string {
  const now = Math.floor(Date.now() / 1000).toString(16);
  return `AuthSession=${btoa(`ana:${now}:${'\0'.repeat(20)}`).replace(/=+$/, '')}`;
}

/** The service's log, over HTTP (docs/http/server.md#log). */
export default suite('log', [
  test('an entry that was written can be read', async (t) => {
    await write(t, `a message of ${t.db}`);
    const from = '(?:127\\.0\\.0\\.1|::1|an unknown address)';
    const words = `\\[info\\] somebody from ${from} wrote: a message of ${t.db}`;
    assert.match(await read(t), new RegExp(`\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z ${words}\\n$`));
  }),

  test(
    'failed log-ins are logged for every authentication method, without the password',
    async (given) => {
      const settings = {
        httpd: { authentication_handlers: 'oauth, cookie, proxy, default, jwt' },
        svc_httpd_auth: { secret: 'shared', proxy_use_secret: 'true' },
      };
      const ways: readonly (readonly [way: string, send: (t: Toolkit) => Promise<unknown>])[] = [
        ['"ana" from ADDRESS, by a session', (t) => post(t, { name: 'ana', password: 'wrong word' })],
        ['"ana" from ADDRESS, by a password', (t) => get(t, basic('ana', 'wrong word'))],
        ['from ADDRESS, by a password', (t) => get(t, { authorization: 'Basic wrongword' })],
        ['from ADDRESS, by a token', (t) => get(t, { authorization: 'Bearer wrong.word.x' })],
        [
          '"ana" from ADDRESS, by a proxy',
          (t) => get(t, { 'x-auth-svc-username': 'ana', 'x-auth-svc-token': 'wrong word' }),
        ],
        ['from ADDRESS, by OAuth', (t) => get(t, { authorization: 'OAuth oauth_token="wrong word"' })],
        ['from ADDRESS, by the cookie of a session', (t) => get(t, { cookie: wrongCookie() })],
      ];
      for (const [words, send] of ways) {
        const t = await withUsers(given, [{ name: 'ana' }], settings);
        await send(t);
        const log = (await t.request('GET', '/_log?bytes=100000', { headers: ROOT })).text;
        const address = '(?:127\\.0\\.0\\.1|::1|an unknown address)';
        assert.match(log, new RegExp(`\\[warning\\] a log-in failed: ${words.replace('ADDRESS', address)}\\n`), words);
        assert.notInclude(log, 'wrong word');
        assert.notInclude(log, 'wrongword');
      }
    },
    { needs: ['settings', 'forbidden-headers'] },
  ),

  test(
    'of many failed log-ins the first is logged at once',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }]);
      for (let count = 0; count < 5; count++) await post(t, { name: 'ana', password: `wrong ${count}` });
      const log = (await t.request('GET', '/_log?bytes=100000', { headers: ROOT })).text;
      assert.lengthOf(log.split('a log-in failed').slice(1), 1, log);
    },
    { needs: ['settings'] },
  ),

  test(
    'requests have their own log level',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana b' }]);
      const set = (level: string) => t.request('PUT', '/_config/log/level', { headers: ROOT, json: level });
      const entries = async () => {
        const { text } = await t.request('GET', '/_log?bytes=100000', { headers: ROOT });
        return text.split('\n').filter((line) => line.includes('[request]'));
      };
      await set('debug');
      await t.request('GET', `/${t.db}`);
      assert.deepEqual(await entries(), []);
      await set('request');
      await t.request('GET', `/${t.db}/a%0Ab?password=secret`);
      await t.request('PUT', `/${t.db}/x`, { headers: basic('ana b', 'ana b'), json: {} });
      const [first = '', second = ''] = (await entries()).filter((line) => !line.includes('/_config'));
      const end = '\\d+\\.\\d ms$';
      const before = '^[\\d:.TZ-]+ \\[request\\] (?:-|127\\.0\\.0\\.1|::1)';
      assert.match(first, new RegExp(`${before} - GET ${t.basePath}/${t.db}/a%0Ab 404 ${end}`));
      assert.match(second, new RegExp(`${before} "ana b" PUT ${t.basePath}/${t.db}/x 201 ${end}`));
      await set('info');
    },
    { needs: ['settings'] },
  ),

  test(
    'requests are entries of the level info if a setting says so',
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }], { log: { requests: 'true' } });
      await t.request('GET', `/${t.db}/absent?password=secret`, { headers: basic('ana', 'ana') });
      const log = (await t.request('GET', '/_log?bytes=100000', { headers: ROOT })).text;
      const words = `\\[info\\] (?:-|127\\.0\\.0\\.1|::1) ana GET ${t.basePath}/${t.db}/absent 404 \\d+\\.\\d ms\\n`;
      assert.match(log, new RegExp(words));
      assert.notInclude(log, 'secret');
    },
    { needs: ['settings'] },
  ),

  test('bytes and offset select a part counted from the end', async (t) => {
    await write(t, 'the first entry');
    await write(t, 'the second entry');
    assert.equal(await read(t, '?bytes=6'), 'entry\n');
    assert.equal(await read(t, '?bytes=6&offset=6'), 'econd ');
    assert.equal(await read(t, '?bytes=0'), '');
    assert.equal(await read(t, '?bytes=5&offset=100000000'), '');
    assert.include(await read(t, '?bytes=1000000'), ' wrote: the first entry\n');
  }),

  test('a character cut by the limits is left out', async (t) => {
    await write(t, 'Größe 😀');
    assert.equal(await read(t, '?bytes=4'), '\n');
    assert.equal(await read(t, '?bytes=5'), '😀\n');
    assert.equal(await read(t, '?bytes=4&offset=3'), 'e ');
    assert.equal(await read(t, '?bytes=4&offset=6'), 'ße');
  }),

  test(
    "a client that isn't an admin can write short entries only, and few",
    async (given) => {
      const t = await withUsers(given, [{ name: 'ana' }]);
      const json = { level: 'info', message: 'x'.repeat(4_096) };
      const headers = basic('ana', 'ana');
      const longer = { ...json, message: `${json.message}x` };
      assert.equal((await t.request('POST', '/_log', { headers, json: longer })).status, 400);
      assertJson(await t.request('POST', '/_log', { headers: ROOT, json: longer }), 200, { ok: true });
      assertJson(await t.request('POST', '/_log', { headers, json }), 200, { ok: true });
      const log = (await t.request('GET', '/_log?bytes=100000', { headers: ROOT })).text;
      assert.match(log, /\[info\] "root" from \S+(?: unknown address)? wrote: x+\n/);
      assert.match(log, /\[info\] "ana" from \S+(?: unknown address)? wrote: x+\n/);
      const send = () => t.request('POST', '/_log', { json: { level: 'info', message: 'again' } });
      let sent = 1;
      let last = await send();
      for (; sent < 300 && last.status === 200; sent++) last = await send();
      assert.isAtLeast(sent, 50);
      const reason = 'Too many entries for the log were sent from this address. Try again in 1 s.';
      assertError(last, 429, 'too_many_requests', reason);
      assert.equal(last.header('retry-after'), '1');
      const own = { level: 'info', message: 'an own one' };
      assert.equal((await t.request('POST', '/_log', { headers: ROOT, json: own })).status, 200);
    },
    { needs: ['settings'] },
  ),

  test('at most a million bytes are returned', async (t) => {
    const reason = "'bytes' cannot exceed 1000000";
    assertError(await t.request('GET', '/_log?bytes=1000001'), 400, 'bad_request', reason);
    assert.equal((await t.request('GET', '/_log?bytes=-1')).status, 400);
    assert.equal((await t.request('GET', '/_log?offset=x')).status, 400);
  }),

  test('an unknown level and an invalid message are refused', async (t) => {
    const loud = await t.request('POST', '/_log', { json: { level: 'loud', message: 'x' } });
    assert.equal(loud.status, 400);
    assert.equal(at(loud.json, 'error'), "Unrecognized log level 'loud'");
    for (const json of [
      { level: 'info' },
      { level: 'info', message: 7 },
      { level: 'info', message: 'x'.repeat(65_537) },
    ]) {
      assert.equal((await t.request('POST', '/_log', { json })).status, 400);
    }
    assertError(
      await t.request('POST', '/_log', { json: [] }),
      400,
      'bad_request',
      'Request body must be a JSON object',
    );
  }),

  test("control characters in an entry are escaped, so that it can't imitate another entry", async (t) => {
    await write(t, 'one\n2026-01-31T12:00:00.000Z [error] two\u001b[31m');
    const last = (await read(t, '?bytes=1000000')).trimEnd().split('\n').at(-1) ?? '';
    assert.match(last, /\[info\] somebody from .+ wrote: one\S+2026-01-31T12:00:00\.000Z \[error\] two/);
    assert.notInclude(last, '\u001b');
  }),

  test('entries below the level are not written', async (t) => {
    await write(t, `hidden ${t.db}`, 'debug');
    assert.notInclude(await read(t, '?bytes=1000000'), `hidden ${t.db}`);
  }),

  test('only GET and POST are allowed', async (t) => {
    assertAllowed(await t.request('PUT', '/_log', { json: {} }), 'GET,POST');
    assertAllowed(await t.request('DELETE', '/_log'), 'GET,POST');
  }),
]);
