import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';
import { contentOf, fillServer } from '../../../support/known-content.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../../../support/postgres/postgres.ts';
import { runCommand } from '../run-command.ts';

const given = await postgresUrl();
let temporary = '';
let dataFolder = '';
let original: Record<string, unknown> = {};
const schemas = new Set<string>();

function schema(): string {
  const url = newSchema(given ?? '');
  schemas.add(url);
  return url;
}

type Place = { readonly dataFolder: string } | { readonly storage: string };

async function serving<T>(place: Place, work: (server: RunningServer) => Promise<T>): Promise<T> {
  const server = await startServer({ port: 0, logLevel: 'error', ...place });
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}

async function status(server: RunningServer, path: string, method = 'GET', body?: string): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${server.url}${path}`, { method, headers, ...(body !== undefined && { body }) });
  return response.status;
}

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'settee-copy-'));
  dataFolder = join(temporary, 'data');
  original = await serving({ dataFolder }, async (server) => {
    await fillServer(server);
    return contentOf(server);
  });
  await writeFile(join(dataFolder, 'settee.ini'), '; Ours.\n[log]\nlevel = error\n');
});

afterAll(async () => {
  for (const url of schemas) {
    const pool = await openPool(url);
    await dropSchema(pool);
    await pool.close();
  }
  await rm(temporary, { recursive: true });
});

test('from one data folder to another copies everything', async () => {
  const to = join(temporary, 'second');
  const copied = await runCommand(['copy', '--from', dataFolder, '--to', to]);
  expect(copied).toMatchObject({ code: 0 });
  expect(copied.stdout).toMatch(/^empty: 0 documents, .*\nnotes: 303 documents, \d+ pages, .*\nsettings: copied\n$/);
  expect(await serving({ dataFolder: to }, contentOf)).toEqual(original);
  expect(await readFile(join(to, 'settee.ini'), 'utf8')).toContain('level = error');
  expect((await runCommand(['verify', '--data', to])).stdout).toMatch(/^empty: .*no damage\nnotes: .*no damage\n$/);
});

test('needs two places', async () => {
  for (const argv of [['copy'], ['copy', '--from', 'x'], ['copy', 'x', 'y']]) {
    expect(await runCommand(argv)).toMatchObject({ code: 2, stderr: expect.stringContaining('Name both places') });
  }
  const url = await runCommand(['copy', '--from', 'http://ada:secret@host/db', '--to', 'x']);
  expect(url).toMatchObject({ code: 2, stderr: expect.stringContaining('use settee replicate') });
  expect(url.stderr).not.toContain('secret');
});

test('says which database is not there', async () => {
  const copied = await runCommand(['copy', '--from', dataFolder, '--to', join(temporary, 'none'), 'notes', 'other']);
  expect(copied).toEqual({
    code: 1,
    stdout: '',
    stderr: `There is no database "other" in ${dataFolder}. Check the spelling of its name.\n`,
  });
});

test('copies named databases, beside others', async () => {
  const to = join(temporary, 'beside');
  await serving({ dataFolder: to }, (server) => status(server, 'own', 'PUT'));
  expect(await runCommand(['copy', '--from', dataFolder, '--to', to, 'notes'])).toMatchObject({ code: 0 });
  const content = await serving({ dataFolder: to }, async (server) => {
    await status(server, 'empty', 'PUT');
    return contentOf(server);
  });
  expect(content).toEqual({ ...original, databases: ['empty', 'notes', 'own'], emptySequence: expect.anything() });
});

describe('a target that has the database already', () => {
  test('keeps it if it is the same, and refuses another one unless told to replace it', async () => {
    const to = join(temporary, 'there');
    await runCommand(['copy', '--from', dataFolder, '--to', to]);
    const again = await runCommand(['copy', '--from', dataFolder, '--to', to]);
    expect(again.code).toBe(0);
    expect(again.stdout.split('\n')).toEqual([
      'empty: is there already, with the same content',
      'notes: is there already, with the same content',
      'settings: is there already, with the same content',
      '',
    ]);
    await serving({ dataFolder: to }, (server) => status(server, 'notes/more', 'PUT', '{}'));
    const refused = await runCommand(['copy', '--from', dataFolder, '--to', to]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain(`${to} has another database "notes" already. Nothing was changed.`);
    expect(await serving({ dataFolder: to }, (server) => status(server, 'notes/more'))).toBe(200);
    const replaced = await runCommand(['copy', '--from', dataFolder, '--to', to, '--replace']);
    expect(replaced).toMatchObject({ code: 0, stdout: expect.stringMatching(/^empty: is there.*\nnotes: 303 docu/) });
    expect(await serving({ dataFolder: to }, contentOf)).toEqual(original);
  });

  test('of another origin gets ours with --replace', async () => {
    const to = join(temporary, 'foreign');
    await serving({ dataFolder: to }, async (server) => {
      await status(server, 'notes', 'PUT');
      await status(server, 'notes/theirs', 'PUT', '{}');
    });
    expect(await runCommand(['copy', '--from', dataFolder, '--to', to])).toMatchObject({ code: 1 });
    expect(await runCommand(['copy', '--from', dataFolder, '--to', to, '--replace'])).toMatchObject({ code: 0 });
    expect(await serving({ dataFolder: to }, contentOf)).toEqual(original);
    const files = await readdir(join(to, 'databases'));
    expect(files.filter((file) => file.startsWith('notes.') && file.split('.').length === 2)).toHaveLength(1);
    expect(files.filter((file) => file.startsWith('_cop'))).toEqual([]);
  });
});

test('other settings of the target stay', async () => {
  const to = join(temporary, 'settings');
  await serving({ dataFolder: to }, async () => undefined);
  await writeFile(join(to, 'settee.ini'), '[log]\nlevel = none\n');
  const copied = await runCommand(['copy', '--from', dataFolder, '--to', to]);
  expect(copied.code).toBe(0);
  expect(copied.stderr).toContain('settings: those of the target stay; they differ from those of the source\n');
  expect(await readFile(join(to, 'settee.ini'), 'utf8')).toBe('[log]\nlevel = none\n');
});

test('with users, but without any setting, can be served where it was copied to', async () => {
  const folder = join(temporary, 'users');
  await serving({ dataFolder: folder }, (server) => status(server, '_users', 'PUT'));
  const to = join(temporary, 'users-copied');
  expect(await runCommand(['copy', '--from', folder, '--to', to])).toMatchObject({ code: 0 });
  expect(await serving({ dataFolder: to }, (server) => status(server, '_users'))).toBe(200);
});

test('of a restored database stays equal to its original', async () => {
  const backup = join(temporary, 'backup');
  const restored = join(temporary, 'restored');
  await runCommand(['backup', backup, '--data', dataFolder]);
  await runCommand(['restore', backup, '--data', restored]);
  const to = join(temporary, 'restored-copied');
  expect(await runCommand(['copy', '--from', restored, '--to', to])).toMatchObject({ code: 0 });
  const again = await runCommand(['copy', '--from', restored, '--to', to]);
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('notes: is there already') });
  expect(await serving({ dataFolder: to }, contentOf)).toEqual(await serving({ dataFolder: restored }, contentOf));
});

test('is refused while a server uses one of the two', async () => {
  await serving({ dataFolder }, async (server) => {
    const refused = await runCommand(['copy', '--from', dataFolder, '--to', join(temporary, 'x')]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain(server.url);
  });
});

describe.skipIf(given === undefined)('with PostgreSQL', () => {
  test('copies everything there, and back', async () => {
    const storage = schema();
    const there = await runCommand(['copy', '--from', dataFolder, '--to', storage]);
    expect(there).toMatchObject({ code: 0 });
    expect(there.stdout).toMatch(/^empty: 0 documents, .*\nnotes: 303 documents, \d+ pages, .*\nsettings: copied\n$/);
    expect(await serving({ storage }, contentOf)).toEqual(original);
    const back = join(temporary, 'back');
    expect(await runCommand(['copy', '--from', storage, '--to', back])).toMatchObject({ code: 0 });
    expect(await serving({ dataFolder: back }, contentOf)).toEqual(original);
    expect(await readFile(join(back, 'settee.ini'), 'utf8')).toContain('level = error');
    const again = await runCommand(['copy', '--from', dataFolder, '--to', storage]);
    expect(again.stdout).toMatch(/^empty: is there already.*\nnotes: is there already/);
  });

  test('continues to count where the original stopped', async () => {
    const storage = schema();
    await runCommand(['copy', '--from', dataFolder, '--to', storage]);
    const written = await serving({ storage }, async (server) => {
      await status(server, 'notes/after', 'PUT', '{"n":7}');
      return contentOf(server);
    });
    expect((written['counts'] as unknown[]).slice(0, 2)).toEqual([304, 1]);
    const verified = await runCommand(['verify', '--storage', storage]);
    expect(verified).toMatchObject({ code: 0, stdout: expect.stringMatching(/notes: 305 documents, .* no damage/) });
    const other = schema();
    expect(await runCommand(['copy', '--from', storage, '--to', other])).toMatchObject({ code: 0 });
    expect(await serving({ storage: other }, contentOf)).toEqual(written);
  });

  test('keeps admins, and what the server must have one for', async () => {
    const folder = join(temporary, 'admins');
    await runCommand(['copy', '--from', dataFolder, '--to', folder]);
    await runCommand(['admin', 'add', 'ada', '--data', folder], 'secret\n');
    await serving({ dataFolder: folder }, async () => undefined);
    const storage = schema();
    expect(await runCommand(['copy', '--from', folder, '--to', storage])).toMatchObject({ code: 0 });
    await serving({ storage }, async (server) => {
      expect(server.hasAdmin).toBe(true);
      expect(await status(server, 'new', 'PUT')).toBe(401);
    });
  });

  test('is refused while a server uses the storage, in words that say which', async () => {
    const storage = schema();
    await serving({ storage }, async (server) => {
      const refused = await runCommand(['copy', '--from', dataFolder, '--to', storage]);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(/is in use by process \d+ on .*, which answers at/);
      expect(refused.stderr).toContain(server.url);
      expect(refused.stderr).toContain('Stop that server first');
    });
  });
});
