import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, assert, expect, test } from 'vitest';
import { at } from '../support/conformance/json.ts';
import { AttackedServer, settee } from './support/attacked-server.ts';
import type { HttpClient, Question } from './support/http-client.ts';

/** A disk with no room: a start on it says so and ends with 1. Only root can make such a disk, of memory. */
const SIZE = 8 * 1024 * 1024;

const mounted: string[] = [];
const reason = reasonToSkip();

afterEach(() => {
  for (const folder of mounted.splice(0)) removeDisk(folder);
});

function makeDisk(bytes = SIZE): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'settee-disk-'));
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder]).status === 0) return folder;
  rmSync(folder, { recursive: true });
  return undefined;
}

function removeDisk(folder: string): void {
  spawnSync('umount', [folder]);
  rmSync(folder, { recursive: true, force: true });
}

function reasonToSkip(): string | undefined {
  const disk = process.platform === 'linux' ? makeDisk() : undefined;
  if (disk === undefined) return 'no small disk can be mounted here';
  removeDisk(disk);
  return undefined;
}

function diskFor(bytes = SIZE): string {
  const folder = makeDisk(bytes);
  if (folder === undefined) return assert.fail('the disk could be mounted before');
  mounted.push(folder);
  return folder;
}

/** Takes all room but so many bytes. */
function fill(disk: string, left: number): void {
  const file = openSync(join(disk, 'filler'), 'w');
  const page = new Uint8Array(4096);
  try {
    for (;;) writeSync(file, page);
  } catch {
    // No room is left.
  }
  closeSync(file);
  if (left > 0) spawnSync('truncate', ['-s', `-${left}`, join(disk, 'filler')]);
}

async function expectRefusal(folder: string): Promise<void> {
  const outcome = await settee(['serve', '--no-demo', '--port', '0', '--data', folder]);
  expect({ code: outcome.code, stdout: outcome.stdout }, outcome.stderr).toEqual({ code: 1, stdout: '' });
  assert.match(outcome.stderr, /space|full|room/i);
  assert.notMatch(outcome.stderr, /^ {4}at |corrupted|core dumped/m);
}

test.skipIf(reason !== undefined)(
  `a start on a full disk is refused with the reason${reason ? `: ${reason}` : ''}`,
  async () => {
    const disk = diskFor();
    const folder = join(disk, 'data');
    mkdirSync(folder);
    fill(disk, 0);
    await expectRefusal(folder);
  },
);

test.skipIf(reason !== undefined).for([4_096, 16_384, 20_480, 40_960, 81_920, 90_112, 150_000, 200_000, 260_000])(
  'a start with %i bytes left is refused or works, and so does each new database',
  async (left) => {
    const disk = diskFor();
    const folder = join(disk, 'data');
    mkdirSync(folder);
    fill(disk, left);
    const outcome = await AttackedServer.start({ folder }).catch((error: Error) => error);
    if (outcome instanceof Error) return expectRefusal(folder);
    try {
      for (const name of ['a', 'b', 'c']) {
        const made = await outcome.client.must([201, 507], 'PUT', `/${name}`);
        if (made.status === 507) expect(at(made.json, 'error')).toBe('insufficient_storage');
      }
      await outcome.client.must(200, 'GET', '/_all_dbs');
    } finally {
      await outcome.remove();
    }
  },
);

test.skipIf(reason !== undefined)(
  'a start with existing databases on a full disk keeps them, and says what is wrong',
  async () => {
    const disk = diskFor();
    const folder = join(disk, 'data');
    let server = await AttackedServer.start({ folder });
    await server.client.must(201, 'PUT', '/db');
    await server.client.must(201, 'PUT', '/db/doc', { json: { n: 1 } });
    await server.kill();
    fill(disk, 0);
    const outcome = await AttackedServer.start({ folder }).catch((error: Error) => error);
    if (outcome instanceof Error) {
      assert.match(outcome.message, /space|full|room/i);
      assert.notMatch(outcome.message, /^ {4}at |corrupted/m);
    } else {
      server = outcome;
      const read = await server.client.must([200, 500, 503, 507], 'GET', '/db/doc');
      if (read.status === 200) expect(read.json).toMatchObject({ n: 1 });
      const written = await server.client.ask('PUT', '/db/other', { json: {} });
      assert.isAtLeast(written.status, 500, written.summary);
      await server.kill();
    }
    rmSync(join(disk, 'filler'));
    server = await AttackedServer.start({ folder });
    expect((await server.client.must(200, 'GET', '/db/doc')).json).toMatchObject({ n: 1 });
    await server.client.must(201, 'PUT', '/db/again', { json: {} });
    await server.kill();
  },
);

/** LMDB gives freed pages out again after one more commit, which on a full disk may be the one of the next checkpoint. */
async function writeWhenFreed(client: AttackedServer['client'], path: string, question: Question): Promise<void> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const statuses = performance.now() < deadline ? [201, 507] : [201];
    if ((await client.must(statuses, 'PUT', path, question)).status === 201) return;
    await pause(100);
  }
}

