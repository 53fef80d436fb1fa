import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, assert, beforeEach, expect, test } from 'vitest';
import { arrayAt, at, numberAt } from '../support/conformance/json.ts';
import { AttackedServer, settee } from './support/attacked-server.ts';
import { unpackFolder } from './support/packed-folder.ts';

/**
 * `fixtures/poisoned-0.1.0.gz` is a data folder that version 0.1.0 wrote, with one database for each write that poisoned it: after
 * that write no other one succeeded, and `settee verify` ended with an invariant. Each had a document `first` before.
 *
 * | database | what was written |
 * |---|---|
 * | `local` | `_local/x` with 1,500,000 characters |
 * | `security` | `_security` with 3,000,000 characters |
 * | `id` | in bulk, a document with an id of 2,000,000 characters |
 * | `hash` | with `new_edits=false`, a revision `1-` with 2,000,000 characters |
 * | `branches` | with `new_edits=false`, 12 branches of a document, of 1,000 revisions with 128 characters each |
 */
const databases = ['local', 'security', 'id', 'hash', 'branches'];

let folder: string;
let server: AttackedServer | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-hostile-'));
  await unpackFolder('poisoned-0.1.0.gz', folder);
});

afterEach(async () => {
  await server?.remove();
  server = undefined;
  await rm(folder, { recursive: true, force: true });
});

test.for(databases)('a poisoned database passes verify before any server opens it: %s', async (database) => {
  const { code, stderr } = await settee(['verify', database, '--data', folder]);
  expect({ code, stderr: stderr.slice(0, 1_000) }).toEqual({ code: 0, stderr: '' });
});

test.for(databases)('a poisoned database can be opened, written and verified again: %s', async (database) => {
  server = await AttackedServer.start({ folder });
  expect((await server.client.must(200, 'GET', `/${database}/first`)).json).toMatchObject({ n: 1 });
  await server.client.must(201, 'PUT', `/${database}/third`, { json: { n: 3 } });
  await server.stop();
  const { code, stderr } = await settee(['verify', database, '--data', folder]);
  expect({ code, stderr: stderr.slice(0, 1_000) }).toEqual({ code: 0, stderr: '' });
  await server.startAgain();
  await server.client.must(201, 'PUT', `/${database}/fourth`, { json: { n: 4 } });
  expect((await server.client.must(200, 'GET', `/${database}/third`)).json).toMatchObject({ n: 3 });
});

test('the write that poisoned a database is not lost, as it was acknowledged', async () => {
  server = await AttackedServer.start({ folder });
  const { client } = server;
  for (const database of databases) await client.must(201, 'PUT', `/${database}/third`, { json: { n: 3 } });
  const local = await client.must(200, 'GET', '/local/_local/x');
  assert.isTrue(at(local.json, 'text') === 'x'.repeat(1_500_000));
  const security = await client.must(200, 'GET', '/security/_security');
  assert.isTrue(at(security.json, 'note') === 'x'.repeat(3_000_000));
  const listed = await client.must(200, 'GET', '/id/_all_docs?startkey="i"&endkey="j"&include_docs=true');
  const rows = arrayAt(listed.json, 'rows');
  expect(rows).toHaveLength(1);
  assert.isTrue(at(rows[0], 'id') === 'i'.repeat(2_000_000));
  expect(numberAt(rows[0], 'doc', 'n')).toBe(2);
  const hash = await client.must(200, 'GET', '/hash/doc');
  assert.isTrue(at(hash.json, '_rev') === `1-${'a'.repeat(2_000_000)}`);
  const branches = await client.must(200, 'GET', '/branches/doc?open_revs=all');
  expect(arrayAt(branches.json)).toHaveLength(12);
});
