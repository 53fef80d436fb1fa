import { assert } from 'chai';
import { basic, type Headers, whoIs, withAdmin } from '../../../support/conformance/accounts.ts';
import { assertError } from '../../../support/conformance/answer.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';

const needs = ['settings'] as const;
const SECRET = 'a secret of thirty-two bytes: ok';

const seconds = () => Math.floor(Date.now() / 1000);

function base64Url(bytes: Uint8Array | string): string {
  const text = typeof bytes === 'string' ? bytes : String.fromCharCode(...bytes);
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** With a time at which it expires, unless the claims say otherwise. */
async function signed(header: object, given: object, secret = SECRET, hash = 'SHA-256'): Promise<Headers> {
  const claims = { exp: seconds() + 60, ...given };
  const text = `${base64Url(JSON.stringify(header))}.${base64Url(JSON.stringify(claims))}`;
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash };
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign']);
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(text)));
  return { authorization: `Bearer ${text}.${base64Url(signature)}` };
}

function withKeys(given: Toolkit, keys: Readonly<Record<string, string>> = {}): Promise<Toolkit> {
  return withAdmin(given, {
    httpd: { authentication_handlers: 'jwt, cookie, default' },
    jwt_keys: { 'hmac:_default': btoa(SECRET), ...keys },
  });
}

