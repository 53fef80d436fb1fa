import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { TokenConfig } from '../../../../src/accounts/contract.ts';
import { systemClock } from '../../../../src/base/shared/clock.ts';
import { FetchedIssuers } from '../../../../src/node/network/token-issuers.ts';
import { createIssuerCheck } from '../../../../src/node/network/trusted-issuers.ts';
import { patient } from '../../../support/patience.ts';

const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A provider on this machine, whose answers can be replaced. */
class Provider {
  /** The paths that were requested, in this order. */
  readonly asked: string[] = [];
  keys: JWK[] = [];
  answer: Answer | undefined;
  issuer = '';

  static async start(): Promise<Provider> {
    const provider = new Provider();
    const server = createServer((request, response) => provider.#respond(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ends.push(() => server.close());
    provider.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return provider;
  }

  #respond(request: IncomingMessage, response: ServerResponse): void {
    this.asked.push(request.url ?? '');
    const { issuer, answer } = this;
    const isKeys = request.url === '/keys';
    if (answer !== undefined) answer(request, response);
    else response.end(JSON.stringify(isKeys ? { keys: this.keys } : { issuer, jwks_uri: `${issuer}/keys` }));
  }

  /** Returns what signs tokens of this provider with a new key, which it publishes. */
  async addKey(kid: string, alg = 'RS256'): Promise<(claims: JWTPayload) => Promise<string>> {
    const pair = await generateKeyPair(alg);
    this.keys.push({ ...(await exportJWK(pair.publicKey)), kid, alg });
    return signer(pair.privateKey, kid, this.issuer, alg);
  }
}

function signer(key: Parameters<SignJWT['sign']>[0], kid: string, issuer: string, alg = 'RS256') {
  return (claims: JWTPayload) =>
    new SignJWT({ iss: issuer, ...claims }).setProtectedHeader({ alg, kid }).setExpirationTime('5m').sign(key);
}

class Settings implements TokenConfig {
  readonly issuers: Record<string, string> = {};
  readonly others: Record<string, string> = {};

  get(section: string, key: string): string | undefined {
    return section === 'jwt_issuers' ? this.issuers[key] : this.others[`${section}/${key}`];
  }

  section(name: string): Readonly<Record<string, string>> {
    return name === 'jwt_issuers' ? this.issuers : {};
  }
}

function start(issuers: Readonly<Record<string, object>>) {
  const settings = new Settings();
  for (const [name, issuer] of Object.entries(issuers)) settings.issuers[name] = JSON.stringify(issuer);
  const errors: string[] = [];
  const infos: string[] = [];
  const causes: unknown[] = [];
  const log = {
    error: (message: string, cause: unknown) => {
      errors.push(message);
      causes.push(cause);
    },
    info: (message: string) => infos.push(message),
    debug: () => undefined,
  };
  const fetched = new FetchedIssuers(settings, log);
  ends.push(() => fetched.close());
  const recognise = (token: string) => fetched.recognise(settings, systemClock, token);
  const failureOf = (token: string): Promise<unknown> =>
    recognise(token).then(
      () => 'no failure',
      (error: unknown) => error,
    );
  return { settings, fetched, recognise, failureOf, errors, causes, infos };
}

const unauthorized = (reason: string) => expect.objectContaining({ code: 'unauthorized', reason });

/** It names no address and no error: anyone may read it. */
const CANT_BE_READ =
  "The bearer token can't be checked now: the keys of its issuer main can't be read. Send the request again later; if it lasts, the operator should look at the log, at jwt_issuers/main, and at the issuer.";

