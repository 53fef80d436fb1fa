import { assert } from 'chai';
import { oauthEncode, oauthSignature } from '../../../../src/base/shared/oauth-signature.ts';
import { addUser, type Headers, ROOT, userPath, whoIs, withUsers } from '../../../support/conformance/accounts.ts';
import { assertError } from '../../../support/conformance/answer.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { Toolkit } from '../../../support/conformance/toolkit.ts';

const needs = ['settings'] as const;
const ANA = { name: 'ana', roles: ['editor'] };
const SECRETS = { consumer: 'consumer secret', token: 'token secret' };
const SETTINGS = {
  oauth_consumer_secrets: { app: SECRETS.consumer },
  oauth_token_secrets: { tok: SECRETS.token },
  oauth_token_users: { tok: 'ana' },
};

let nonces = 0;

function parametersOf(changes: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    oauth_consumer_key: 'app',
    oauth_token: 'tok',
    oauth_signature_method: 'HMAC-SHA1',
    oauth_timestamp: `${Math.floor(Date.now() / 1000)}`,
    oauth_nonce: `nonce ${nonces++}`,
    oauth_version: '1.0',
    ...changes,
  };
}

interface Signing {
  readonly method?: string;
  readonly secrets?: typeof SECRETS;
  readonly changes?: Readonly<Record<string, string>>;
}

async function signed(t: Toolkit, path: string, { method = 'GET', secrets = SECRETS, changes }: Signing = {}) {
  const parameters = parametersOf(changes);
  const way = parameters['oauth_signature_method'] === 'PLAINTEXT' ? 'PLAINTEXT' : 'HMAC-SHA1';
  const request = { method, url: `${t.baseUrl}${path}`, parameters };
  const all = { realm: '', ...parameters, oauth_signature: await oauthSignature(way, request, secrets) };
  const pairs = Object.entries(all).map(([name, value]) => `${oauthEncode(name)}="${oauthEncode(value)}"`);
  const headers: Headers = { authorization: `OAuth ${pairs.join(', ')}` };
  return headers;
}

