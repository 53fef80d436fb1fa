import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { at, stringAt } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { unpackFolder } from './support/packed-folder.ts';

/**
 * `fixtures/nested-0.1.0.gz` is a data folder of version 0.1.0, which took documents of any depth. Its database `db` has the documents
 * `a-N`, `b-N` and `c-N` with N nested arrays each, and a validator in `_design/rules`. Such documents can be got rid of.
 */
const depths = [2_000, 12_000, 30_000, 100_000];

let folder: string;
let server: AttackedServer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-hostile-'));
  await unpackFolder('nested-0.1.0.gz', folder);
  server = await AttackedServer.start({ folder });
});

afterEach(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

async function revisionOf(id: string): Promise<string> {
  const listed = await server.client.must(200, 'POST', '/db/_all_docs', { json: { keys: [id] } });
  return stringAt(listed.json, 'rows', 0, 'value', 'rev');
}

test.for(depths)('deleting a document %i levels deep works', async (depth) => {
  await server.client.must(200, 'DELETE', `/db/a-${depth}?rev=${await revisionOf(`a-${depth}`)}`);
  await server.client.must(404, 'GET', `/db/a-${depth}`);
});

test.for(depths)('deleting a document %i levels deep in bulk works', async (depth) => {
  const docs = [{ _id: `b-${depth}`, _rev: await revisionOf(`b-${depth}`), _deleted: true }];
  const answer = await server.client.must(201, 'POST', '/db/_bulk_docs', { json: { docs } });
  expect(at(answer.json, 0, 'ok'), answer.summary).toBe(true);
});

test.for(depths)(
  'a document %i levels deep can be replaced by a shallow one, which the validator checks',
  async (depth) => {
    const _rev = await revisionOf(`c-${depth}`);
    await server.client.must(403, 'PUT', `/db/c-${depth}`, { json: { _rev, bad: true } });
    await server.client.must(201, 'PUT', `/db/c-${depth}`, { json: { _rev, bad: false } });
  },
);

test('a document of the maximum depth is validated, and deleted', async () => {
  const deep = `${'['.repeat(999)}${']'.repeat(999)}`;
  await server.client.must(403, 'PUT', '/db/new', { body: `{"bad":true,"deep":${deep}}` });
  const written = await server.client.must(201, 'PUT', '/db/new', { body: `{"deep":${deep}}` });
  await server.client.must(200, 'DELETE', `/db/new?rev=${stringAt(written.json, 'rev')}`);
});
