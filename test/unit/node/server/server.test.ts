import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, type ServerOptions, startServer } from '../../../../src/node/server/server.ts';
import { runCommand } from '../run-command.ts';

let temporary = '';
const running: RunningServer[] = [];

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'settee-server-'));
});

afterAll(() => rm(temporary, { recursive: true }));

afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
});

const newFolder = () => mkdtemp(join(temporary, 'data-'));

async function start(options: ServerOptions): Promise<RunningServer> {
  const server = await startServer({ port: 0, logLevel: 'error', ...options });
  running.push(server);
  return server;
}

const send = (method: string, body?: unknown): RequestInit => ({
  method,
  headers: { 'content-type': 'application/json', accept: 'application/json' },
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
});

describe('a server on a folder', () => {
  test('creates the folder and keeps written documents over a restart', async () => {
    const dataFolder = join(await newFolder(), 'new', 'deep');
    const first = await start({ dataFolder });
    expect(first.dataFolder).toBe(dataFolder);
    expect((await stat(dataFolder)).isDirectory()).toBe(true);
    expect((await fetch(`${first.url}db`, send('PUT'))).status).toBe(201);
    const written: unknown = await (await fetch(`${first.url}db/a`, send('PUT', { x: 1 }))).json();
    expect(written).toEqual({ ok: true, id: 'a', rev: expect.stringMatching(/^1-[0-9a-f]{32}$/) });
    await first.close();
    const second = await start({ dataFolder });
    expect(await (await fetch(`${second.url}db/a`)).json()).toEqual({
      _id: 'a',
      _rev: expect.stringMatching(/^1-[0-9a-f]{32}$/),
      x: 1,
    });
  });

  test('is refused a folder in use, with the address of the other server', async () => {
    const dataFolder = await newFolder();
    const first = await start({ dataFolder });
    await expect(startServer({ port: 0, dataFolder })).rejects.toMatchObject({
      code: 'storage_locked',
      reason: `The data folder ${dataFolder} is in use by process ${process.pid}, which answers at ${first.url}. Stop that process first, or choose another folder with --data.`,
    });
  });

  test('releases the folder when the port is in use', async () => {
    const first = await start({ memory: true });
    const dataFolder = await newFolder();
    await expect(startServer({ port: Number(new URL(first.url).port), dataFolder })).rejects.toMatchObject({
      code: 'storage_blocked',
    });
    await start({ dataFolder });
  });

  test('releases the folder when a setting is invalid', async () => {
    const dataFolder = await newFolder();
    await expect(startServer({ port: 0, dataFolder, config: { svc: { max_dbs_open: 'x' } } })).rejects.toMatchObject({
      code: 'bad_request',
    });
    await start({ dataFolder });
  });

  test('is refused a path that is not a folder', async () => {
    const path = join(await newFolder(), 'file');
    await writeFile(path, '');
    await expect(startServer({ port: 0, dataFolder: path })).rejects.toMatchObject({
      code: 'storage_failed',
      reason: expect.stringContaining(`The data folder ${path} can't be used`),
    });
  });
});