describe('tokens of an issuer whose keys are fetched', () => {
  test('are recognised by the keys that its configuration names', async () => {
    const provider = await Provider.start();
    const sign = await provider.addKey('a');
    const { recognise } = start({ main: { issuer: provider.issuer, roles_claim_path: 'realm_access.roles' } });
    const token = await sign({ sub: 'ana', realm_access: { roles: ['a', '_admin', '_other', 7] } });
    expect(await recognise(token)).toMatchObject({ user: { name: 'ana', roles: ['a', '_admin'] } });
    expect(await recognise(token)).toMatchObject({ user: { name: 'ana' } });
    expect(provider.asked).toEqual(['/.well-known/openid-configuration', '/keys']);
  });

  test('are recognised by the keys at a configured address, with a prefix before the name', async () => {
    const provider = await Provider.start();
    const sign = await provider.addKey('a', 'ES256');
    const main = { issuer: 'https://login.example.org', jwks_url: `${provider.issuer}/keys`, name_prefix: 'org:' };
    const { recognise } = start({ main });
    expect(await recognise(await sign({ sub: 'ana', iss: 'https://login.example.org' }))).toMatchObject({
      user: { name: 'org:ana', roles: [] },
    });
    expect(provider.asked).toEqual(['/keys']);
  });

  test('must be for one of the audiences, if there are any', async () => {
    const provider = await Provider.start();
    const sign = await provider.addKey('a');
    const { recognise, failureOf } = start({ main: { issuer: provider.issuer, audiences: ['app', 'second'] } });
    expect(await recognise(await sign({ sub: 'ana', aud: 'second' }))).toMatchObject({ user: { name: 'ana' } });
    expect(await recognise(await sign({ sub: 'ana', aud: ['x', 'app'] }))).toMatchObject({ user: { name: 'ana' } });
    const refused = unauthorized('The bearer token is refused: its claim aud does not hold.');
    expect(await failureOf(await sign({ sub: 'ana', aud: 'other' }))).toEqual(refused);
    expect(await failureOf(await sign({ sub: 'ana' }))).toEqual(refused);
  });

  test('are proved by no key of another issuer', async () => {
    const [mine, other] = [await Provider.start(), await Provider.start()];
    await mine.addKey('a');
    const sign = await other.addKey('a');
    const { recognise, failureOf } = start({ mine: { issuer: mine.issuer }, other: { issuer: other.issuer } });
    expect(await recognise(await sign({ sub: 'ana' }))).toMatchObject({ user: { name: 'ana' } });
    expect(await failureOf(await sign({ sub: 'ana', iss: mine.issuer }))).toEqual(
      unauthorized("The bearer token is refused: it can't be read, or its signature is wrong."),
    );
    expect(await recognise(await sign({ sub: 'ana', iss: 'http://127.0.0.1:1' }))).toBeUndefined();
  });

  test('are never signed with a shared secret', async () => {
    const provider = await Provider.start();
    const { publicKey } = await generateKeyPair('RS256', { extractable: true });
    const secret = new TextEncoder().encode(await exportSPKI(publicKey));
    provider.keys.push({ ...(await exportJWK(publicKey)), kid: 'a' }, { kty: 'oct', k: 'c2VjcmV0', kid: 'b' });
    const { failureOf } = start({ main: { issuer: provider.issuer } });
    for (const kid of ['a', 'b']) {
      const forged = await signer(secret, kid, provider.issuer, 'HS256')({ sub: 'ana' });
      expect(await failureOf(forged)).toEqual(
        unauthorized('The bearer token is refused: this service does not accept its algorithm from an issuer.'),
      );
    }
    expect(provider.asked).toEqual([]);
  });

  test('with an unknown key cause one fetch in thirty seconds', async () => {
    const provider = await Provider.start();
    const sign = await provider.addKey('a');
    const { recognise, failureOf } = start({ main: { issuer: provider.issuer, jwks_url: `${provider.issuer}/keys` } });
    const { privateKey } = await generateKeyPair('RS256');
    const stranger = (kid: string, iat: number) => signer(privateKey, kid, provider.issuer)({ sub: 'ana', iat });
    const now = Math.floor(Date.now() / 1000);
    const unknown = unauthorized('The bearer token is refused: its issuer main has no key for it.');
    expect(await failureOf(await stranger('x', now))).toEqual(unknown);
    // Its key may be newer than what was fetched.
    expect(await failureOf(await stranger('y', now + 1))).toMatchObject({ code: 'too_busy', retryAfterS: 30 });
    expect(await failureOf(await stranger('z', now - 600))).toEqual(unknown);
    expect(await recognise(await sign({ sub: 'ana' }))).toMatchObject({ user: { name: 'ana' } });
    expect(provider.asked).toEqual(['/keys']);
  });

  test('end when their key is gone, and a new key is found', async () => {
    const provider = await Provider.start();
    const sign = await provider.addKey('a');
    const main = { issuer: provider.issuer, jwks_url: `${provider.issuer}/keys`, max_key_age_seconds: 1 };
    const { settings, fetched, recognise, failureOf } = start({ main });
    const lost = new Promise<void>((resolve) => fetched.onChange(resolve));
    const old = await recognise(await sign({ sub: 'ana' }));
    expect(await old?.current(settings)).toEqual({ name: 'ana', roles: [] });
    const signNew = await provider.addKey('b');
    // In the same turn: nothing is fetched in between.
    provider.keys.shift();
    await lost;
    expect(await old?.current(settings)).toBeUndefined();
    // On a busy machine the old keys may have become too old before the new ones came.
    const token = await signNew({ sub: 'bob' });
    await vi.waitFor(async () => expect(await recognise(token)).toMatchObject({ user: { name: 'bob' } }), patient);
    expect(await failureOf(await sign({ sub: 'ana' }))).toEqual(
      unauthorized('The bearer token is refused: its issuer main has no key for it.'),
    );
  });

  test('end also when their key goes while the signature is checked', async () => {
    const provider = await Provider.start();
    const sign = await provider.addKey('a');
    const main = { issuer: provider.issuer, jwks_url: `${provider.issuer}/keys`, max_key_age_seconds: 1 };
    const { settings, fetched, recognise } = start({ main });
    const lost = new Promise<void>((resolve) => fetched.onChange(resolve));
    const verify = crypto.subtle.verify.bind(crypto.subtle);
    vi.spyOn(crypto.subtle, 'verify').mockImplementationOnce(async (...parameters) => {
      await provider.addKey('b');
      provider.keys.shift();
      await lost;
      return verify(...parameters);
    });
    ends.push(() => vi.restoreAllMocks());
    const token = await recognise(await sign({ sub: 'ana' }));
    expect(await token?.current(settings)).toBeUndefined();
  });

  test('go on while another key comes or goes, and end with the setting', async () => {
    const provider = await Provider.start();
    const sign = await provider.addKey('a');
    const main = { issuer: provider.issuer, jwks_url: `${provider.issuer}/keys`, max_key_age_seconds: 1 };
    const { settings, fetched, recognise } = start({ main });
    const changed = new Promise<void>((resolve) => fetched.onChange(resolve));
    const token = await recognise(await sign({ sub: 'ana', groups: ['g'] }));
    await provider.addKey('b');
    await changed;
    expect(await token?.current(settings)).toEqual({ name: 'ana', roles: [] });
    settings.others['jwt_auth/roles_claim_name'] = 'groups';
    expect(await token?.current(settings)).toEqual({ name: 'ana', roles: ['g'] });
    settings.others['jwt_auth/required_claims'] = 'email';
    expect(await token?.current(settings)).toBeUndefined();
    delete settings.others['jwt_auth/required_claims'];
    settings.issuers['main'] = JSON.stringify({ ...main, audiences: ['x'] });
    expect(await token?.current(settings)).toBeUndefined();
  });

  test('go on with a changed setting that accepts them, as the same users', async () => {
    const provider = await Provider.start();
    const sign = await provider.addKey('a');
    const main = { issuer: provider.issuer, jwks_url: `${provider.issuer}/keys`, audiences: ['notes'] };
    const { settings, recognise } = start({ main });
    const token = await recognise(await sign({ sub: 'ana', aud: 'notes', groups: ['g'] }));
    const currentWith = (change: object) => {
      settings.issuers['main'] = JSON.stringify({ ...main, ...change });
      return token?.current(settings);
    };
    expect(await currentWith({ audiences: ['notes', 'tasks'] })).toEqual({ name: 'ana', roles: [] });
    expect(await currentWith({ roles_claim_path: 'groups' })).toEqual({ name: 'ana', roles: ['g'] });
    expect(provider.asked).toEqual(['/keys', '/keys', '/keys']);
    expect(await currentWith({ roles_claim_path: 'groups' })).toEqual({ name: 'ana', roles: ['g'] });
    expect(provider.asked).toHaveLength(3);
    expect(await currentWith({ audiences: ['tasks'] })).toBeUndefined();
    expect(await currentWith({ name_prefix: 'main:' })).toBeUndefined();
    expect(await currentWith({ issuer: `${provider.issuer}/other` })).toBeUndefined();
    expect(await currentWith({})).toEqual({ name: 'ana', roles: [] });
    provider.keys = [];
    expect(await currentWith({ max_key_age_seconds: 5 })).toBeUndefined();
  });

  test('get a temporary refusal while the issuer is down and there are no keys, and the log says it once', async () => {
    const provider = await Provider.start();
    const sign = await provider.addKey('a');
    provider.answer = (_request, response) => response.writeHead(500).end();
    const { failureOf, errors } = start({ main: { issuer: provider.issuer, jwks_url: `${provider.issuer}/keys` } });
    for (const name of ['ana', 'bob']) {
      expect(await failureOf(await sign({ sub: name }))).toMatchObject({
        code: 'too_busy',
        retryAfterS: 5,
        reason: CANT_BE_READ,
      });
    }
    expect(provider.asked).toEqual(['/keys']);
    expect(errors).toEqual([
      `The keys of the token issuer main can't be read from ${provider.issuer}/keys; the server tries again, and its tokens are refused with 503 until then.`,
    ]);
  });

  test('go on while the issuer is down and the keys are not too old; then standing requests end', async () => {
    const provider = await Provider.start();
    const sign = await provider.addKey('a');
    const main = { issuer: provider.issuer, jwks_url: `${provider.issuer}/keys`, max_key_age_seconds: 2 };
    const { settings, fetched, recognise, infos } = start({ main });
    const lost = new Promise<void>((resolve) => fetched.onChange(resolve));
    const token = await sign({ sub: 'ana' });
    const standing = await recognise(token);
    provider.answer = (request) => request.socket.destroy();
    expect(await recognise(token)).toMatchObject({ user: { name: 'ana' } });
    await lost;
    await expect(async () => standing?.current(settings)).rejects.toMatchObject({ code: 'too_busy' });
    provider.answer = undefined;
    await expect.poll(() => infos.length, patient).toBe(1);
    expect(await standing?.current(settings)).toEqual({ name: 'ana', roles: [] });
  });

  test.for(['{"keys":[null]}', '{"keys":[["x"]]}', '{"keys":{}}', '[]', '{'])(
    'cause one fetch in five seconds, and one entry in the log, while the key set is %s',
    async (text) => {
      const provider = await Provider.start();
      const sign = await provider.addKey('a');
      provider.answer = (_request, response) => response.end(text);
      const { failureOf, errors } = start({ main: { issuer: provider.issuer, jwks_url: `${provider.issuer}/keys` } });
      for (let n = 0; n < 3; n++)
        expect(await failureOf(await sign({ sub: 'ana' }))).toMatchObject({ code: 'too_busy' });
      expect(provider.asked).toEqual(['/keys']);
      expect(errors).toEqual([
        `The keys of the token issuer main can't be read from ${provider.issuer}/keys; the server tries again, and its tokens are refused with 503 until then.`,
      ]);
    },
  );

  test('with a key that is of no use get a temporary refusal, and the log says it once', async () => {
    const provider = await Provider.start();
    const sign = await provider.addKey('a');
    provider.keys = [{ kty: 'RSA', kid: 'a', e: 'AQAB' }];
    const { failureOf, errors } = start({ main: { issuer: provider.issuer, jwks_url: `${provider.issuer}/keys` } });
    for (let n = 0; n < 2; n++)
      expect(await failureOf(await sign({ sub: 'ana' }))).toMatchObject({ code: 'too_busy', reason: CANT_BE_READ });
    expect(errors).toEqual(["A key of the token issuer main can't be used; tokens with it are refused with 503."]);
    expect(provider.asked).toEqual(['/keys']);
  });

  test('are not checked with what is no key set, too long, elsewhere, or of another issuer', async () => {
    const provider = await Provider.start();
    const sign = await provider.addKey('a');
    const token = await sign({ sub: 'ana' });
    const answers: readonly (readonly [Answer, RegExp])[] = [
      [(_request, response) => response.end('[]'), / is the configuration of the issuer undefined/],
      [(_request, response) => response.end('<html>'), /is not valid JSON/],
      [
        (_request, response) => response.end(JSON.stringify({ issuer: `${provider.issuer}/` })),
        /Set "issuer" to exactly that/,
      ],
      [
        (_request, response) =>
          response.end(JSON.stringify({ issuer: provider.issuer, jwks_uri: 'http://example.org/' })),
        /names no https: address as jwks_uri/,
      ],
      [(_request, response) => response.end('x'.repeat(300_000)), /sent more than 262144 bytes/],
      [
        (_request, response) => response.writeHead(302, { location: '/keys' }).end(),
        /answered with 302, and redirects are not followed/,
      ],
    ];
    for (const [answer, reason] of answers) {
      provider.answer = answer;
      const { failureOf, causes } = start({ main: { issuer: provider.issuer } });
      expect(await failureOf(token)).toMatchObject({ code: 'too_busy', reason: CANT_BE_READ });
      expect(causes).toEqual([expect.objectContaining({ message: expect.stringMatching(reason) })]);
    }
  });
});