/** OAuth 1.0 (docs/http/accounts.md#oauth). */
export default suite('accounts_oauth', [
  test(
    "a signed request has the rights of the token's user",
    async (given) => {
      const t = await withUsers(given, [ANA], SETTINGS);
      assert.deepEqual(await whoIs(t, await signed(t, '/_session')), ANA);
      const plain = { changes: { oauth_signature_method: 'PLAINTEXT' } };
      assert.deepEqual(await whoIs(t, await signed(t, '/_session', plain)), ANA);
      const query = '/_session?b=2&a=1&a=%20x';
      const answer = await t.request('GET', query, { headers: await signed(t, query) });
      assert.equal(at(answer.json, 'userCtx', 'name'), 'ana');
      assert.equal(at(answer.json, 'info', 'authenticated'), 'oauth');
    },
    { needs },
  ),

  test(
    'a request can be signed by query parameters as well',
    async (given) => {
      const t = await withUsers(given, [ANA], SETTINGS);
      const query = new URLSearchParams(parametersOf());
      const url = `${t.baseUrl}/_session?${query}`;
      query.set('oauth_signature', await oauthSignature('HMAC-SHA1', { method: 'GET', url, parameters: {} }, SECRETS));
      const answer = await t.request('GET', `/_session?${query}`);
      assert.equal(at(answer.json, 'userCtx', 'name'), 'ana', answer.text);
    },
    { needs },
  ),

  test(
    "functions and rewrite rules of design documents don't see the signature of a request",
    async (given) => {
      const t = await withUsers(given, [ANA], SETTINGS);
      const design = {
        rewrites: [
          { from: 'query', to: '_show/request', query: { got: ':oauth_signature', word: ':word' } },
          { from: 'path', to: '_show/request/:oauth_signature' },
        ],
        shows: { request: 'function (doc, req) { return { json: req }; }' },
      };
      const path = `/${t.db}/_design/signed`;
      assert.equal((await t.request('PUT', path, { headers: ROOT, json: design })).status, 201);
      const parameters = {
        ...{ oauth_consumer_key: 'app', oauth_token: 'tok', oauth_signature_method: 'PLAINTEXT', word: 'x' },
        oauth_signature: `${oauthEncode(SECRETS.consumer)}&${oauthEncode(SECRETS.token)}`,
      };
      for (const way of ['_show/request', '_rewrite/query', '_rewrite/path']) {
        const answer = await t.request('GET', `${path}/${way}?${new URLSearchParams(parameters)}`);
        assert.equal(at(answer.json, 'userCtx', 'name'), 'ana', answer.text);
        assert.equal(at(answer.json, 'query', 'word'), 'x');
        assert.notMatch(answer.text, /secret/, way);
      }
    },
    { needs },
  ),

  test(
    'an invalid signature is refused',
    async (given) => {
      const t = await withUsers(given, [ANA], SETTINGS);
      const invalid: readonly (readonly [Signing, string, string])[] = [
        [{ secrets: { ...SECRETS, consumer: 'x' } }, 'invalid_signature', 'Invalid signature value.'],
        [{ secrets: { ...SECRETS, token: 'x' } }, 'invalid_signature', 'Invalid signature value.'],
        [{ method: 'PUT' }, 'invalid_signature', 'Invalid signature value.'],
        [{ changes: { oauth_signature_method: 'X' } }, 'invalid_signature', 'Invalid signature value.'],
        [{ changes: { oauth_timestamp: '1' } }, 'invalid_signature', 'Invalid signature value.'],
        [{ changes: { oauth_timestamp: '1e99' } }, 'invalid_signature', 'Invalid signature value.'],
        [{ changes: { oauth_consumer_key: 'x' } }, 'invalid_consumer', 'Invalid consumer.'],
        [{ changes: { oauth_token: 'x' } }, 'invalid_token', 'Invalid OAuth token.'],
        [{ changes: { oauth_version: '2.0' } }, 'invalid_oauth_version', 'Invalid OAuth version.'],
      ];
      for (const [signing, error, reason] of invalid) {
        const headers = await signed(t, '/_session', signing);
        assertError(await t.request('GET', '/_session', { headers }), 400, error, reason);
      }
      const headers = await signed(t, '/_session?a=1');
      assertError(
        await t.request('GET', '/_session?a=2', { headers }),
        400,
        'invalid_signature',
        'Invalid signature value.',
      );
    },
    { needs },
  ),

  test(
    'a signed request is accepted once',
    async (given) => {
      const t = await withUsers(given, [ANA], SETTINGS);
      const headers = await signed(t, '/_session');
      assert.deepEqual(await whoIs(t, headers), ANA);
      const again = await t.request('GET', '/_session', { headers });
      assertError(again, 400, 'invalid_signature', 'Invalid signature value.');
    },
    { needs: [...needs, 'one-process'] },
  ),

  test(
    'consumers and tokens can be in user documents',
    async (given) => {
      const t = await withUsers(given, [{ name: 'bob' }], { svc_httpd_oauth: { use_users_db: 'true' } });
      await addUser(t, ANA);
      const { json } = await t.request('GET', userPath('ana'), { headers: ROOT });
      const oauth = { consumer_keys: { app: SECRETS.consumer }, tokens: { tok: SECRETS.token } };
      const before = await t.request('GET', '/_session', { headers: await signed(t, '/_session') });
      const reason = 'Invalid consumer and token pair.';
      assertError(before, 400, 'invalid_consumer_token_pair', reason);
      await t.request('PUT', userPath('ana'), { headers: ROOT, json: { ...Object(json), oauth } });
      assert.deepEqual(await whoIs(t, await signed(t, '/_session')), ANA);
      // Nobody keeps another one out by the same names.
      const own = { consumer: 'own', token: 'own' };
      const shadow = { consumer_keys: { app: own.consumer }, tokens: { tok: own.token } };
      const aaa = { type: 'user', name: 'aaa', roles: [], password: 'aaa', oauth: shadow };
      assert.equal((await t.request('PUT', userPath('aaa'), { json: aaa })).status, 201);
      assert.deepEqual(await whoIs(t, await signed(t, '/_session')), ANA);
      const ofOther = await signed(t, '/_session', { secrets: own });
      assert.deepEqual(await whoIs(t, ofOther), { name: 'aaa', roles: [] });
    },
    { needs },
  ),

  test(
    'consumers and tokens in a user document with the name of a server admin are ignored',
    async (given) => {
      const t = await withUsers(given, [], { svc_httpd_oauth: { use_users_db: 'true' } });
      const oauth = { consumer_keys: { app: SECRETS.consumer }, tokens: { tok: SECRETS.token } };
      const json = { type: 'user', name: 'root', roles: [], oauth };
      assert.equal((await t.request('PUT', userPath('root'), { json })).status, 201);
      const answer = await t.request('GET', '/_session', { headers: await signed(t, '/_session') });
      assertError(answer, 400, 'invalid_token', 'Invalid OAuth token.');
    },
    { needs },
  ),
]);
