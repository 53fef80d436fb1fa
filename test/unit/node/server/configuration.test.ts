import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RunningServer, type ServerOptions, startServer } from '../../../../src/node/server/server.ts';

let folder = '';
const running: RunningServer[] = [];
const logged: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-configuration-'));
  logged.length = 0;
});

afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
  await rm(folder, { recursive: true });
});

const file = () => join(folder, 'settee.ini');

async function start(options: ServerOptions = {}): Promise<RunningServer> {
  const onLog = (entry: string) => void logged.push(entry);
  const server = await startServer({ port: 0, dataFolder: folder, onLog, ...options });
  running.push(server);
  return server;
}

async function stop(server: RunningServer): Promise<void> {
  await server.close();
  running.splice(running.indexOf(server), 1);
}

async function ask({ url }: RunningServer, method: string, path: string, json?: unknown): Promise<unknown> {
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  const answer = await fetch(`${url}${path}`, { method, headers, ...body });
  return answer.json();
}

describe('the configuration file', () => {
  test('keeps changes over HTTP beside manual edits, readable for its owner only', async () => {
    await writeFile(file(), '; mine\n[uuids]\nmax_count = 7 ; few\n', { mode: 0o600 });
    const first = await start();
    expect(await ask(first, 'GET', '_config/uuids/max_count')).toBe('7');
    expect(await ask(first, 'PUT', '_config/uuids/max_count', '8')).toBe('7');
    expect(await readFile(file(), 'utf8')).toBe('; mine\n[uuids]\nmax_count = 8 ; few\n');
    expect((await stat(file())).mode & 0o777).toBe(0o600);
    await stop(first);
    expect(await ask(await start(), 'GET', '_config/uuids/max_count')).toBe('8');
  });

  test('can be another file', async () => {
    const other = join(folder, 'other.ini');
    await writeFile(other, '[uuids]\nmax_count = 7\n', { mode: 0o600 });
    const server = await start({ configFile: other });
    expect(await ask(server, 'PUT', '_config/app/a', '1')).toBe('');
    expect(await readFile(other, 'utf8')).toBe('[uuids]\nmax_count = 7\n\n[app]\na = 1\n');
    await expect(stat(file())).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('is overridden by flags, and not written then', async () => {
    await writeFile(file(), '[uuids]\nmax_count = 7\n[log]\nlevel = debug\n', { mode: 0o600 });
    const server = await start({ config: { uuids: { max_count: '5' } }, logLevel: 'error' });
    expect(await ask(server, 'GET', '_config/uuids/max_count')).toBe('5');
    expect(await ask(server, 'GET', '_config/log/level')).toBe('error');
    expect(await ask(server, 'PUT', '_config/uuids/max_count', '8')).toMatchObject({
      error: 'modification_not_allowed',
      reason: expect.stringContaining('uuids/max_count was set when the service was started'),
    });
    expect(await readFile(file(), 'utf8')).toBe('[uuids]\nmax_count = 7\n[log]\nlevel = debug\n');
  });

  test.each([
    ['[uuids]\nmax_count = many\n', 'Setting uuids/max_count is "many"; it must be a whole number from 0 to 1000000.'],
    ['[svc_httpd_auth]\nrequire_valid_user = yes\n', expect.stringContaining('svc_httpd_auth/require_valid_user')],
    ['max_count = 7\n', expect.stringContaining('settee.ini, line 1')],
    ['[httpd]\nport = 70000\n', 'Setting httpd/port is "70000"; it must be a whole number from 0 to 65535.'],
  ])('with %j keeps the server from starting, with the reason', async (text, reason) => {
    await writeFile(file(), text, { mode: 0o600 });
    await expect(start({ port: undefined })).rejects.toMatchObject({ code: 'bad_request', reason });
    await writeFile(file(), '', { mode: 0o600 });
    await start();
  });

  test('sets where the server listens', async () => {
    const other = await start({ memory: true });
    const { port } = new URL(other.url);
    await stop(other);
    await writeFile(file(), `[httpd]\nport = ${port}\nbind_address = ::1\n`, { mode: 0o600 });
    expect((await start({ port: undefined })).url).toBe(`http://[::1]:${port}/`);
  });

  test('with unknown settings is used, and the log names them', async () => {
    const text =
      '[httpd]\nport_ = 1\n[couchdb]\nuuid = 5\n[smoosh.ratio_dbs]\nmin_priority = 2.0\n[uuids]\nmax_count = 7\n';
    await writeFile(file(), text, { mode: 0o600 });
    const server = await start();
    const entries = logged.map((entry) => entry.slice(entry.indexOf('[')));
    expect(entries).toEqual([
      '[error] A stored setting has no effect. There is no setting httpd/port_. The nearest is httpd/port. An app keeps its own settings in the section app or app:NAME.',
      '[info] A stored setting has no effect. Setting couchdb/uuid has no effect here: a server makes its own uuid, and the database of users is named by svc_httpd_auth/authentication_db.',
      '[info] A stored setting has no effect. Setting smoosh.ratio_dbs/min_priority has no effect here: compaction and caches need no settings.',
      expect.stringMatching(/^\[info\] the server has started: /),
    ]);
    // They are shown, and can be deleted, but not changed.
    expect(await ask(server, 'GET', '_config/couchdb/uuid')).toBe('5');
    expect(await ask(server, 'PUT', '_config/httpd/port_', '2')).toMatchObject({ error: 'bad_request' });
    expect(await ask(server, 'DELETE', '_config/httpd/port_')).toBe('1');
    expect(await readFile(file(), 'utf8')).toBe(text.replace('port_ = 1\n', ''));
  });

  test('sets where the log is written, also entries about the file itself', async () => {
    const logFile = join(folder, 'own.log');
    await writeFile(file(), `[log]\nlevel = warning\nfile = ${logFile}\n[couchdb]\nuuid = 5\n[httpd]\nport_ = 1\n`, {
      mode: 0o600,
    });
    const server = await start();
    expect(logged.map((entry) => entry.slice(entry.indexOf('[')))).toEqual([
      expect.stringMatching(/^\[error\] .*There is no setting httpd\/port_\./),
    ]);
    await stop(server);
    expect(await readFile(logFile, 'utf8')).toBe(`${logged.join('\n')}\n`);
  });

  test('with CouchDB names of settings is understood, and keeps its lines', async () => {
    await writeFile(
      file(),
      '; of another server\n[chttpd]\nrequire_valid_user = true ; safe\n[couchdb]\nmax_dbs_open = 7\n',
    );
    const server = await start({ config: { admins: { root: 'secret' } } });
    const authorization = `Basic ${btoa('root:secret')}`;
    expect((await fetch(`${server.url}_all_dbs`)).status).toBe(401);
    const put = { method: 'PUT', headers: { authorization, 'content-type': 'application/json' }, body: '"false"' };
    expect(await (await fetch(`${server.url}_config/svc_httpd_auth/require_valid_user`, put)).json()).toBe('true');
    expect((await fetch(`${server.url}_all_dbs`)).status).toBe(200);
    expect(await readFile(file(), 'utf8')).toBe(
      '; of another server\n[chttpd]\nrequire_valid_user = false ; safe\n[couchdb]\nmax_dbs_open = 7\n',
    );
    const remove = { method: 'DELETE', headers: { authorization } };
    expect(await (await fetch(`${server.url}_config/svc/max_dbs_open`, remove)).json()).toBe('7');
    expect(await readFile(file(), 'utf8')).toBe(
      '; of another server\n[chttpd]\nrequire_valid_user = false ; safe\n[couchdb]\n',
    );
  });

  test("with both names of a setting uses the service's own, logs that, and a change removes one of them", async () => {
    await writeFile(file(), '[couchdb]\nmax_dbs_open = 7\n[svc]\nmax_dbs_open = 9\n', { mode: 0o600 });
    const server = await start();
    expect(await ask(server, 'GET', '_config/couchdb')).toMatchObject({ max_dbs_open: '9' });
    expect(logged.join('\n')).toContain(
      '[error] svc/max_dbs_open and couchdb/max_dbs_open are one setting under two names; the value of svc/max_dbs_open counts.',
    );
    expect(await ask(server, 'PUT', '_config/couchdb/max_dbs_open', '8')).toBe('9');
    expect(await readFile(file(), 'utf8')).toBe('[couchdb]\n[svc]\nmax_dbs_open = 8\n');
  });

  test("in CouchDB's forms is understood: levels, handlers, lists of names", async () => {
    const lines = [
      '[log]\nlevel = warning',
      '[chttpd]\nauthentication_handlers = {chttpd_auth, jwt_authentication_handler}, {chttpd_auth, default_authentication_handler}',
      '[httpd]\nconfig_whitelist = [{httpd,config_whitelist}, {"log",level}, {<<"chttpd">>,<<"require_valid_user">>}]',
    ];
    await writeFile(file(), `${lines.join('\n')}\n`, { mode: 0o600 });
    const server = await start();
    expect(logged).toEqual([]);
    const session = await ask(server, 'GET', '_session');
    expect(session).toMatchObject({ info: { authentication_handlers: ['jwt', 'default'] } });
    expect(await ask(server, 'PUT', '_config/svc_httpd_auth/require_valid_user', 'false')).toBe('false');
    expect(await ask(server, 'PUT', '_config/uuids/max_count', '5')).toMatchObject({
      error: 'modification_not_allowed',
    });
  });
});

test('the log follows a changed level', async () => {
  const server = await start();
  await ask(server, 'PUT', '_config/log/level', 'error');
  logged.length = 0;
  await ask(server, 'PUT', '_config/app/a', '1');
  expect(logged).toEqual([]);
  await ask(server, 'PUT', '_config/log/level', 'info');
  await ask(server, 'PUT', '_config/app/a', '2');
  expect(logged.at(-1)).toMatch(/\[info\] setting app\/a was changed$/);
});

test('delayed_commits=false makes all writes durable', async () => {
  const server = await start();
  await ask(server, 'PUT', 'db');
  await ask(server, 'PUT', '_config/svc/delayed_commits', 'false');
  expect(await ask(server, 'PUT', 'db/doc', {})).toMatchObject({ ok: true });
});

describe('a restart by request', () => {
  test("keeps address and databases, reads the file again, and drops settings that don't persist", async () => {
    const server = await start();
    await ask(server, 'PUT', 'db');
    await ask(server, 'PUT', 'db/doc', { a: 1 });
    const headers = { 'content-type': 'application/json', 'x-svc-persist': 'false' };
    await fetch(`${server.url}_config/app/a`, { method: 'PUT', headers, body: '"1"' });
    await writeFile(file(), '[uuids]\nmax_count = 7\n', { mode: 0o600 });
    expect(await ask(server, 'GET', '_config/uuids/max_count')).toBe('1000');
    const answer = await fetch(`${server.url}_restart`, { method: 'POST', headers });
    expect([answer.status, await answer.json()]).toEqual([202, { ok: true }]);
    expect(await ask(server, 'GET', '_config/uuids/max_count')).toBe('7');
    expect(await ask(server, 'GET', '_config/app')).toEqual({});
    expect(await ask(server, 'GET', 'db/doc')).toMatchObject({ a: 1 });
    expect(await ask(server, 'PUT', 'db/other', {})).toMatchObject({ ok: true });
  });

  test('ends feeds, and lets writes in progress finish', async () => {
    const server = await start();
    await ask(server, 'PUT', 'db');
    const feed = await fetch(`${server.url}db/_changes?feed=continuous&heartbeat=60000`);
    const writes = Array.from({ length: 50 }, (_, n) => ask(server, 'PUT', `db/${n}`, {}));
    await ask(server, 'POST', '_restart');
    for (const written of await Promise.all(writes)) expect(written).toMatchObject({ ok: true });
    await feed.text();
    expect(await ask(server, 'GET', 'db')).toMatchObject({ doc_count: 50 });
  });

  test('of an in-memory server keeps its databases, settings and admins', async () => {
    const server = await start({ memory: true });
    await ask(server, 'PUT', 'db');
    await ask(server, 'PUT', 'db/doc', { a: 1 });
    await ask(server, 'PUT', '_config/chttpd/changes_timeout', '777');
    const { uuid } = Object(await ask(server, 'GET', ''));
    await ask(server, 'PUT', '_config/admins/root', 'secret');
    const headers = { authorization: `Basic ${btoa('root:secret')}`, 'content-type': 'application/json' };
    const anonymous = await fetch(`${server.url}_restart`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    expect(anonymous.status).toBe(401);
    expect((await fetch(`${server.url}_restart`, { method: 'POST', headers })).status).toBe(202);
    expect(await ask(server, 'GET', 'db/doc')).toMatchObject({ a: 1 });
    expect(await ask(server, 'GET', '')).toMatchObject({ uuid });
    expect(await ask(server, 'GET', '_config/httpd/changes_timeout')).toMatchObject({ error: 'unauthorized' });
    const timeout = await fetch(`${server.url}_config/httpd/changes_timeout`, { headers });
    expect(await timeout.json()).toBe('777');
  });

  test("is refused if the file can't be read, and the server continues", async () => {
    const server = await start();
    await writeFile(file(), '[uuids]\nmax_count = many\n', { mode: 0o600 });
    expect(await ask(server, 'POST', '_restart')).toMatchObject({ error: 'bad_request' });
    expect(await ask(server, 'GET', '_config/uuids/max_count')).toBe('1000');
  });

  test('needs the content type of JSON, and is available below /_node as well', async () => {
    const server = await start();
    const plain = await fetch(`${server.url}_restart`, { method: 'POST' });
    expect(plain.status).toBe(415);
    expect(await ask(server, 'POST', '_node/_local/_restart')).toEqual({ ok: true });
    expect(await ask(server, 'GET', '_up')).toMatchObject({ status: 'ok' });
  });
});
