import { cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { backupData, restoreData } from '../../../../src/node/data-folder/backup.ts';
import { type RunningServer, type ServerOptions, startServer } from '../../../../src/node/server/server.ts';
import { runCommand } from '../run-command.ts';

let temporary = '';
const running: RunningServer[] = [];

beforeEach(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'settee-admins-'));
});

afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
  await rm(temporary, { recursive: true });
});

const at = (name: string) => join(temporary, name);

async function start(folder: string, options: ServerOptions = {}): Promise<RunningServer> {
  const server = await startServer({ port: 0, dataFolder: at(folder), logLevel: 'none', ...options });
  running.push(server);
  return server;
}

async function stopAll(): Promise<void> {
  for (const server of running.splice(0)) await server.close();
}

async function ask({ url }: RunningServer, method: string, path: string, json?: unknown, as?: string) {
  const credentials = as === undefined ? {} : { authorization: `Basic ${btoa(as)}` };
  const headers = { accept: 'application/json', 'content-type': 'application/json', ...credentials };
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  const answer = await fetch(`${url}${path}`, { method, headers, ...body });
  return { status: answer.status, json: await answer.json() };
}

const ROOT = 'root:secret';

/** A server with an admin, a database and a user. */
async function startOwned(folder: string, options: ServerOptions = {}): Promise<RunningServer> {
  const server = await start(folder, options);
  await ask(server, 'PUT', 'library', {});
  await ask(server, 'PUT', '_users', {});
  const ann = { _id: 'org.couchdb.user:ann', name: 'ann', type: 'user', roles: [], password: 'pw' };
  expect((await ask(server, 'PUT', '_users/org.couchdb.user:ann', ann)).status).toBe(201);
  expect((await ask(server, 'PUT', '_config/admins/root', 'secret')).status).toBe(200);
  return server;
}

async function expectOwned(server: RunningServer): Promise<void> {
  expect(await ask(server, 'GET', '_session')).toMatchObject({ json: { userCtx: { name: null, roles: [] } } });
  expect((await ask(server, 'PUT', 'another', {})).status).toBe(401);
  expect((await ask(server, 'GET', '_users/_all_docs', undefined, ROOT)).json).toMatchObject({ total_rows: 1 });
}

const REFUSED = { code: 'bad_request', reason: expect.stringMatching(/admin add NAME.*--config.*--without-admin/) };

