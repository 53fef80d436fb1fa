import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';
import { patient } from '../../../support/patience.ts';
import { CuttingProxy } from '../../../support/postgres/cutting-proxy.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../../../support/postgres/postgres.ts';
import { runCommand } from '../run-command.ts';

const given = await postgresUrl();

describe.skipIf(given === undefined)('a server on PostgreSQL', () => {
  let storage = '';
  const log: string[] = [];
  const running = new Set<RunningServer>();

  beforeAll(() => {
    storage = newSchema(given ?? '');
  });
  afterAll(async () => {
    const pool = await openPool(storage);
    await dropSchema(pool);
    await pool.close();
  });

  afterEach(async () => {
    for (const server of running) await server.close();
    running.clear();
  });

  async function start(url = storage, configFile?: string): Promise<RunningServer> {
    const server = await startServer({ port: 0, storage: url, configFile, onLog: (entry) => log.push(entry) });
    running.add(server);
    return server;
  }

  async function send(server: RunningServer, method: string, path: string, body?: string): Promise<unknown> {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${server.url}${path}`, { method, headers, ...(body !== undefined && { body }) });
    const answer: unknown = await response.json();
    return response.status === 503 ? 503 : answer;
  }

  test('serves databases, indexes and attachments, and the next one finds them', async () => {
    const first = await start();
    expect(first).toMatchObject({
      dataFolder: undefined,
      place: expect.stringMatching(/^postgres:\/\/postgres@.* \(schema test_/),
    });
    await send(first, 'PUT', 'db');
    await send(first, 'PUT', 'db/ada', '{"born":1815}');
    const views = { years: { map: 'function (doc) { emit(doc.born, 1); }', reduce: '_count' } };
    await send(first, 'PUT', 'db/_design/d', JSON.stringify({ views }));
    await send(first, 'PUT', '_config/log/level', '"debug"');
    expect(await send(first, 'GET', 'db/_design/d/_view/years?reduce=false')).toMatchObject({ total_rows: 1 });
    await first.close();
    const second = await start();
    expect(await send(second, 'GET', 'db/ada')).toMatchObject({ _id: 'ada', born: 1815 });
    expect(await send(second, 'GET', 'db/_design/d/_view/years')).toEqual({ rows: [{ key: null, value: 1 }] });
    expect(await send(second, 'GET', '_config/log/level')).toBe('debug');
    expect(await send(second, 'POST', '_restart')).toEqual({ ok: true });
    expect(await send(second, 'GET', 'db/ada')).toMatchObject({ born: 1815 });
    await send(second, 'DELETE', 'db');
    expect(await send(second, 'GET', '_all_dbs')).toEqual([]);
    await second.close();
  });

  test('lets a second one stand by, which says so, sends requests on, and takes over when the first is closed', async () => {
    const first = await start();
    await send(first, 'PUT', 'db');
    await send(first, 'PUT', 'db/ada', '{"born":1815}');
    const up = { status: 'ok', role: 'owner', synchronous_replica: false };
    expect(await send(first, 'GET', '_up')).toEqual(up);
    const second = await start();
    expect(second.standsByFor).toMatch(new RegExp(`^process ${process.pid} on .* at ${first.url}$`));
    const standby = await fetch(`${second.url}_up`);
    expect([standby.status, await standby.json()]).toEqual([
      503,
      { status: 'standby', role: 'standby', owner: first.url },
    ]);
    const sentOn = await fetch(`${second.url}db/ada?revs=true`, { redirect: 'manual' });
    expect([sentOn.status, sentOn.headers.get('location')]).toEqual([307, `${first.url}db/ada?revs=true`]);
    expect(await send(second, 'PUT', 'db/bob', '{"by":"way of the second"}')).toMatchObject({ ok: true });
    await first.close();
    await expect.poll(async () => (await fetch(`${second.url}_up`)).json(), patient).toEqual(up);
    expect(await send(second, 'GET', 'db/bob')).toMatchObject({ by: 'way of the second' });
    await send(second, 'DELETE', 'db');
  });

  test('that stands by reads the settings again when it takes over', async () => {
    const first = await start();
    const second = await start();
    await send(first, 'PUT', '_config/log/level', '"error"');
    await first.close();
    await expect.poll(async () => (await fetch(`${second.url}_up`)).status, patient).toBe(200);
    expect(await send(second, 'GET', '_config/log/level')).toBe('error');
    await send(second, 'DELETE', '_config/log/level');
  });

  test('that stands by ends like any other', async () => {
    const first = await start();
    const second = await start();
    await second.close();
    expect(await send(first, 'GET', '_up')).toMatchObject({ role: 'owner' });
  });

  test('says 503 when it has not reached the database for a while, and goes on once it does', async () => {
    const proxy = await CuttingProxy.start(Number(new URL(storage).port));
    const server = await start(`${proxy.url(new URL(storage).search)}&timeout=1`);
    await send(server, 'PUT', 'db');
    proxy.isDown = true;
    expect(await send(server, 'PUT', 'db/a', '{}')).toBe(503);
    proxy.isDown = false;
    expect(await send(server, 'PUT', 'db/a', '{}')).toMatchObject({ ok: true });
    await send(server, 'DELETE', 'db');
    await server.close();
    await proxy.close();
  });

  test('is not served without an admin once it had one, which "admin add" sets', async () => {
    const added = await runCommand(['admin', 'add', 'ada', '--storage', storage], 'secret\n');
    expect(added).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ada is a server admin .* is stored in postgres:\/\/postgres@/),
    });
    const server = await start();
    expect(server.hasAdmin).toBe(true);
    expect(await send(server, 'PUT', 'db')).toMatchObject({ error: 'unauthorized' });
    await server.close();
    const pool = await openPool(storage);
    await pool.use((connection) =>
      connection.query(`DELETE FROM ${pool.address.schema}.settings WHERE section = 'admins'`),
    );
    await expect(start()).rejects.toThrow(
      /Settee does not serve postgres:\/\/.*: its server had admins, but these settings have none.*"(npx )?settee admin add NAME --storage URL"/s,
    );
    await pool.use((connection) => connection.query(`UPDATE ${pool.address.schema}.format SET has_admins = false`));
    await pool.close();
  });

  test('never writes a password into its log or its messages', async () => {
    const url = new URL(storage);
    url.password = 'hunter2';
    const server = await start(url.href);
    await server.close();
    url.pathname = '/missing-database';
    const refused = await start(url.href).catch(String);
    expect(refused).toContain(`can't be used: database "missing-database" does not exist. Create the database first`);
    url.port = '1';
    const unreached = await start(`${url.href}&timeout=1`).catch(String);
    expect(unreached).toContain('Check the URL of the storage');
    expect(`${log.join('\n')}${refused}${unreached}${server.place}`).not.toContain('hunter2');
  });

  test('may have its settings in a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'settee-postgres-'));
    const configFile = join(folder, 'settee.ini');
    await writeFile(configFile, '[log]\nlevel = error\n');
    const server = await start(storage, configFile);
    expect(await send(server, 'GET', '_config/log/level')).toBe('error');
    await server.close();
    await rm(folder, { recursive: true });
  });

  test.each([
    [['serve', '--storage', 'mysql://ada:secret@host/db'], '--storage must be a URL that begins with postgres://'],
    [['serve', '--storage', 'postgres:///db', '--memory'], '--memory keeps everything in memory'],
    [['serve', '--storage', 'postgres:///db', '--data', 'x'], '--storage uses no data folder'],
    [['serve', '--storage', 'postgres:///db?x=1'], 'there is no parameter "x"'],
    [['serve', '--storage', 'postgres:///db', '--announce', 'db1'], '"db1" can\'t be announced'],
  ])('%j is a usage error', async (argv, message) => {
    const outcome = await runCommand(argv);
    expect(outcome).toMatchObject({ code: 2, stdout: '' });
    expect(outcome.stderr).toContain(message);
    expect(outcome.stderr).not.toContain('secret');
  });
});
