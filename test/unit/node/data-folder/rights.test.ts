import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { backupData } from '../../../../src/node/data-folder/backup.ts';
import { startServer } from '../../../../src/node/server/server.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-rights-'));
});
afterEach(() => rm(folder, { recursive: true }));

const serve = () => startServer({ dataFolder: join(folder, 'data'), port: 0, logLevel: 'none', withoutAdmin: true });

async function rightsOf(...names: string[]): Promise<number> {
  return (await stat(join(folder, ...names))).mode & 0o777;
}

test("other users of the machine can't read databases or backups", async () => {
  const server = await serve();
  expect((await fetch(new URL('/notes', server.url), { method: 'PUT' })).status).toBe(201);
  await server.close();
  expect(await rightsOf('data', 'databases')).toBe(0o700);

  const copied: string[] = [];
  const backup = backupData({ dataFolder: join(folder, 'data'), target: join(folder, 'copy') });
  for await (const { database } of backup) copied.push(database);
  expect(copied).toContainEqual(expect.stringMatching(/^notes/));
  expect(await rightsOf('copy', 'databases')).toBe(0o700);
});

test('files that an earlier release left readable for everyone are restricted, and group rights stay', async () => {
  await (await serve()).close();
  await chmod(join(folder, 'data', 'databases'), 0o755);
  await (await serve()).close();
  expect(await rightsOf('data', 'databases')).toBe(0o750);
});
