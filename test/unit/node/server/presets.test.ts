import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { serve } from '../../../../src/node/server/serve.ts';
import { type RunningServer, type ServerOptions, startServer } from '../../../../src/node/server/server.ts';

let folder = '';
const running: RunningServer[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-presets-'));
});

afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
  await rm(folder, { recursive: true });
});

async function start(options: ServerOptions = {}): Promise<RunningServer> {
  const server = await startServer({ port: 0, dataFolder: folder, onLog: () => {}, ...options });
  running.push(server);
  return server;
}

const headers = { authorization: `Basic ${btoa('root:secret')}`, 'content-type': 'application/json' };

async function ask({ url }: RunningServer, method: string, path: string, json?: unknown): Promise<unknown> {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers,
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  return answer.json();
}

test('obsidian-livesync sets what the plugin expects, and says so', async () => {
  const server = await start({ preset: 'obsidian-livesync', config: { admins: { root: 'secret' } } });
  expect(server.presetLines).toEqual([
    'The preset obsidian-livesync sets:',
    '  svc_httpd_auth/require_valid_user = true',
    '  httpd/enable_cors = true',
    '  httpd/WWW-Authenticate = Basic realm="Settee"',
    '  cors/origins = app://obsidian.md,capacitor://localhost,http://localhost',
    '  cors/credentials = true',
  ]);
  expect(await ask(server, 'GET', '_config/cors')).toMatchObject({
    credentials: 'true',
    origins: 'app://obsidian.md,capacitor://localhost,http://localhost',
  });
  const refused = await fetch(`${server.url}_all_dbs`, { headers: { origin: 'app://obsidian.md' } });
  expect(refused.status).toBe(401);
  expect(refused.headers.get('www-authenticate')).toBe('Basic realm="Settee"');
  expect(refused.headers.get('access-control-allow-origin')).toBe('app://obsidian.md');
});

test('what the file or an option has wins over a preset, and a change is stored', async () => {
  const file = join(folder, 'settee.ini');
  await writeFile(file, '[chttpd]\nrequire_valid_user = false\n', { mode: 0o600 });
  const config = { admins: { root: 'secret' }, cors: { origins: 'app://obsidian.md' } };
  const server = await start({ preset: 'obsidian-livesync', config });
  expect(server.presetLines).toContain(
    '  svc_httpd_auth/require_valid_user = false, as you set it (the preset has true)',
  );
  expect(server.presetLines).toContain(
    '  cors/origins = app://obsidian.md, as you set it (the preset has app://obsidian.md,capacitor://localhost,http://localhost)',
  );
  expect(await ask(server, 'PUT', '_config/cors/credentials', 'false')).toBe('true');
  expect(await readFile(file, 'utf8')).toContain('[cors]\ncredentials = false\n');
  expect(await ask(server, 'DELETE', '_config/cors/credentials')).toBe('false');
  expect(await ask(server, 'GET', '_config/cors/credentials')).toBe('true');
});

test('values that together would let every page act as the user keep the server from starting', async () => {
  await expect(start({ preset: 'pouchdb', config: { cors: { origins: '*' } } })).rejects.toThrow(
    /would let every page act with the rights of the user/,
  );
});

test('pouchdb asks for the origins of the app', async () => {
  const advice = "Name the origins of your app's pages: --set cors/origins=https://app.example.org";
  expect((await start({ preset: 'pouchdb', memory: true })).presetLines).toContain(advice);
  const config = { cors: { origins: 'https://app.example.org' } };
  expect((await start({ preset: 'pouchdb', memory: true, config })).presetLines).not.toContain(advice);
});

test('serve prints what the preset sets', async () => {
  const stdout = new PassThrough();
  const printed = once(stdout, 'data');
  const stops: (() => void)[] = [];
  const on = (signal: string, act: () => void) => void (signal === 'SIGTERM' && stops.push(act));
  const options = { port: 0, memory: true, preset: 'pouchdb', onLog: () => {} } as const;
  const served = serve(options, { stdout, on, off: () => {}, exit: () => {} });
  const [text] = await printed;
  for (const stop of stops) stop();
  expect(await served).toBe(0);
  expect(String(text)).toContain('The preset pouchdb sets:\n  httpd/enable_cors = true\n  cors/credentials = true\n');
});
