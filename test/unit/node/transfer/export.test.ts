import { execFileSync } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PlainResponse } from '../../../../src/base/shared/message.ts';
import { type HttpServer, listen } from '../../../../src/node/http/http-server.ts';
import { createListener } from '../../../../src/node/http/listener.ts';
import { exportFile } from '../../../../src/node/transfer/export.ts';
import { runCommand } from '../run-command.ts';

let server: HttpServer;
let url = '';
let folder = '';
let allDocs: () => PlainResponse;

const text = (body: PlainResponse['body'], status = 200): PlainResponse => ({ status, headers: {}, body });

function rowsOf(documents: readonly string[]): string {
  const rows = documents.map((document, index) => `{"id":"${index}","key":"${index}","value":{},"doc":${document}}`);
  return `{"total_rows":${documents.length},"offset":0,"rows":[\r\n${rows.join(',\r\n')}\r\n]}\n`;
}

const documents = ['{"_id":"a","_rev":"1-x","n":1.000000000000000000001}', '{"_id":"b","_rev":"2-y","s":"\\u00e9\\n"}'];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-export-'));
  server = await listen(
    createListener(
      async ({ url: path }) => {
        if (path === '/db') return text('{"db_name":"db","doc_count":2}');
        if (path === '/db/_all_docs?include_docs=true') return allDocs();
        return text('{"error":"not_found","reason":"no_db_file"}\n', 404);
      },
      () => undefined,
    ),
    '127.0.0.1',
    0,
  );
  url = `${server.url}db`;
});

afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

beforeEach(() => {
  allDocs = () => text(rowsOf(documents));
});

describe('export', () => {
  test('writes JSON lines to standard output, as the server sent them', async () => {
    expect(await runCommand(['export', url])).toEqual({ code: 0, stdout: `${documents.join('\n')}\n`, stderr: '' });
  });

  test('writes an array', async () => {
    const { stdout } = await runCommand(['export', url, '-', '--format', 'array']);
    expect(stdout).toBe(`[\n${documents.join(',\n')}\n]\n`);
  });

  test('writes nothing, or an empty array, for an empty database', async () => {
    allDocs = () => text(rowsOf([]));
    expect(await runCommand(['export', url])).toMatchObject({ code: 0, stdout: '' });
    const { stdout } = await runCommand(['export', url, '-', '--format', 'array']);
    expect(JSON.parse(stdout)).toEqual([]);
  });

  test('writes files, compressed if they end in .gz', async () => {
    const plain = join(folder, 'plain.jsonl');
    const packed = join(folder, 'packed.jsonl.gz');
    expect(await runCommand(['export', url, plain])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await runCommand(['export', url, packed])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await readFile(plain, 'utf8')).toBe(`${documents.join('\n')}\n`);
    expect(gunzipSync(await readFile(packed)).toString()).toBe(`${documents.join('\n')}\n`);
  });

  test('writes each document on one line, even if the server breaks lines', async () => {
    allDocs = () => text(rowsOf(['{\n "_id": "a",\r\n "x": "1 2"}']));
    expect(await runCommand(['export', url])).toMatchObject({ stdout: '{ "_id": "a", "x": "1 2"}\n' });
  });

  test('pulls no more from the server than the output accepts', async () => {
    let pulled = 0;
    let onCancelled: () => void = () => undefined;
    const cancelled = new Promise<void>((resolve) => {
      onCancelled = resolve;
    });
    const row = new TextEncoder().encode(`{"id":"a","doc":{"_id":"a","s":"${'x'.repeat(60_000)}"}},`);
    allDocs = () =>
      text({
        pull: async () => (pulled++ === 0 ? new TextEncoder().encode('{"rows":[') : row),
        cancel: async () => onCancelled(),
      });
    const stdout = new PassThrough();
    const running = exportFile(
      { url, file: '-', format: 'lines', attachments: undefined },
      { stdout, stderr: new PassThrough() },
    );
    const failed = expect(running).rejects.toThrow('Premature close');
    let before = -1;
    while (pulled === 0 || before !== pulled) {
      before = pulled;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    // Some MB fit into the buffers between; the rows have no end, so without back-pressure they would still come.
    expect(pulled).toBeLessThan(1_000);
    stdout.destroy();
    await failed;
    await cancelled;
  });
});

test("an export to a pipe writes to it, and doesn't replace it", async () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const [content] = await Promise.all([readFile(pipe, 'utf8'), runCommand(['export', url, pipe])]);
  expect(content).toBe(`${documents.join('\n')}\n`);
  expect((await lstat(pipe)).isFIFO()).toBe(true);
});

test('an export through a symbolic link replaces the file, and keeps the link', async () => {
  const [file, link] = [join(folder, 'behind.jsonl'), join(folder, 'link.jsonl')];
  await writeFile(file, 'before\n');
  await symlink(file, link);
  expect((await runCommand(['export', url, link])).code).toBe(0);
  expect(await readFile(file, 'utf8')).toBe(`${documents.join('\n')}\n`);
  expect((await lstat(link)).isSymbolicLink()).toBe(true);
});

describe('a failed export', () => {
  test('in the middle of the response is reported in a sentence', async () => {
    let pulls = 0;
    const pull = async () => {
      if (pulls++ > 0) throw new Error('gone');
      return new TextEncoder().encode('{"total_rows":2,"rows":[\r\n{"id":"a","doc":{"_id":"a"}}');
    };
    allDocs = () => text({ pull, cancel: async () => undefined });
    expect((await runCommand(['export', url])).stderr).toMatch(/^The response of .* broke off: .*\.\n$/);
  });

  test('of a missing database is reported', async () => {
    expect(await runCommand(['export', `${server.url}other`])).toMatchObject({
      code: 1,
      stderr: `The database ${server.url}other can't be read: 404 not_found, no_db_file\n`,
    });
  });

  test('leaves the file unchanged, and no other file', async () => {
    const path = join(folder, 'kept', 'kept.jsonl');
    await mkdir(join(folder, 'kept'));
    await writeFile(path, 'before\n');
    let pulls = 0;
    allDocs = () =>
      text({
        pull: async () => {
          if (pulls++ > 0) throw new Error('gone');
          return new TextEncoder().encode('{"total_rows":2,"rows":[\r\n{"id":"a","doc":{"_id":"a"}}');
        },
        cancel: async () => undefined,
      });
    expect((await runCommand(['export', url, path])).code).toBe(1);
    allDocs = () => text('{"total_rows":2,"rows":[\r\n{"id":"a","doc":{"_id":"a"}}');
    const { code, stderr } = await runCommand(['export', url, path]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "The input can't be read: the text ends before the closing bracket of its array.\n",
    });
    expect(await readFile(path, 'utf8')).toBe('before\n');
    expect(await readdir(join(folder, 'kept'))).toEqual(['kept.jsonl']);
  });
});