test.skipIf(reason !== undefined)(
  'an upload that fills the disk is refused, stores nothing, and frees its space',
  async () => {
    const disk = diskFor();
    const server = await AttackedServer.start({ folder: join(disk, 'data') });
    const { client } = server;
    const headers = { 'content-type': 'application/octet-stream' };
    try {
      await client.must(201, 'PUT', '/db');
      await client.must(201, 'PUT', '/db/small', { json: { n: 1 } });
      const refused = await client.must(507, 'PUT', '/db/doc/a', { body: randomBytes(2 * SIZE), headers });
      expect(at(refused.json, 'error')).toBe('insufficient_storage');
      await client.must(404, 'GET', '/db/doc');
      const bytes = randomBytes(SIZE / 16);
      await writeWhenFreed(client, '/db/next/a', { body: bytes, headers });
      expect(bytes.equals((await client.must(200, 'GET', '/db/next/a')).bytes)).toBe(true);
      expect((await client.must(200, 'GET', '/db/small')).json).toMatchObject({ n: 1 });
      await server.stop();
      const verified = await server.verify();
      expect(verified.code, verified.stdout + verified.stderr).toBe(0);
    } finally {
      await server.remove();
    }
  },
);

/** Writes documents, ever smaller ones, until none is taken. */
async function fillByWriting({ client }: AttackedServer, path: string): Promise<void> {
  let written = 0;
  for (const bytes of [100_000, 10_000, 1_000, 10]) {
    for (;;) {
      const json = { text: randomBytes(bytes / 2).toString('hex') };
      const { status } = await client.must([201, 507], 'PUT', `${path}/filling-${written}`, { json });
      if (status === 507) break;
      written += 1;
    }
  }
}

async function deleteDocument({ client }: AttackedServer, path: string): Promise<void> {
  const { json } = await client.must(200, 'GET', path);
  await client.must(200, 'DELETE', `${path}?rev=${String(at(json, '_rev'))}`);
}

test.skipIf(reason !== undefined).for(['documents', 'a file beside them'])(
  'on a disk that is full of %s a server starts, reads, deletes documents and databases, and then writes again',
  async (what) => {
    const disk = diskFor(4 * SIZE);
    const folder = join(disk, 'data');
    let server = await AttackedServer.start({ folder });
    const docs = Array.from({ length: 300 }, (_, number) => ({ _id: `doc-${number}`, text: `${number}`.repeat(200) }));
    for (const name of ['one', 'two', 'three']) {
      await server.client.must(201, 'PUT', `/${name}`);
      await server.client.must(201, 'POST', `/${name}/_bulk_docs`, { json: { docs } });
    }
    await expect.poll(() => reservedBytes(folder), { timeout: 20_000 }).toBeGreaterThan(2 ** 20);
    if (what === 'documents') await fillByWriting(server, '/one');
    else fill(disk, 0);
    await fillWithLarge(server.client, '/one');

    for (let round = 0; round < 3; round += 1) {
      await server.kill();
      server = await AttackedServer.start({ folder });
      for (const name of ['one', 'two', 'three'].slice(0, 3 - round)) {
        await server.client.must(200, 'GET', `/${name}/_all_docs?include_docs=true`);
        await server.client.must(200, 'GET', `/${name}/_changes`);
        await deleteDocument(server, `/${name}/doc-${round}`);
      }
      if (round < 2) await server.client.must(200, 'DELETE', `/${['three', 'two'][round]}`);
    }
    await server.client.must(202, 'POST', '/one/_compact', { json: {} });
    if (what !== 'documents') rmSync(join(disk, 'filler'));
    await writeWhenFreed(server.client, '/one/again', { json: { n: 1 } });
    await server.stop();
    const verified = await server.verify();
    expect(verified.code, verified.stdout + verified.stderr).toBe(0);
    server = await AttackedServer.start({ folder });
    await server.client.must(200, 'GET', '/one/again');
    for (const number of [0, 1, 2]) await server.client.must(404, 'GET', `/one/doc-${number}`);
    await server.client.must(200, 'GET', '/one/doc-3');
    await server.kill();
  },
);

test.skipIf(reason !== undefined)('a data folder on a full disk can be copied elsewhere', async () => {
  const disk = diskFor();
  const folder = join(disk, 'data');
  const server = await AttackedServer.start({ folder });
  await server.client.must(201, 'PUT', '/db');
  await server.client.must(201, 'PUT', '/db/doc', { json: { n: 1 } });
  await server.kill();
  fill(disk, 0);
  const copy = mkdtempSync(join(tmpdir(), 'settee-copy-'));
  try {
    const backup = await settee(['backup', '--data', folder, join(copy, 'backup')]);
    expect(backup.code, backup.stderr).toBe(0);
    const verified = await settee(['verify', '--data', folder]);
    expect(verified.code, verified.stdout + verified.stderr).toBe(0);
  } finally {
    rmSync(copy, { recursive: true });
  }
});

/** A store may have free pages in its files. */
async function fillWithLarge(client: HttpClient, path: string): Promise<void> {
  for (let written = 0; ; written += 1) {
    assert.isBelow(written, 8, 'documents of 1 MB on a disk that is full');
    const json = { text: randomBytes(500_000).toString('hex') };
    const { status } = await client.must([201, 507], 'PUT', `${path}/large-${written}`, { json });
    if (status === 507) return;
  }
}

function reservedBytes(folder: string): number {
  const names = readdirSync(join(folder, 'databases')).filter((name) => name.startsWith('_reserve.'));
  return names.reduce((sum, name) => sum + statSync(join(folder, 'databases', name)).size, 0);
}
