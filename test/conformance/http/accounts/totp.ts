import { assert } from 'chai';
import {
  basic,
  cookieOf,
  ROOT,
  userDocument,
  userPath,
  whoIs,
  withUsers,
} from '../../../support/conformance/accounts.ts';
import { assertError } from '../../../support/conformance/answer.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';

const needs = ['settings'] as const;
const WRONG = 'Name or password is incorrect.';
const SECRET = '12345678901234567890';
/** The same in Base32. */
const KEY = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

/** The code of a moment so many steps of thirty seconds from now (RFC 6238). */
async function code(steps = 0): Promise<string> {
  const counter = new DataView(new ArrayBuffer(8));
  counter.setUint32(4, Math.floor(Date.now() / 30_000) + steps);
  const algorithm = { name: 'HMAC', hash: 'SHA-1' };
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(SECRET), algorithm, false, ['sign']);
  const mac = new DataView(await crypto.subtle.sign('HMAC', key, counter.buffer));
  const number = mac.getUint32(mac.getUint8(19) & 15) & 0x7fffffff;
  return `${number % 1_000_000}`.padStart(6, '0');
}

async function withUser(given: Toolkit, totp: unknown = { key: KEY }): Promise<Toolkit> {
  const t = await withUsers(given, []);
  const json = { ...userDocument({ name: 'ana', password: 'secret' }), totp };
  const answer = await t.request('PUT', userPath('ana'), { headers: ROOT, json });
  assert.equal(answer.status, 201, answer.text);
  return t;
}

function logIn(t: Toolkit, members: object) {
  return t.request('POST', '/_session', { json: { name: 'ana', password: 'secret', ...members } });
}

/** Codes of an authenticator app beside the password (docs/http/accounts.md#one-time-codes). */
export default suite('accounts_totp', [
  test(
    'a user with a key logs in with password and code, and stays logged in',
    async (given) => {
      const t = await withUser(given);
      for (const members of [{}, { token: 'abcdef' }, { token: await code(-5) }]) {
        assertError(await logIn(t, members), 401, 'unauthorized', WRONG);
      }
      const answer = await logIn(t, { token: await code() });
      assert.equal(answer.status, 200, answer.text);
      const session = { cookie: cookieOf(answer) };
      assert.deepEqual(await whoIs(t, session), { name: 'ana', roles: [] });
      assert.deepEqual(await whoIs(t, session), { name: 'ana', roles: [] });
    },
    { needs },
  ),

  test(
    'a code counts once, and is no password',
    async (given) => {
      const t = await withUser(given);
      const token = await code();
      assertError(await logIn(t, { password: 'wrong', token }), 401, 'unauthorized', WRONG);
      assert.equal((await logIn(t, { token })).status, 200);
      assertError(await logIn(t, { token }), 401, 'unauthorized', WRONG);
      const next = await code(1);
      const answers = await Promise.all([logIn(t, { token: next }), logIn(t, { token: next })]);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401]);
    },
    { needs },
  ),

  test(
    'a form may have the code',
    async (given) => {
      const t = await withUser(given);
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const body = `name=ana&password=secret&token=${await code()}`;
      const answer = await t.request('POST', '/_session', { headers, body });
      assert.equal(answer.status, 200, answer.text);
    },
    { needs },
  ),

  test(
    'such a user is refused without a session, also after a log-in',
    async (given) => {
      const t = await withUser(given);
      const headers = basic('ana', 'secret');
      assertError(await t.request('GET', '/', { headers }), 401, 'unauthorized', WRONG);
      assert.equal((await logIn(t, { token: await code() })).status, 200);
      // Browsers would send the session.
      assert.equal((await t.request('DELETE', '/_session')).status, 200);
      assertError(await t.request('GET', '/', { headers }), 401, 'unauthorized', WRONG);
    },
    { needs },
  ),

  test(
    'wrong codes count as failed log-ins',
    async (given) => {
      const t = await withUser(given);
      for (let failures = 0; failures < 5; failures += 1) {
        assertError(await logIn(t, { token: await code(-5) }), 401, 'unauthorized', WRONG);
      }
      assert.equal((await logIn(t, { token: await code() })).status, 429);
    },
    { needs },
  ),

  test(
    'a key that can not be read lets no one in, and an admin of the configuration needs no code',
    async (given) => {
      const t = await withUser(given, { key: '!' });
      assertError(await logIn(t, {}), 401, 'unauthorized', WRONG);
      const json = { ...userDocument({ name: 'root', roles: ['r'] }), totp: { key: KEY } };
      assert.equal((await t.request('PUT', userPath('root'), { headers: ROOT, json })).status, 201);
      assert.deepEqual(await whoIs(t, ROOT), { name: 'root', roles: ['_admin', 'r'] });
    },
    { needs },
  ),
]);
