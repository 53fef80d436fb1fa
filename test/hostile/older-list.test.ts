import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, assert, beforeEach, expect, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';
import { copyFolder, filesIn } from './support/flips.ts';

/** Who puts back the list of databases alone, from a backup, loses none that was made since: their files are set aside, and named. */
let server: AttackedServer;
let backup: string;

beforeEach(async () => {
  backup = await mkdtemp(join(tmpdir(), 'settee-hostile-'));
  server = await AttackedServer.start();
  await server.client.must(201, 'PUT', '/early');
  await server.client.must(201, 'PUT', '/early/doc', { json: { text: 'what the early one has' } });
  await server.stop();
  await copyFolder(join(server.folder, 'databases', 'registry'), join(backup, 'registry'));
  await server.startAgain();
});

afterEach(async () => {
  await server.remove();
  await rm(backup, { recursive: true, force: true });
});

async function putBackList(): Promise<void> {
  await server.stop();
  const registry = join(server.folder, 'databases', 'registry');
  await rm(registry, { recursive: true });
  await cp(join(backup, 'registry'), registry, { recursive: true });
  await server.startAgain();
}

function filesWith(text: string): readonly string[] {
  return filesIn(server.folder).filter((file) => readFileSync(join(server.folder, file)).includes(text));
}

test('a database that is missing in the list is kept under a name, and the log says so', async () => {
  await server.client.must(201, 'PUT', '/late');
  await server.client.must(201, 'PUT', '/late/doc', { json: { text: 'what the late one has' } });
  await putBackList();
  expect((await server.client.must(200, 'GET', '/early/doc')).json).toMatchObject({ text: 'what the early one has' });
  await server.client.must(201, 'PUT', '/another');
  assert.isNotEmpty(filesWith('what the late one has'));
  assert.match(server.log, /late/);
});

test('a database that was found stays after further starts, and beside a new one of the same name', async () => {
  await server.client.must(201, 'PUT', '/late');
  await server.client.must(201, 'PUT', '/late/doc', { json: { text: 'what the late one has' } });
  await putBackList();
  await server.client.must([201, 412], 'PUT', '/late');
  for (let start = 0; start < 2; start++) {
    await server.stop();
    await server.startAgain();
  }
  assert.isNotEmpty(filesWith('what the late one has'));
});

test('a database deleted after the older list was made stays deleted, which the log says, and the others exist', async () => {
  await server.client.must(200, 'DELETE', '/early');
  await server.client.must(201, 'PUT', '/late');
  await putBackList();
  await server.client.must([404, 500], 'GET', '/early/doc');
  await server.client.must(201, 'PUT', '/another');
  await server.client.must(201, 'PUT', '/another/doc', { json: {} });
});
