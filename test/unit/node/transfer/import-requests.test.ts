import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../run-command.ts';
import { acceptAll, answers, documentsOf, file, requests, url, useImportServer } from './import-server.ts';

useImportServer();

describe('an import sends', () => {
  test('each document as it was written, in one request for a few', async () => {
    const path = await file('[{"_id":"a","n":1.0000000000000000001},\n {"b":  [1] }]');
    expect(await runCommand(['import', url, path])).toEqual({
      code: 0,
      stdout: `2 written, 0 refused (${url})\n`,
      stderr: '',
    });
    expect(requests).toMatchObject([
      {
        method: 'POST',
        url: '/db/_bulk_docs',
        body: '{"docs":[{"_id":"a","n":1.0000000000000000001},{"b":  [1] }]}',
        headers: { 'content-type': 'application/json' },
      },
    ]);
  });

  test('batches of --batch-size', async () => {
    const lines = Array.from({ length: 25 }, (_, index) => `{"_id":"${index}"}\n`).join('');
    const outcome = await runCommand(['import', url, '-', '--batch-size', '10'], lines);
    expect(outcome).toMatchObject({ code: 0, stdout: `25 written, 0 refused (${url})\n` });
    expect(requests.map(({ body }) => documentsOf(body).length).sort()).toEqual([10, 10, 5]);
  });

  test('batches of 4 MB at most', async () => {
    const lines = Array.from({ length: 5 }, (_, index) => `{"_id":"${index}","s":"${'x'.repeat(1_500_000)}"}\n`).join(
      '',
    );
    expect(await runCommand(['import', url, '-'], lines)).toMatchObject({ code: 0 });
    expect(requests.map(({ body }) => documentsOf(body).length).sort()).toEqual([1, 2, 2]);
  });

  test('a few batches at a time', async () => {
    let running = 0;
    let most = 0;
    let waiting: (() => void)[] = [];
    answers.bulk = async (body) => {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        // All three are there, so none of them can wait for another.
        if (running === 3 || requests.length === 7) {
          for (const next of waiting) next();
          waiting = [];
        }
      });
      running--;
      return acceptAll(body);
    };
    const lines = Array.from({ length: 7 }, (_, index) => `{"_id":"${index}"}\n`).join('');
    const outcome = await runCommand(['import', url, '-', '--batch-size', '1'], lines);
    expect(outcome).toMatchObject({ code: 0, stdout: `7 written, 0 refused (${url})\n` });
    expect(most).toBe(3);
  });

  test('the doc members of rows', async () => {
    const path = await file('{"total_rows":2,"rows":[{"id":"a","doc":{"_id":"a","x":1.50}},{"id":"b","value":{}}]}');
    const { code, stdout, stderr } = await runCommand(['import', url, path]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: `1 written, 1 refused (${url})\n` });
    expect(stderr).toContain('  document 2 (b): bad_request, the row has no doc; was include_docs=true left out?\n');
    expect(requests[0]?.body).toBe('{"docs":[{"_id":"a","x":1.50}]}');
  });

  test('gzipped input, from a file and from standard input', async () => {
    const packed = gzipSync('[{"_id":"é"}]');
    expect(await runCommand(['import', url, await file(packed, 'input.json.gz')])).toMatchObject({ code: 0 });
    expect(await runCommand(['import', url, '-'], packed)).toMatchObject({ code: 0 });
    expect(requests.map(({ body }) => body)).toEqual(['{"docs":[{"_id":"é"}]}', '{"docs":[{"_id":"é"}]}']);
  });

  test('ids taken from --id', async () => {
    const { code, stderr } = await runCommand(['import', url, '-', '--id', 'cca3'], '[{"cca3":"AUT"},{"name":"x"}]');
    expect(code).toBe(1);
    expect(requests[0]?.body).toBe('{"docs":[{"_id":"AUT","cca3":"AUT"}]}');
    expect(stderr).toContain('  document 2: bad_request, its member "cca3", which should become the _id, is not there');
  });

  test('existing revisions with --new-edits false, where the response lists failures only', async () => {
    answers.bulk = () => [{ id: 'b', rev: '1-y', error: 'forbidden', reason: 'not this one' }];
    const lines = '{"_id":"a","_rev":"1-x"}\n{"_id":"b","_rev":"1-y"}\n';
    const { code, stdout, stderr } = await runCommand(['import', url, '-', '--new-edits', 'false'], lines);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: `1 written, 1 refused (${url})\n`,
      stderr: '  document 2 (b): forbidden, not this one\n',
    });
    expect(requests[0]?.body).toBe('{"new_edits":false,"docs":[{"_id":"a","_rev":"1-x"},{"_id":"b","_rev":"1-y"}]}');
  });

  test('the creation of the database with --create, unless it exists', async () => {
    expect(await runCommand(['import', url, '-', '--create'], '{"_id":"a"}')).toMatchObject({ code: 0 });
    answers.creation = 412;
    expect(await runCommand(['import', url, '-', '--create'], '{"_id":"b"}')).toMatchObject({ code: 0 });
    expect(requests.map(({ method, url: path }) => `${method} ${path}`)).toEqual([
      'PUT /db',
      'POST /db/_bulk_docs',
      'PUT /db',
      'POST /db/_bulk_docs',
    ]);
  });

  test('name and password of the address', async () => {
    const withUser = url.replace('http://', 'http://jo:p%40ss@');
    expect(await runCommand(['import', withUser, '-'], '{"_id":"a"}')).toMatchObject({
      code: 0,
      stdout: `1 written, 0 refused (${url})\n`,
    });
    expect(requests[0]?.headers['authorization']).toBe('Basic am86cEBzcw==');
  });
});
