import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import nano from 'nano';
import HttpAdapter from 'pouchdb-adapter-http';
import PouchDB from 'pouchdb-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NodeHost } from '../../support/conformance/node-host.ts';

PouchDB.plugin(HttpAdapter);

const run = promisify(execFile);
const SECRET = 'a secret of thirty-two bytes: ok';
const USERS = ['ana', 'bob'];

let host: NodeHost;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-clients-'));
  host = await NodeHost.start({
    admins: { root: 'secret' },
    httpd: { authentication_handlers: 'oauth, cookie, proxy, default, jwt' },
    oauth_consumer_secrets: { app: 'consumer key' },
    oauth_token_secrets: { tok: 'token key' },
    oauth_token_users: { tok: 'ana' },
    jwt_keys: { 'hmac:_default': btoa(SECRET) },
    // nano sends no cookie back that does not say when it expires.
    svc_httpd_auth: { allow_persistent_cookies: 'true', proxy_use_secret: 'true', secret: SECRET, iterations: '100' },
  });
  const root = nano(withUser('root', 'secret'));
  await root.db.create('_users');
  for (const name of USERS) {
    const user = { _id: `org.couchdb.user:${name}`, type: 'user', name, roles: [], password: `pw of ${name}` };
    await root.use('_users').insert(user);
  }
  await root.db.create('notes');
  const security = { admins: { names: [], roles: [] }, members: { names: ['ana'], roles: [] } };
  await root.request({ db: 'notes', path: '_security', method: 'PUT', body: security });
});
afterAll(async () => {
  await host.close();
  await rm(folder, { recursive: true });
});

/** The address with name and password in it, as many clients are configured. */
function withUser(name: string, password: string): string {
  return host.baseUrl.replace('//', `//${encodeURIComponent(name)}:${encodeURIComponent(password)}@`);
}

describe('nano', () => {
  test("authenticates with the session's cookie", async () => {
    const server = nano(host.baseUrl);
    await expect(server.use('notes').insert({}, 'by-cookie')).rejects.toMatchObject({ statusCode: 401 });
    await expect(server.auth('ana', 'wrong')).rejects.toMatchObject({ statusCode: 401, error: 'unauthorized' });
    expect(await server.auth('ana', 'pw of ana')).toEqual({ ok: true, name: 'ana', roles: [] });
    expect(await server.session()).toMatchObject({ userCtx: { name: 'ana' }, info: { authenticated: 'cookie' } });
    expect(await server.use('notes').insert({}, 'by-cookie')).toMatchObject({ ok: true });
  });

  test('authenticates with name and password in the address', async () => {
    expect(await nano(withUser('ana', 'pw of ana')).use('notes').insert({}, 'by-basic')).toMatchObject({ ok: true });
    const others = nano(withUser('bob', 'pw of bob')).use('notes');
    await expect(others.get('by-basic')).rejects.toMatchObject({ statusCode: 401 });
  });
});

describe('PouchDB', () => {
  test('authenticates with its `auth` option', async () => {
    const db = new PouchDB(`${host.baseUrl}/notes`, {
      auth: { username: 'ana', password: 'pw of ana' },
      skip_setup: true,
    });
    const { rev } = await db.put({ _id: 'by-pouch', n: 1 });
    expect(await db.get('by-pouch')).toEqual({ _id: 'by-pouch', _rev: rev, n: 1 });
    const foreign = { auth: { username: 'bob', password: 'pw of bob' }, skip_setup: true };
    await expect(new PouchDB(`${host.baseUrl}/notes`, foreign).get('by-pouch')).rejects.toMatchObject({ status: 401 });
  });
});

describe('curl', () => {
  async function curl(...options: readonly string[]): Promise<unknown> {
    const { stdout } = await run('curl', ['-s', ...options]);
    return JSON.parse(stdout);
  }
  const session = () => `${host.baseUrl}/_session`;
  const ana = (authenticated: string) => ({ userCtx: { name: 'ana' }, info: { authenticated } });

  test('authenticates with -u', async () => {
    expect(await curl('-u', 'ana:pw of ana', session())).toMatchObject(ana('default'));
    expect(await curl('-u', 'ana:x', session())).toEqual({
      error: 'unauthorized',
      reason: 'Name or password is incorrect.',
    });
  });

  test('authenticates with a cookie jar', async () => {
    const jar = join(folder, 'jar');
    const form = ['-d', 'name=ana', '--data-urlencode', 'password=pw of ana'];
    expect(await curl('-c', jar, ...form, session())).toEqual({ ok: true, name: 'ana', roles: [] });
    expect(await curl('-b', jar, '-c', jar, session())).toMatchObject(ana('cookie'));
    expect(await curl('-b', jar, '-c', jar, '-X', 'DELETE', session())).toEqual({ ok: true });
    expect(await curl('-b', jar, session())).toMatchObject({ userCtx: { name: null, roles: [] } });
  });

  test('authenticates with a bearer token', async () => {
    const text = ['{"alg":"HS256"}', '{"sub":"ana","exp":4102444800}']
      .map((part) => Buffer.from(part).toString('base64url'))
      .join('.');
    const signature = createHmac('sha256', SECRET).update(text).digest('base64url');
    expect(await curl('-H', `Authorization: Bearer ${text}.${signature}`, session())).toMatchObject(ana('jwt'));
  });

  test('authenticates as a trusted proxy', async () => {
    const token = createHmac('sha1', SECRET).update('ana').digest('hex');
    const headers = ['X-Auth-CouchDB-UserName: ana', `X-Auth-CouchDB-Token: ${token}`].flatMap((line) => ['-H', line]);
    expect(await curl(...headers, session())).toMatchObject(ana('proxy'));
  });

  /** RFC 5849 by hand: what curl and openssl make of it in a script. */
  describe('authenticates by OAuth', () => {
    const key = 'consumer%20key&token%20key';
    const oauth = (method: string, signature: string, more = '') =>
      `Authorization: OAuth oauth_consumer_key="app", oauth_token="tok", oauth_signature_method="${method}", ${more}oauth_signature="${encodeURIComponent(signature)}"`;

    test('with PLAINTEXT', async () => {
      expect(await curl('-H', oauth('PLAINTEXT', key), session())).toMatchObject(ana('oauth'));
      const refused = { error: 'invalid_signature', reason: 'Invalid signature value.' };
      expect(await curl('-H', oauth('PLAINTEXT', 'consumer%20key&'), session())).toEqual(refused);
    });

    test('with HMAC-SHA1, once per nonce', async () => {
      const time = Math.floor(Date.now() / 1000);
      const parameters = `oauth_consumer_key=app&oauth_nonce=n1&oauth_signature_method=HMAC-SHA1&oauth_timestamp=${time}&oauth_token=tok`;
      const base = `GET&${encodeURIComponent(session())}&${encodeURIComponent(parameters)}`;
      const signature = createHmac('sha1', key).update(base).digest('base64');
      const header = oauth('HMAC-SHA1', signature, `oauth_nonce="n1", oauth_timestamp="${time}", `);
      expect(await curl('-H', header, session())).toMatchObject(ana('oauth'));
      expect(await curl('-H', header, session())).toMatchObject({ error: 'invalid_signature' });
    });
  });
});