test.for([
  ['', /a JSON object such as/],
  ['[]', /a JSON object such as/],
  ['{}', /whose "issuer" is an https: address/],
  ['{"issuer":"http://example.org"}', /whose "issuer" is an https: address/],
  ['{"issuer":"https://me:secret@example.org"}', /whose "issuer" is an https: address/],
  ['{"issuer":"https://example.org/?p=a"}', /whose "issuer" is an https: address .*, and has no query/],
  ['{"issuer":"https://example.org","audience":"x"}', /no other members than .*: it has "audience"/],
  ['{"issuer":"https://example.org","jwks_url":"http://example.org/keys"}', /whose "jwks_url" is an https: address/],
  ['{"issuer":"https://example.org","audiences":"x"}', /whose "audiences" is an array/],
  ['{"issuer":"https://example.org","audiences":[""]}', /whose "audiences" is an array/],
  ['{"issuer":"https://example.org","roles_claim_path":""}', /whose "roles_claim_path" is a path/],
  ['{"issuer":"https://example.org","name_prefix":"a\\n"}', /whose "name_prefix" is a text/],
  ['{"issuer":"https://example.org","max_key_age_seconds":0}', /whose "max_key_age_seconds" is a whole number/],
] as const)('a setting is refused that does not describe an issuer: %s', ([text, reason]) => {
  const check = () => createIssuerCheck()({ get: () => text }, 'jwt_issuers', 'main');
  expect(check).toThrow(reason);
  expect(check).toThrow(/^bad_request: Setting jwt_issuers\/main does not describe a token issuer; it must be /);
});

