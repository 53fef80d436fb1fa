import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../run-command.ts';
import { acceptAll, answers, failure, folder, requests, url, useImportServer } from './import-server.ts';

useImportServer();

describe('an import stops with an error', () => {
  test('for a response with more or fewer rows than documents, as it is unknown which were written', async () => {
    answers.bulk = () => [{ ok: true, id: 'a' }];
    expect(await runCommand(['import', url, '-'], '{"_id":"a"}\n{"_id":"b"}')).toMatchObject({
      code: 1,
      stdout: `0 written, 0 refused (${url})\n`,
      stderr: `${url}/_bulk_docs answered 1 rows for 2 documents. That is not how a database answers: check the address, and what is between.\n`,
    });
  });

  test('for a missing database, with the remedy', async () => {
    answers.bulk = () => failure(404, 'not_found', 'no_db_file');
    const { code, stdout, stderr } = await runCommand(['import', url, '-'], '{"_id":"a"}');
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: `0 written, 0 refused (${url})\n`,
      stderr: 'There is no such database; --create creates it: 404 not_found, no_db_file\n',
    });
  });

  test('for a failure in the middle, and reports how much was written before', async () => {
    answers.bulk = (body) => (requests.length > 2 ? failure(500, 'unknown_error', 'broken') : acceptAll(body));
    const lines = Array.from({ length: 50 }, (_, index) => `{"_id":"${index}"}\n`).join('');
    const { code, stdout, stderr } = await runCommand(['import', url, '-', '--batch-size', '5'], lines);
    expect(code).toBe(1);
    expect(stdout).toBe(`10 written, 0 refused (${url})\n`);
    expect(stderr).toBe('A batch of 5 documents was refused: 500 unknown_error, broken\n');
    expect(requests.length).toBeLessThan(8);
  });

  test('for an unreachable server', async () => {
    const { code, stderr } = await runCommand(['import', 'http://127.0.0.1:1/db', '-'], '{"_id":"a"}');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^http:\/\/127\.0\.0\.1:1\/db can't be reached: .*\. Is the server running\?\n$/);
  });

  test('for input that breaks off, after writing the complete documents before', async () => {
    const { code, stdout, stderr } = await runCommand(['import', url, '-'], '[{"_id":"a"},{"_id":');
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: `1 written, 0 refused (${url})\n`,
      stderr: 'The input can\'t be read: the text ends inside document 2, which begins {"_id":.\n',
    });
  });

  test('for invalid UTF-8 and broken gzip', async () => {
    expect(await runCommand(['import', url, '-'], new Uint8Array([0x7b, 0xff, 0x7d]))).toMatchObject({
      code: 1,
      stderr: "Standard input can't be read: The encoded data was not valid for encoding utf-8\n",
    });
    const cut = gzipSync('[{"_id":"a"}]').subarray(0, 20);
    expect(await runCommand(['import', url, '-'], cut)).toMatchObject({
      code: 1,
      stderr: "Standard input can't be read: unexpected end of file\n",
    });
  });

  test('for a missing file', async () => {
    const { code, stderr } = await runCommand(['import', url, '/nowhere/x.json']);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "/nowhere/x.json can't be read: ENOENT: no such file or directory, stat '/nowhere/x.json'\n",
    });
  });

  test("for an address with a fragment or with a name that can't be decoded", async () => {
    for (const address of [`${url}#x`, url.replace('//', '//a%ff:b@')]) {
      expect(await runCommand(['import', address, '-'], '{"_id":"a"}')).toMatchObject({ code: 2 });
    }
    expect(requests.length).toBe(0);
  });

  test("for a refusals file that can't be opened, before anything is written", async () => {
    const result = await runCommand(['import', url, '-', '--refused', '/nowhere/x.json'], '{"_id":"a"}');
    expect(result).toMatchObject({ code: 1, stderr: expect.stringMatching(/^\/nowhere\/x\.json can't be written: /) });
    expect(requests.length).toBe(0);
  });

  test('for the input as refusals file, which is not emptied', async () => {
    const file = join(folder, 'both.jsonl');
    await writeFile(file, '{"_id":"a"}');
    const result = await runCommand(['import', url, file, '--refused', `${folder}/./both.jsonl`]);
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('name another file for --refused') });
    expect(await readFile(file, 'utf8')).toBe('{"_id":"a"}');
    expect(requests.length).toBe(0);
  });

  test('for an address that is not a database, with the exit code of a wrong call', async () => {
    expect(await runCommand(['import', 'countries', 'x.json'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"countries" is not the address of a database, such as http://127.0.0.1:5984/'),
    });
  });

  test.each([
    'http://jo:s%zzret@127.0.0.1:5984/db',
    'http://jo:s/zzret@127.0.0.1:5984/db',
    'http://jo:zzret@127.0.0.1:5984/',
    'https//jo:zzret@127.0.0.1:5984/db',
    'http://127.0.0.1:5984/db?password=zzret',
  ])('for an address with a mistake, without repeating its password: %s', async (address) => {
    const { code, stderr } = await runCommand(['import', address, 'x.json']);
    expect(code).toBe(2);
    expect(stderr).toContain('is not the address of a database, such as http://127.0.0.1:5984/');
    expect(stderr).not.toContain('zzret');
  });
});