describe('a server in memory', () => {
  test('stores nothing', async () => {
    const first = await start({ memory: true });
    expect(first.dataFolder).toBe(undefined);
    await fetch(`${first.url}db`, send('PUT'));
    await first.close();
    const second = await start({ memory: true });
    expect(await (await fetch(`${second.url}_all_dbs`)).json()).not.toContain('db');
  });

  test('answers under its allowed hosts', async () => {
    const { url } = await start({ memory: true, allowedHosts: ['db.example.org'] });
    const statusFor = async (host: string) => {
      const outgoing = request(url, { headers: { host } });
      outgoing.end();
      const [incoming] = await once(outgoing, 'response');
      incoming.resume();
      return incoming.statusCode;
    };
    expect([await statusFor('db.example.org'), await statusFor('db.example.com')]).toEqual([200, 403]);
  });

  test('trusts forwarding headers of configured proxies only', async () => {
    const headers = { 'x-forwarded-host': 'db.example.org', 'x-forwarded-proto': 'https' };
    const locationOf = async ({ url }: RunningServer) => {
      const outgoing = request(`${url}db`, { method: 'PUT', headers });
      outgoing.end();
      const [incoming] = await once(outgoing, 'response');
      incoming.resume();
      return incoming.headers.location;
    };
    const trusting = await start({ memory: true, config: { httpd: { trusted_proxies: '127.0.0.1' } } });
    expect(await locationOf(trusting)).toBe('https://db.example.org/db');
    const other = await start({ memory: true, config: { httpd: { trusted_proxies: '10.0.0.1' } } });
    expect(await locationOf(other)).toBe(`${other.url}db`);
    const usual = await start({ memory: true });
    expect(await locationOf(usual)).toBe(`${usual.url}db`);
    // What is sent by `fetch` of the server's own process is no proxy's: replications are sent so.
    const own = await fetch(`${trusting.url}own`, { method: 'PUT', headers });
    expect(own.headers.get('location')).toBe(`${trusting.url}own`);
  });

  test('refuses a host beyond loopback', async () => {
    await expect(startServer({ memory: true, host: '0.0.0.0' })).rejects.toMatchObject({ code: 'bad_request' });
  });
});

describe('import and export', () => {
  test('copy documents from one database to another, digit for digit', async () => {
    const { url } = await start({ memory: true });
    const documents = [
      '{"_id":"a","n":1.000000000000000000001,"big":12345678901234567890,"e":1E300}',
      '{"_id":"b","z":1,"a":{"2":2,"1":1},"s":"\\u00e9 é \\ud83d\\ude00 \\n"}',
      '{"_id":"_design/d","views":{}}',
    ];
    const source = join(temporary, 'source.jsonl');
    const dump = join(temporary, 'dump.jsonl.gz');
    await writeFile(source, documents.join('\n'));
    expect(await runCommand(['import', `${url}one`, source, '--create'])).toMatchObject({
      code: 0,
      stdout: `3 written, 0 refused (${url}one)\n`,
    });
    expect(await runCommand(['export', `${url}one`, dump])).toMatchObject({ code: 0 });
    const again = await runCommand(['import', `${url}two`, dump, '--create', '--new-edits', 'false']);
    expect(again).toMatchObject({ code: 0, stdout: `3 written, 0 refused (${url}two)\n` });
    const one = await runCommand(['export', `${url}one`]);
    const two = await runCommand(['export', `${url}two`]);
    expect(two.stdout).toBe(one.stdout);
    const withoutRevisions = one.stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/"_rev":"[^"]*",?/, ''));
    expect(withoutRevisions.sort()).toEqual([
      '{"_id":"_design/d","views":{}}',
      '{"_id":"a","n":1.000000000000000000001,"big":12345678901234567890,"e":1E300}',
      '{"_id":"b","z":1,"a":{"2":2,"1":1},"s":"\\u00e9 é \\ud83d\\ude00 \\n"}',
    ]);
  });

  test('copy all countries in a few batches', async () => {
    const { url } = await start({ memory: true });
    const file = join(import.meta.dirname, '../../../../node_modules/world-countries/dist/countries.json');
    const options = ['--create', '--id', 'cca3', '--batch-size', '60'];
    expect(await runCommand(['import', `${url}countries`, file, ...options])).toMatchObject({
      code: 0,
      stdout: `250 written, 0 refused (${url}countries)\n`,
    });
    const source: { cca3: string }[] = JSON.parse(await readFile(file, 'utf8'));
    const { stdout } = await runCommand(['export', `${url}countries`, '-', '--format', 'array']);
    const exported: { _id: string; _rev: string }[] = JSON.parse(stdout);
    const byId = new Map(exported.map(({ _id, _rev, ...country }) => [_id, country]));
    expect(byId.size).toBe(250);
    for (const country of source) expect(byId.get(country.cca3)).toEqual(country);
  });
});