test.for([
  '{"issuer":"https://example.org/realms/a"}',
  '{"issuer":"https://example.org","jwks_url":"https://example.org/keys?p=a"}',
  '{"issuer":"http://localhost:9000","jwks_url":"http://[::1]:9000/keys","audiences":[],"name_prefix":"org:","max_key_age_seconds":86400}',
])('a setting is taken that does: %s', (text) => {
  expect(() => createIssuerCheck()({ get: () => text }, 'jwt_issuers', 'main')).not.toThrow();
});

test('a second setting with the same issuer is refused, while there is the first', () => {
  const settings: Record<string, string> = {};
  const check = createIssuerCheck();
  const set = (key: string, issuer: string) => {
    const next: Readonly<Record<string, string>> = { ...settings, [key]: JSON.stringify({ issuer }) };
    check({ get: (_section, name) => next[name] }, 'jwt_issuers', key);
    Object.assign(settings, next);
  };
  set('a', 'https://a.example.org');
  set('b', 'https://b.example.org');
  set('a', 'https://a.example.org');
  expect(() => set('b', 'https://a.example.org')).toThrow(
    'bad_request: Setting jwt_issuers/b has the "issuer" of jwt_issuers/a, and only one of them could count. Change that one, or delete it first.',
  );
  delete settings['a'];
  set('b', 'https://a.example.org');
  set('a', 'https://b.example.org');
});
