import { createHmac } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import type { Settings } from '../../../../../src/base/system/contract.ts';
import type { Core } from '../../../../../src/core/core.ts';
import { ask, askJson, openCore, pick } from '../../support.ts';

/** RFC 6070: "password" and "salt", with 4,096 iterations. */
const OLD = '-pbkdf2-4b007901b765489abead49d926f721d065a429c1,salt,4096';
const basic = (name: string, password: string) => ({ authorization: `Basic ${btoa(`${name}:${password}`)}` });
const ROOT = { ...basic('root', 'secret'), host: '127.0.0.1:5984' };
let core: Core;

afterEach(() => core.close());

async function open(settings: Settings = {}): Promise<void> {
  core = await openCore({ ...settings, admins: { root: 'secret', ...settings['admins'] } });
  // From here on its password is a hash.
  expect((await ask(core, 'GET /_config', { headers: ROOT })).status).toBe(200);
}

type Headers = Readonly<Record<string, string>>;

async function put(name: string, value: string, headers: Headers = ROOT): Promise<[number, string]> {
  return change(`PUT /_config/${name}`, JSON.stringify(value), headers);
}

async function change(what: string, body: string | null = null, headers: Headers = ROOT): Promise<[number, string]> {
  const before = core.config.sections();
  const [status, answer] = await askJson(core, what, { headers, body });
  if (status === 200) return [status, ''];
  expect(core.config.sections()).toEqual(before);
  return [status, String(pick(answer, 'reason'))];
}

const LOCKS = 'The change would lock out admins, so nothing was changed: ';

test('iteration limits that would lock out an admin are refused', async () => {
  await open({
    admins: { old: OLD.replace('4096', '200000'), never: '-pbkdf2-none', strong: OLD.replace('4096', '2000000') },
  });
  const [status, reason] = await put('svc_httpd_auth/max_verified_iterations', '199999');
  expect([status, reason]).toEqual([
    400,
    `${LOCKS}the admin old could not log in: the password was hashed with 200000 iterations, and passwords are checked up to 199999 (svc_httpd_auth/max_verified_iterations, or max_iterations if that is more). To make the change, give old a new password, or change those settings, first.`,
  ]);
  expect(await put('svc_httpd_auth/max_iterations', '200000')).toEqual([200, '']);
  expect(await put('svc_httpd_auth/max_verified_iterations', '199999')).toEqual([200, '']);
  expect((await put('svc_httpd_auth/max_iterations', '100000'))[1]).toMatch(
    /the admin old could not log in: .* 200000 it/,
  );
  expect(await put('admins/old', 'another', { ...ROOT, 'x-svc-persist': 'false' })).toEqual([200, '']);
  expect(await put('svc_httpd_auth/max_iterations', '100000')).toEqual([200, '']);
  expect((await ask(core, 'GET /_config', { headers: basic('old', 'another') })).status).toBe(200);
});

test('a hash with which an admin could not log in is refused', async () => {
  await open();
  const slow = OLD.replace('4096', '1000001');
  expect((await put('admins/eva?raw=true', slow))[1]).toMatch(/the admin eva could not log in: .* 1000001 iterations/);
  expect((await put('admins/root?raw=true', slow))[0]).toBe(400);
  expect((await put('admins/eva?raw=true', OLD))[0]).toBe(200);
});

test('authentication handlers that would lock out the requesting admin are refused', async () => {
  await open();
  const [status, reason] = await put('httpd/authentication_handlers', 'jwt, proxy');
  expect([status, reason]).toEqual([
    400,
    `${LOCKS}you could no longer log in with your name and password. To make the change, log in with one of the remaining handlers first.`,
  ]);
  expect(await put('httpd/authentication_handlers', 'cookie')).toEqual([200, '']);
  const { headers } = await ask(core, 'POST /_session', { body: JSON.stringify({ name: 'root', password: 'secret' }) });
  const cookie = { cookie: headers['set-cookie']?.split(';')[0] ?? '', host: ROOT.host };
  expect((await put('httpd/authentication_handlers', 'oauth', cookie))[0]).toBe(400);
  expect(await put('httpd/authentication_handlers', 'default', cookie)).toEqual([200, '']);
  expect((await ask(core, 'GET /_config', { headers: ROOT })).status).toBe(200);
});

