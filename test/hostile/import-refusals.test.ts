import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { arrayAt, at } from '../support/conformance/json.ts';
import { AttackedServer, type CommandOutcome, settee } from './support/attacked-server.ts';

/**
 * Whatever an input has, each of its elements is written, or refused with its place (1 for the first) and the reason; the two numbers
 * make up all of them.
 */
let server: AttackedServer;
let folder: string;
let count = 0;

beforeAll(async () => {
  server = await AttackedServer.start();
});

afterAll(() => server.remove());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-hostile-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

interface Imported {
  readonly outcome: CommandOutcome;
  readonly refused: readonly unknown[];
  readonly ids: readonly unknown[];
}

async function importText(text: string, ...argv: readonly string[]): Promise<Imported> {
  const database = `db${++count}`;
  const input = join(folder, 'input.json');
  const refusals = join(folder, 'refused.jsonl');
  await writeFile(input, text);
  const url = new URL(`/${database}`, server.url).href;
  const outcome = await settee(['import', url, input, '--create', '--refused', refusals, ...argv]);
  const lines = (await readFile(refusals, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
  const listed = await server.client.must(200, 'GET', `/${database}/_all_docs`);
  return {
    outcome,
    refused: lines.map((line) => JSON.parse(line)),
    ids: arrayAt(listed.json, 'rows').map((row) => at(row, 'id')),
  };
}

function expectSums({ outcome }: Imported, written: number, refused: number): void {
  expect(outcome.code, outcome.stderr).toBe(refused === 0 ? 0 : 1);
  assert.include(outcome.stdout, `${written} written, ${refused} refused`);
}

/** Its bytes are nowhere. */
const stub = '{"_id":"with-stub","_attachments":{"a":{"stub":true}}}';

describe('an import with a document that is refused for', () => {
  const long = 'i'.repeat(10_000);
  const cases: readonly (readonly [string, string, string])[] = [
    ['412, for a stub', stub, 'with-stub'],
    ['400, for its id', '{"_id":"_bad"}', '_bad'],
    ['400, for a member', '{"_id":"member","_foo":1}', 'member'],
    ['400, for an id that is too long', `{"_id":"${long}"}`, long],
    ['400, for its depth', `{"_id":"deep","a":${'['.repeat(2_000)}${']'.repeat(2_000)}}`, 'deep'],
    ['400, for a number that no double holds', '{"_id":"number","n":1e999}', 'number'],
  ];

  test.for(cases)('%s imports all others', async ([, document, id]) => {
    const others = Array.from({ length: 20 }, (_, n) => `{"_id":"doc-${String(n).padStart(2, '0')}"}`);
    const imported = await importText(`[${[...others.slice(0, 7), document, ...others.slice(7)].join(',\n')}]`);
    expectSums(imported, 20, 1);
    expect(imported.ids).toHaveLength(20);
    expect(imported.refused).toHaveLength(1);
    expect(at(imported.refused[0], 'id') === id, 'the id of the refused one').toBe(true);
    expect(at(imported.refused[0], 'place')).toBe(8);
    assert.isString(at(imported.refused[0], 'reason'));
  });
});

describe('an import with elements that are not objects', () => {
  const elements = ['42', 'null', 'true', '"text"', '[{"_id":"inner"}]', '-1.5e3', '{}'];

  test('in an array refuses them one by one', async () => {
    const imported = await importText(`[{"_id":"first"},${elements.slice(0, -1).join()},{"_id":"last"}]`);
    expectSums(imported, 2, 6);
    expect(imported.ids).toEqual(['first', 'last']);
    expect(imported.refused.map((each) => at(each, 'place'))).toEqual([2, 3, 4, 5, 6, 7]);
    expect(imported.refused.map((each) => at(each, 'id'))).toEqual([null, null, null, null, null, null]);
    for (const each of imported.refused) assert.isString(at(each, 'reason'));
  });

  test('in lines refuses them one by one', async () => {
    const imported = await importText(`{"_id":"first"}\n${elements.slice(0, -1).join('\n')}\n{"_id":"last"}\n`);
    expectSums(imported, 2, 6);
    expect(imported.refused.map((each) => at(each, 'place'))).toEqual([2, 3, 4, 5, 6, 7]);
  });

  test('among docs and rows refuses them one by one', async () => {
    const docs = await importText('{"docs":[{"_id":"first"},7,{"_id":"last"}]}');
    expectSums(docs, 2, 1);
    const rows = await importText(
      '{"rows":[{"doc":{"_id":"first"}},7,{"id":"gone","doc":null},{"doc":{"_id":"last"}}]}',
    );
    expect(rows.ids).toEqual(['first', 'last']);
    assert.match(rows.outcome.stdout, /2 written, [12] refused/);
  });
});

test('an import reports many refusals among many documents', { timeout: 60_000 }, async () => {
  const elements = Array.from({ length: 3_000 }, (_, n) => {
    if (n % 500 === 3) return stub.replace('with-stub', `stub-${n}`);
    if (n % 700 === 5) return `${n}`;
    if (n % 900 === 7) return `{"_id":"_bad-${n}"}`;
    return `{"_id":"doc-${n}"}`;
  });
  const imported = await importText(`[${elements.join()}]`);
  const places = elements.flatMap((element, n) => (element.startsWith('{"_id":"doc-') ? [] : [n + 1]));
  expectSums(imported, 3_000 - places.length, places.length);
  const found = imported.refused.map((each) => Number(at(each, 'place'))).toSorted((one, other) => one - other);
  expect(found).toEqual(places);
});

test('an import ends when the server goes away, and says how far it came', async () => {
  const outcome = await settee(['import', 'http://127.0.0.1:1/db', '-'], '[{"_id":"a"}]');
  expect(outcome.code).toBe(1);
  assert.match(outcome.stdout, /0 written, 0 refused/);
});
