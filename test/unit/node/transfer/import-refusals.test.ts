import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../run-command.ts';
import { acceptAll, answers, documentsOf, failure, folder, requests, url, useImportServer } from './import-server.ts';

useImportServer();

describe('refusals of documents', () => {
  test('are shown up to ten, and all are written to --refused', async () => {
    answers.bulk = (body) =>
      documentsOf(body).map(({ _id }) => ({ id: _id, error: 'conflict', reason: 'Document update conflict.' }));
    const lines = Array.from({ length: 12 }, (_, index) => `{"_id":"d${index}"}\n`).join('');
    const refusedFile = join(folder, 'refused.jsonl');
    const { code, stdout, stderr } = await runCommand(['import', url, '-', '--refused', refusedFile], lines);
    expect({ code, stdout }).toEqual({ code: 1, stdout: `0 written, 12 refused (${url})\n` });
    expect(stderr.split('\n').slice(0, 2)).toEqual([
      '  document 1 (d0): conflict, Document update conflict.',
      '  document 2 (d1): conflict, Document update conflict.',
    ]);
    expect(stderr).toContain('  … and 2 more (--refused FILE writes all of them)\n');
    expect(stderr).toContain('--new-edits false keeps the _rev of each document');
    const written = await readFile(refusedFile, 'utf8');
    expect(written.trimEnd().split('\n')).toHaveLength(12);
    expect(written.split('\n')[0]).toBe(
      '{"place":1,"id":"d0","error":"conflict","reason":"Document update conflict."}',
    );
  });

  test.each(['Bad special document member: _bad', 'Ends in a full stop.'])(
    'of a whole batch are located by halving it, and counted: %s',
    async (reason) => {
      answers.bulk = (body) => (body.includes('_bad') ? failure(400, 'doc_validation', reason) : acceptAll(body));
      const lines = '{"_id":"a"}\n{"_id":"b"}\n{"_id":"c","_bad":1}\n{"_id":"d"}\n';
      const { code, stdout, stderr } = await runCommand(['import', url, '-'], lines);
      expect({ code, stdout }).toEqual({ code: 1, stdout: `3 written, 1 refused (${url})\n` });
      expect(stderr).toBe(
        `A batch of 4 documents was refused: 400 doc_validation, ${reason.replace('stop.', 'stop')}. It is sent again in halves, to find the documents that cause this.\n  document 3 (c): doc_validation, ${reason}\n`,
      );
    },
  );
});

describe('an import with a refused element', () => {
  const refusedFile = () => join(folder, 'refused.jsonl');

  async function importAll(text: string, ...argv: string[]) {
    const { code, stdout } = await runCommand(['import', url, '-', '--refused', refusedFile(), ...argv], text);
    const lines = (await readFile(refusedFile(), 'utf8')).split('\n').filter((line) => line !== '');
    return { code, stdout, refused: lines.map((line): unknown => JSON.parse(line)) };
  }

  test.each([400, 409, 412, 413, 415, 417, 422, 501])('with status %i imports all others', async (status) => {
    answers.bulk = (body) => (body.includes('bad') ? failure(status, 'word', 'why') : acceptAll(body));
    const elements = Array.from({ length: 20 }, (_, index) => `{"_id":"${index === 7 ? 'bad' : `d${index}`}"}`);
    expect(await importAll(`[${elements}]`)).toEqual({
      code: 1,
      stdout: `19 written, 1 refused (${url})\n`,
      refused: [{ place: 8, id: 'bad', error: 'word', reason: 'why' }],
    });
  });

  test.each([
    ['an array', '[{"_id":"a"},42,null,"x",[{"_id":"b"}],{"_id":"c"}]'],
    ['lines', '{"_id":"a"}\n42\nnull\n"x"\n[{"_id":"b"}]\n{"_id":"c"}\n'],
    ['docs', '{"docs":[{"_id":"a"},42,null,"x",[{"_id":"b"}],{"_id":"c"}]}'],
  ])('that is not an object names its place, in %s', async (_, text) => {
    const refused = { id: null, error: 'bad_request', reason: 'a document must be a JSON object' };
    expect(await importAll(text)).toEqual({
      code: 1,
      stdout: `2 written, 4 refused (${url})\n`,
      refused: [2, 3, 4, 5].map((place) => ({ place, ...refused })),
    });
    expect(requests.map(({ body }) => body)).toEqual(['{"docs":[{"_id":"a"},{"_id":"c"}]}']);
  });

  test('among rows names what is not a row, and rows without a document', async () => {
    const { refused } = await importAll('{"rows":[7,{"id":"b","doc":null},{"id":"c","doc":[]},{"doc":{"_id":"d"}}]}');
    expect(refused).toEqual([
      { place: 1, id: null, error: 'bad_request', reason: 'a row must be a JSON object' },
      { place: 2, id: 'b', error: 'bad_request', reason: 'the row has no doc; was include_docs=true left out?' },
      { place: 3, id: 'c', error: 'bad_request', reason: 'a document must be a JSON object' },
    ]);
  });

  test('of several revisions finds it by its revision', async () => {
    answers.bulk = () => [
      { id: 'a', rev: '1-z', error: 'forbidden', reason: { deep: 1 } },
      { id: 'a', rev: '1-x', error: 'forbidden', reason: 'no' },
    ];
    const lines = '{"_id":"b"}\n{"_id":"a","_rev":"1-x"}\n{"_id":"a","_rev":"1-y"}\n{"_id":"a","_rev":"1-z"}\n';
    expect(await importAll(lines, '--new-edits', 'false')).toEqual({
      code: 1,
      stdout: `2 written, 2 refused (${url})\n`,
      refused: [
        { place: 2, id: 'a', error: 'forbidden', reason: 'no' },
        { place: 4, id: 'a', error: 'forbidden', reason: '{"deep":1}' },
      ],
    });
  });

  test('names it by an id of any length, which the terminal shows shortened and without control characters', async () => {
    const id = `\u001b[2J\n${'x'.repeat(12_000)}`;
    answers.bulk = () => failure(400, 'bad_request', 'too\nlong');
    const { stderr } = await runCommand(['import', url, '-', '--refused', refusedFile()], JSON.stringify({ _id: id }));
    expect(JSON.parse(await readFile(refusedFile(), 'utf8'))).toEqual({
      place: 1,
      id,
      error: 'bad_request',
      reason: 'too\nlong',
    });
    expect(stderr).toBe(`  document 1 (\\u001b[2J\\n${'x'.repeat(95)}…): bad_request, too\\nlong\n`);
  });
});