describe('a backup', () => {
  test('has settings and admins, readable for its owner only, and so has a folder restored from it', async () => {
    await startOwned('data');
    expect(await runCommand(['backup', at('backup'), '--data', at('data')])).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^settings: copied, \d+ bytes\n/),
    });
    expect((await stat(at('backup/settee.ini'))).mode & 0o777).toBe(0o600);
    await stopAll();
    expect(await runCommand(['restore', at('backup'), '--data', at('restored')])).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^settings: restored, \d+ bytes\n/),
    });
    expect((await stat(at('restored/settee.ini'))).mode & 0o777).toBe(0o600);
    await expectOwned(await start('restored'));
    // A backup is a data folder itself.
    await stopAll();
    await expectOwned(await start('backup'));
  });

  test('has the settings of a configuration file elsewhere if that is named', async () => {
    const configFile = at('elsewhere.ini');
    await startOwned('data', { configFile });
    expect((await runCommand(['backup', at('a'), '--data', at('data'), '--config', configFile])).code).toBe(0);
    const unnamed = await runCommand(['backup', at('b'), '--data', at('data')]);
    expect(unnamed).toMatchObject({ code: 1, stderr: expect.stringMatching(/^settings: .* no admins.* --config/) });
    await stopAll();
    expect(await runCommand(['restore', at('a'), '--data', at('of-a')])).toMatchObject({ code: 0, stderr: '' });
    await expectOwned(await start('of-a'));
    const restored = await runCommand(['restore', at('b'), '--data', at('of-b')]);
    expect(restored).toMatchObject({ code: 0, stderr: expect.stringContaining('HAS NO ADMIN') });
    await expect(start('of-b')).rejects.toMatchObject(REFUSED);
    await expectOwned(await start('of-b', { configFile }));
  });

  test('of a server without admins is served without admins', async () => {
    await ask(await start('data'), 'PUT', 'library', {});
    expect(await runCommand(['backup', at('backup'), '--data', at('data')])).toMatchObject({ code: 0, stderr: '' });
    expect(await runCommand(['restore', at('backup'), '--data', at('restored')])).toMatchObject({
      code: 0,
      stderr: '',
    });
    const restored = await start('restored');
    expect((await ask(restored, 'PUT', 'another', {})).status).toBe(201);
  });

  test("without settings is restored to a folder that isn't served until it has an admin", async () => {
    await startOwned('data');
    await runCommand(['backup', at('backup'), '--data', at('data')]);
    await stopAll();
    // As an earlier version made it.
    for (const name of ['settee.ini', 'has-admins']) await rm(at(`backup/${name}`));
    const restored = await runCommand(['restore', at('backup'), '--data', at('restored')]);
    expect(restored).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^settings: .*HAS NO ADMIN.*--without-admin/),
    });
    expect(await runCommand(['serve', '--port', '0', '--no-demo', '--data', at('restored')])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Settee does not serve .*restored: its server had admins/),
    });
    const open = await start('restored', { withoutAdmin: true });
    expect((await ask(open, 'PUT', 'another', {})).status).toBe(201);
    await stopAll();
    // The flag counts once.
    await expect(start('restored')).rejects.toMatchObject(REFUSED);
    expect((await runCommand(['admin', 'add', 'root', '--data', at('restored')], 'secret\n')).code).toBe(0);
    await expectOwned(await start('restored'));
  });

  test('does not replace existing settings', async () => {
    await startOwned('data');
    await runCommand(['backup', at('backup'), '--data', at('data')]);
    await stopAll();
    await mkdir(at('restored'));
    await writeFile(at('restored/settee.ini'), '[uuids]\nmax_count = 7\n', { mode: 0o600 });
    const restored = await runCommand(['restore', at('backup'), '--data', at('restored')]);
    expect(restored.stderr).toMatch(/settee\.ini existed already and was not changed; .* HAS NO ADMIN/);
    expect(await readFile(at('restored/settee.ini'), 'utf8')).toBe('[uuids]\nmax_count = 7\n');
    await expect(start('restored')).rejects.toMatchObject(REFUSED);
  });

  test('that breaks off anywhere can be started again, and is never restored without its admins', async () => {
    await startOwned('data');
    for (let steps = 1; ; steps++) {
      const left = await breakOff(backupData({ dataFolder: at('data'), target: at('backup') }), steps);
      if (!left) break;
      await expect(stat(at('backup'))).rejects.toMatchObject({ code: 'ENOENT' });
    }
    for (let steps = 1; ; steps++) {
      const left = await breakOff(restoreData({ source: at('backup'), dataFolder: at('restored') }), steps);
      if (!left) break;
      // What is there is served with its admins, be it without databases.
      expect((await ask(await start('restored'), 'PUT', 'early', {})).status).toBe(401);
      await stopAll();
      await rm(at('restored/databases'), { recursive: true, force: true });
    }
    await stopAll();
    await expectOwned(await start('restored'));
  });
});

describe('a folder that had admins is not served', () => {
  test('if it was copied without its settings', async () => {
    await startOwned('data');
    await stopAll();
    await cp(at('data'), at('copy'), { recursive: true });
    await rm(at('copy/settee.ini'));
    await expect(start('copy')).rejects.toMatchObject(REFUSED);
    // Only the databases.
    await cp(at('data/databases'), at('bare/databases'), { recursive: true });
    await expect(start('bare')).rejects.toMatchObject({
      code: 'bad_request',
      reason: expect.stringContaining('it has users'),
    });
    await start('bare', { withoutAdmin: true });
    await stopAll();
    await start('bare', { config: { admins: { root: 'secret' } } });
  });

  test('if its admins were given by flags, or the configuration file is another', async () => {
    await start('data', { config: { admins: { root: 'secret' } } });
    await stopAll();
    await expect(start('data')).rejects.toMatchObject(REFUSED);
    await expect(start('data', { configFile: at('wrong.ini') })).rejects.toMatchObject(REFUSED);
    await start('data', { config: { admins: { root: 'secret' } } });
  });

  test('if its settings vanish while it runs', async () => {
    const server = await startOwned('data');
    await rm(at('data/settee.ini'));
    const answer = await ask(server, 'POST', '_restart', {}, ROOT);
    expect(answer).toMatchObject({ status: 400, json: { error: 'bad_request' } });
    await expectOwned(server);
  });

  test('unless its last admin was removed on purpose', async () => {
    const server = await startOwned('data');
    expect((await ask(server, 'DELETE', '_config/admins/root', undefined, ROOT)).status).toBe(200);
    await stopAll();
    expect((await ask(await start('data'), 'PUT', 'another', {})).status).toBe(201);
  });
});

/** Takes so many reports and leaves; gives whether there were more. */
async function breakOff(reports: AsyncIterable<unknown>, steps: number): Promise<boolean> {
  let taken = 0;
  for await (const _ of reports) if (++taken > steps) return true;
  return false;
}