/** JSON Web Tokens (docs/http/accounts.md#json-web-tokens). */
export default suite('accounts_jwt', [
  test(
    'a token sets name and roles',
    async (given) => {
      const t = await withKeys(given);
      const claims = { sub: 'ana', '_couchdb.roles': ['a', '_admin', '_replicator', 7], exp: seconds() + 60 };
      const headers = await signed({ alg: 'HS256', typ: 'JWT' }, claims);
      assert.deepEqual(await whoIs(t, headers), { name: 'ana', roles: ['a', '_admin'] });
      const session = await t.request('GET', '/_session', { headers });
      assert.equal(at(session.json, 'info', 'authenticated'), 'jwt');
      assert.deepEqual(await whoIs(t, await signed({ alg: 'HS256' }, { sub: 'bob' })), { name: 'bob', roles: [] });
    },
    { needs },
  ),

  test(
    'a token names its key, of which there can be several',
    async (given) => {
      const t = await withKeys(given, { 'hmac:second': btoa('x'.repeat(64)) });
      const headers = await signed({ alg: 'HS512', kid: 'second' }, { sub: 'ana' }, 'x'.repeat(64), 'SHA-512');
      assert.deepEqual(await whoIs(t, headers), { name: 'ana', roles: [] });
    },
    { needs },
  ),

  test(
    'a token can be signed with a private key',
    async (given) => {
      const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
      const { publicKey, privateKey } = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
      const spki = new Uint8Array(await crypto.subtle.exportKey('spki', publicKey));
      const pem = `-----BEGIN PUBLIC KEY-----\\n${btoa(String.fromCharCode(...spki))}\\n-----END PUBLIC KEY-----`;
      const t = await withKeys(given, { 'ec:mine': pem, 'hmac:mine': btoa('another secret, of 32 bytes: aaa') });
      const text = `${base64Url('{"alg":"ES256","kid":"mine"}')}.${base64Url(`{"sub":"ana","exp":${seconds() + 60}}`)}`;
      const bytes = new TextEncoder().encode(text);
      const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, bytes);
      const headers = { authorization: `Bearer ${text}.${base64Url(new Uint8Array(signature))}` };
      assert.deepEqual(await whoIs(t, headers), { name: 'ana', roles: [] });
      // The public key is nobody's shared secret.
      for (const secret of [pem, pem.replaceAll('\\n', '\n'), String.fromCharCode(...spki)]) {
        const forged = await signed({ alg: 'HS256', kid: 'mine' }, { sub: 'root' }, secret);
        assert.equal((await t.request('GET', '/', { headers: forged })).status, 401);
      }
    },
    { needs },
  ),

  test(
    'invalid tokens are refused',
    async (given) => {
      const t = await withKeys(given);
      const head = { alg: 'HS256' };
      const right = `${(await signed(head, { sub: 'ana' }))['authorization']}`;
      const [first = '', second = '', third = ''] = right.slice('Bearer '.length).split('.');
      const none = base64Url('{"alg":"none"}');
      const cases: readonly Headers[] = [
        await signed(head, { sub: 'ana' }, 'another secret of 32 bytes: aaaa'),
        await signed(head, { sub: 'ana', exp: seconds() - 60 }),
        await signed(head, { sub: 'ana', nbf: seconds() + 3600 }),
        await signed(head, {}),
        await signed(head, { sub: '' }),
        await signed(head, { sub: 7 }),
        await signed({ alg: 'HS256', kid: 'unknown' }, { sub: 'ana' }),
        await signed({ alg: 'HS256', kid: '__proto__' }, { sub: 'ana' }),
        { authorization: `Bearer ${none}.${second}.` },
        { authorization: `Bearer ${none}.${second}.${third}` },
        { authorization: `Bearer ${first}.${second}` },
        { authorization: `Bearer ${first}.${base64Url('{"sub":"root"}')}.${third}` },
        { authorization: 'Bearer x' },
        { authorization: 'Bearer ...' },
      ];
      for (const headers of cases) {
        const answer = await t.request('GET', '/', { headers });
        assert.equal(answer.status, 401, `${headers['authorization']}`);
        assert.match(`${at(answer.json, 'reason')}`, /^The bearer token is refused: /);
      }
    },
    { needs },
  ),

  test(
    'a token must have the claims that the setting names: `exp` by default',
    async (given) => {
      const t = await withKeys(given);
      const head = { alg: 'HS256' };
      const endless = await signed(head, { sub: 'ana', exp: undefined, iss: 'us' });
      const refused = 'The bearer token is refused: it has no claim exp, which jwt_auth/required_claims requires.';
      assertError(await t.request('GET', '/', { headers: endless }), 401, 'unauthorized', refused);
      const set = async (json: string) => {
        const path = '/_config/jwt_auth/required_claims';
        const headers = basic('root', 'secret of root');
        return (await t.request('PUT', path, { headers, json })).status;
      };
      assert.equal(await set(''), 200);
      assert.deepEqual(await whoIs(t, endless), { name: 'ana', roles: [] });
      assert.equal(await set('sub, {iss, "us"}'), 200);
      assert.deepEqual(await whoIs(t, endless), { name: 'ana', roles: [] });
      for (const iss of ['them', ['us'], undefined]) {
        const other = await signed(head, { sub: 'ana', iss });
        assert.equal((await t.request('GET', '/', { headers: other })).status, 401);
      }
      for (const text of ['{iss}', 'exp,, iat', '{iss, us}', '"exp"', ',']) assert.equal(await set(text), 400, text);
      assert.deepEqual(await whoIs(t, endless), { name: 'ana', roles: [] });
    },
    { needs },
  ),

  test(
    'the roles are in the claim that the settings name: a path, or else a name',
    async (given) => {
      const t = await withKeys(given);
      const claims = { realm: { 'a.b': ['deep'], roles: 'text' }, 'realm.roles': ['flat'], '_couchdb.roles': ['own'] };
      const headers = await signed({ alg: 'HS256' }, { sub: 'ana', ...claims });
      const rolesWith = async (key: string, json: string) => {
        const admin = basic('root', 'secret of root');
        const answer = await t.request('PUT', `/_config/jwt_auth/${key}`, { headers: admin, json });
        assert.equal(answer.status, 200, answer.text);
        return at(await whoIs(t, headers), 'roles');
      };
      assert.deepEqual(await rolesWith('roles_claim_name', 'realm.roles'), ['flat']);
      assert.deepEqual(await rolesWith('roles_claim_path', 'realm.a\\.b'), ['deep']);
      for (const path of ['realm.roles', 'realm.roles.0', 'realm', 'nothing.here', 'constructor.name']) {
        assert.deepEqual(await rolesWith('roles_claim_path', path), [], path);
      }
      assert.deepEqual(await rolesWith('roles_claim_path', 'realm\\.roles'), ['flat']);
      assert.deepEqual(await rolesWith('roles_claim_path', ''), ['flat']);
      assert.deepEqual(await rolesWith('roles_claim_name', ''), ['own']);
    },
    { needs },
  ),

  test(
    "a token is ignored if the JWT handler isn't configured",
    async (given) => {
      const t = await withAdmin(given, { jwt_keys: { 'hmac:_default': btoa(SECRET) } });
      const headers = await signed({ alg: 'HS256' }, { sub: 'ana' });
      assert.deepEqual(await whoIs(t, headers), { name: null, roles: [] });
    },
    { needs },
  ),
]);
