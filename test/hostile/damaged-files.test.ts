import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, assert, beforeEach, describe, expect, test } from 'vitest';
import { arrayAt, at } from '../support/conformance/json.ts';
import { AttackedServer, settee } from './support/attacked-server.ts';
import { filesIn } from './support/flips.ts';

/** Damage in chosen places: what each request then says, what `settee verify` says, and what its `--repair` does. */
let server: AttackedServer;

beforeEach(async () => {
  server = await AttackedServer.start();
  for (const database of ['damaged', 'other']) {
    await server.client.must(201, 'PUT', `/${database}`);
    await server.client.must(201, 'PUT', `/${database}/first`, { json: { text: 'the first text' } });
  }
});

afterEach(() => server.remove());

/**
 * Changes one letter of a text that stands in exactly one of the database's files, wherever it stands there: LMDB leaves former copies of
 * its pages behind. Gives the file, below the data folder.
 */
function damage(database: string, text: string): string {
  const places = filesIn(server.folder)
    .filter((file) => file.includes(`/${database}.`))
    .flatMap((file) => {
      const positions = positionsOf(text, readFileSync(join(server.folder, file)));
      return positions.length === 0 ? [] : [{ file, positions }];
    });
  expect(
    places.map(({ file }) => file),
    `files with "${text}"`,
  ).toHaveLength(1);
  const [place] = places;
  if (place === undefined) return assert.fail();
  const bytes = readFileSync(join(server.folder, place.file));
  for (const position of place.positions) bytes[position] = (bytes[position] ?? 0) ^ 1;
  writeFileSync(join(server.folder, place.file), bytes);
  return place.file;
}

function positionsOf(text: string, bytes: Buffer): readonly number[] {
  const positions: number[] = [];
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) positions.push(at);
  return positions;
}

async function expectCorrupt(method: string, path: string, json?: unknown): Promise<void> {
  const answer = await server.client.ask(method, path, json === undefined ? {} : { json });
  expect({ status: answer.status, error: at(answer.json, 'error') }, answer.summary).toEqual({
    status: 500,
    error: 'storage_corrupt',
  });
}

describe('a damaged text of a document', () => {
  test.for([
    ['small', 100],
    ['large', 300_000],
  ] as const)('that is %s is an error on reading, and verify names its database', async ([, length]) => {
    const filler = 'x'.repeat(length);
    await server.client.must(201, 'PUT', '/damaged/doc', { json: { text: `to be damaged ${filler}` } });
    await server.stop();
    damage('damaged', 'to be damaged');
    const { code, stdout, stderr } = await server.verify();
    expect(code).toBe(1);
    assert.match(stdout + stderr, /damaged: .*\n/);
    await server.startAgain();
    await expectCorrupt('GET', '/damaged/doc');
    // Among others it may be an error of its own, but no document, and nothing that is not there.
    const read = await server.client.ask('POST', '/damaged/_bulk_get', { json: { docs: [{ id: 'doc' }] } });
    if (read.status === 200) expect(at(read.json, 'results', 0, 'docs', 0, 'error', 'error')).toBe('storage_corrupt');
    else
      expect({ status: read.status, error: at(read.json, 'error') }).toEqual({ status: 500, error: 'storage_corrupt' });
    await server.client.must(200, 'GET', '/other/first');
    await server.client.must(201, 'PUT', '/other/second', { json: {} });
  });
});

describe('a damaged index', () => {
  test('is set aside, rebuilt, and found by verify', async () => {
    const map = 'function (doc) { emit(doc._id, "row of " + doc._id); }';
    await server.client.must(201, 'PUT', '/damaged/_design/d', { json: { views: { v: { map } } } });
    const right = (await server.client.must(200, 'GET', '/damaged/_design/d/_view/v')).text;
    await server.stop();
    damage('damaged', 'row of first');
    expect((await server.verify()).code).toBe(1);
    await server.startAgain();
    expect((await server.client.must(200, 'GET', '/damaged/_design/d/_view/v')).text).toBe(right);
    assert.match(server.log, /damaged/);
    await server.stop();
    expect(await server.verify()).toMatchObject({ code: 0, stderr: '' });
    await server.startAgain();
  });
});

describe('a damaged record of a journal', () => {
  const fully = { 'x-svc-full-commit': 'true' };

  async function writeAndKill(): Promise<void> {
    for (const id of ['one', 'two', 'three']) {
      await server.client.must(201, 'PUT', `/damaged/${id}`, { json: { text: `record of ${id}` }, headers: fully });
    }
    await server.kill();
  }

  test('with intact records after it keeps its database closed, and no other', async () => {
    await writeAndKill();
    damage('damaged', 'record of two');
    await server.startAgain();
    for (const path of ['', '/first', '/one', '/three', '/_all_docs']) await expectCorrupt('GET', `/damaged${path}`);
    await expectCorrupt('PUT', '/damaged/new', { n: 1 });
    await expectCorrupt('POST', '/damaged/_bulk_docs', { docs: [{}] });
    await server.client.must(200, 'GET', '/other/first');
    await server.client.must(201, 'PUT', '/other/second', { json: {} });
    expect((await server.client.must(200, 'GET', '/_all_dbs')).json).toEqual(['damaged', 'other']);
    // Neither asking nor an orderly end makes it open the next time.
    await server.stop();
    await server.startAgain();
    await expectCorrupt('GET', '/damaged/first');
  });

  test('is reported by verify, and dropped by --repair, which lists the loss', async () => {
    await writeAndKill();
    const file = damage('damaged', 'record of two');
    const found = await settee(['verify', '--data', server.folder]);
    expect(found.code).toBe(1);
    assert.include(found.stdout + found.stderr, basename(file));
    const repaired = await settee(['verify', '--repair', '--data', server.folder]);
    expect(repaired.code, repaired.stderr).toBe(0);
    assert.match(repaired.stdout + repaired.stderr, /damaged: .*drop/);
    expect(await settee(['verify', '--data', server.folder])).toMatchObject({ code: 0, stderr: '' });
    await server.startAgain();
    for (const id of ['first', 'one']) await server.client.must(200, 'GET', `/damaged/${id}`);
    await server.client.must(404, 'GET', '/damaged/two');
    await server.client.must(201, 'PUT', '/damaged/four', { json: {} });
  });

  test('at the end is treated as the trace of a killed process, not as damage', async () => {
    await writeAndKill();
    const file = filesIn(server.folder).find((path) => /\/damaged\..*journal/.test(path));
    if (file === undefined) return assert.fail('the database has no journal');
    const bytes = readFileSync(join(server.folder, file));
    writeFileSync(join(server.folder, file), bytes.subarray(0, bytes.lastIndexOf('record of three')));
    await server.startAgain();
    for (const id of ['first', 'one', 'two']) await server.client.must(200, 'GET', `/damaged/${id}`);
    await server.client.must(404, 'GET', '/damaged/three');
    const listed = await server.client.must(200, 'GET', '/damaged/_all_docs');
    expect(arrayAt(listed.json, 'rows')).toHaveLength(3);
    await server.client.must(201, 'PUT', '/damaged/four', { json: {} });
  });
});