test('a new secret ends sessions, and their admins can log in again', async () => {
  await open();
  const { headers } = await ask(core, 'POST /_session', { body: JSON.stringify({ name: 'root', password: 'secret' }) });
  const cookie = { cookie: headers['set-cookie']?.split(';')[0] ?? '', host: ROOT.host };
  expect(await put('svc_httpd_auth/secret', 'another', cookie)).toEqual([200, '']);
  expect((await ask(core, 'GET /_config', { headers: cookie })).status).toBe(401);
  expect((await ask(core, 'GET /_config', { headers: ROOT })).status).toBe(200);
});

test("a setting on which the requesting admin's proxy depends is kept", async () => {
  const token = createHmac('sha1', 'shared').update('op').digest('hex');
  const headers = { 'x-auth-svc-username': 'op', 'x-auth-svc-roles': '_admin', 'x-auth-svc-token': token };
  await open({
    httpd: { authentication_handlers: 'proxy, default' },
    svc_httpd_auth: { proxy_use_secret: 'true', secret: 'shared' },
  });
  const persist = { ...headers, 'x-svc-persist': 'false' };
  const reason = /your credentials, which are those of the handler proxy, would make nobody an admin any more/;
  expect((await put('svc_httpd_auth/secret', 'another', persist))[1]).toMatch(reason);
  expect((await put('svc_httpd_auth/proxy_use_secret', 'false', persist))[1]).toMatch(reason);
  expect((await put('svc_httpd_auth/x_auth_roles', 'X-Roles', persist))[1]).toMatch(reason);
  expect((await put('httpd/authentication_handlers', 'default', persist))[1]).toMatch(reason);
  expect((await put('svc_httpd_auth/timeout', '900', persist))[0]).toBe(200);
  expect((await put('httpd/authentication_handlers', 'default', { ...ROOT, 'x-svc-persist': 'false' }))[0]).toBe(200);
});

test('a virtual host that hides the configuration from the requesting host is refused', async () => {
  await open();
  for (const name of ['vhosts/*', 'vhosts/127.0.0.1:5984', 'vhosts/:a.:b.:c.:d']) {
    expect((await put(name, '/db'))[1]).toBe(
      `${LOCKS}by the name of the server that this request has, /_config would not be reached any more. To make the change, send the request by another name that no virtual host stands for, or name _config in httpd/vhost_global_handlers.`,
    );
  }
  for (const name of ['vhosts/example.com', 'vhosts/127.0.0.1:80', 'vhosts/*%2Fdb']) {
    expect(await put(name, '/db')).toEqual([200, '']);
  }
  expect(await put('vhosts/*', '/db', { ...ROOT, host: 'localhost:5984' })).toEqual([400, expect.any(String)]);
  expect(await put('httpd/vhost_global_handlers', '_session, _config, _node')).toEqual([200, '']);
  expect(await put('vhosts/*', '/db')).toEqual([200, '']);
  expect((await put('httpd/vhost_global_handlers', '_session'))[0]).toBe(400);
  expect((await change('DELETE /_config/httpd/vhost_global_handlers'))[0]).toBe(400);
});

test('the last admin who can log in is removed only together with all others', async () => {
  await open({ admins: { never: '-pbkdf2-none' } });
  const headers = { ...ROOT, 'x-svc-persist': 'false' };
  expect((await change('DELETE /_config/admins/root', null, headers))[1]).toBe(
    `${LOCKS}none of the admins that are left can log in. To make the change, make another admin first.`,
  );
  expect((await put('admins/eva', 'secret'))[0]).toBe(200);
  expect((await change('DELETE /_config/admins/root', null, headers))[0]).toBe(200);
});

test('the first admin is refused if no one could log in', async () => {
  core = await openCore({ httpd: { authentication_handlers: 'jwt' } });
  expect(await put('admins/root', 'secret', {})).toEqual([
    400,
    `${LOCKS}no admin could log in, since httpd/authentication_handlers names neither cookie nor default. To make the change, name one of them first.`,
  ]);
  const headers = { 'x-svc-persist': 'false' };
  expect((await put('httpd/authentication_handlers', 'jwt, default', headers))[0]).toBe(200);
  expect((await put('admins/root', 'secret', {}))[0]).toBe(200);
});

test('a limit of connections too low to correct it is refused', async () => {
  await open();
  for (const value of ['1', '15']) expect((await put('httpd/max_connections', value))[1]).toMatch(/set 16 at least/);
  for (const value of ['0', '16']) expect((await put('httpd/max_connections', value))[0]).toBe(200);
});

/** From a proxy that is trusted, or will be. */
async function putFrom(name: string, value: string, more: Headers = {}): Promise<[number, string]> {
  const before = core.config.sections();
  const headers = { ...ROOT, accept: 'application/json', 'content-type': 'application/json', ...more };
  const body = JSON.stringify(value);
  const answer = await core.handle({ method: 'PUT', url: `/_config/${name}`, headers, body, peer: '127.0.0.1' });
  if (answer.status === 200) return [200, ''];
  expect(core.config.sections()).toEqual(before);
  return [answer.status, String(pick(JSON.parse(String(answer.body)), 'reason'))];
}

const TAKEN = 'the handler proxy would take this very request for one of somebody who is no admin';

test.each([
  ['handlers', 'httpd', 'authentication_handlers', 'proxy, cookie, default'],
  ['proxies', 'httpd', 'trusted_proxies', '127.0.0.1'],
  ['the name of a header', 'svc_httpd_auth', 'x_auth_username', 'Host'],
])(
  'a proxy setting that would take over the requests of the admin is refused: %s',
  async (_what, section, key, value) => {
    const all = {
      httpd: { authentication_handlers: 'proxy, cookie, default', trusted_proxies: '127.0.0.1' },
      svc_httpd_auth: { x_auth_username: 'Host' },
    };
    const given: Record<string, Record<string, string>> = structuredClone(all);
    delete given[section]?.[key];
    await open(given);
    const [status, reason] = await putFrom(`${section}/${key}`, value);
    expect([status, reason]).toEqual([
      400,
      expect.stringContaining(`${LOCKS}${TAKEN}. To make the change, name cookie and`),
    ]);
    // Nor those of everybody, while everybody is an admin, or of the first admin.
    await core.close();
    core = await openCore(given);
    const withPassword = { authorization: '' };
    expect((await putFrom(`${section}/${key}`, value, withPassword))[1]).toContain(TAKEN);
  },
);

test('a change of handlers is refused if an earlier handler would see other credentials in the request', async () => {
  const token = createHmac('sha1', 'shared').update('op').digest('hex');
  const proxied = { 'x-auth-svc-username': 'op', 'x-auth-svc-roles': '_admin', 'x-auth-svc-token': token };
  await open({
    httpd: { authentication_handlers: 'proxy, default' },
    svc_httpd_auth: { proxy_use_secret: 'true', secret: 'shared' },
  });
  const name = 'httpd/authentication_handlers';
  const temporary = { ...proxied, 'x-svc-persist': 'false' };
  expect((await putFrom(name, 'default, proxy', { ...temporary, ...basic('eva', 'x') }))[1]).toContain(
    'the handler default would take',
  );
  expect((await putFrom(name, 'default, proxy', { ...temporary, authorization: 'Other x' }))[0]).toBe(200);
});

test.each(['httpd/x_forwarded_host', 'httpd/trusted_proxies'])(
  'a header setting is refused if it makes a virtual host hide the configuration: %s',
  async (name) => {
    const other = { httpd: { x_forwarded_host: 'X-Host', trusted_proxies: '127.0.0.1' } };
    const given: Record<string, string> = { ...other.httpd };
    const value = given[name.slice('httpd/'.length)] ?? '';
    delete given[name.slice('httpd/'.length)];
    await open({ httpd: given, vhosts: { 'example.com': '/db' } });
    expect((await putFrom(name, value, { 'x-host': 'example.com' }))[1]).toContain('/_config would not be reached');
    expect((await putFrom(name, value, { 'x-host': 'example.org' }))[0]).toBe(200);
  },
);

test('a virtual host that hides a part of the configuration is refused', async () => {
  await open();
  const hidden = encodeURIComponent('127.0.0.1:5984/_config/vhosts');
  expect((await put(`vhosts/${hidden}`, '/db'))[1]).toContain('/_config/vhosts/');
  const node = encodeURIComponent('*/_node/_local/_config');
  expect((await put(`vhosts/${node}`, '/db'))[1]).toContain('/_node/_local/_config/vhosts/');
});
