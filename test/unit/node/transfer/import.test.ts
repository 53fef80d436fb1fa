import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import { type HttpServer, listen } from '../../../../src/node/http/http-server.ts';
import { createListener } from '../../../../src/node/http/listener.ts';
import { runCommand } from '../run-command.ts';

/** What the server got, and how it answers `_bulk_docs`. */
const requests: { method: string; url: string; body: string; headers: PlainRequest['headers'] }[] = [];
let answerBulk: (body: string) => unknown | Promise<unknown>;
let createStatus = 201;
let server: HttpServer;
let url = '';
let folder = '';

interface Failure {
  status: number;
  error: string;
  reason: string;
}
const failure = (status: number, error: string, reason: string): Failure => ({ status, error, reason });
const isFailure = (value: unknown): value is Failure =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && 'status' in value;

function documentsOf(body: string): { _id?: string }[] {
  return JSON.parse(body).docs;
}

const acceptAll = (body: string) => documentsOf(body).map(({ _id }) => ({ ok: true, id: _id, rev: '1-a' }));

async function handle(request: PlainRequest): Promise<PlainResponse> {
  const { body } = request;
  const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : await readStream(body);
  requests.push({ method: request.method, url: request.url, body: text, headers: request.headers });
  if (request.method === 'PUT') {
    const error = { error: createStatus === 412 ? 'file_exists' : 'unauthorized', reason: 'no' };
    return { status: createStatus, headers: {}, body: JSON.stringify(createStatus === 201 ? { ok: true } : error) };
  }
  const answer = await answerBulk(text);
  const status = isFailure(answer) ? answer.status : 201;
  return { status, headers: {}, body: JSON.stringify(answer) };
}

async function readStream(body: PlainRequest['body']): Promise<string> {
  if (body === null || typeof body === 'string' || !('pull' in body)) return '';
  const decoder = new TextDecoder();
  let text = '';
  for (let chunk = await body.pull(); chunk; chunk = await body.pull()) text += decoder.decode(chunk, { stream: true });
  return text;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-import-'));
  server = await listen(
    createListener(handle, (_request, error) => {
      throw error;
    }),
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
  answerBulk = acceptAll;
  createStatus = 201;
});

afterEach(() => {
  requests.length = 0;
});

async function file(text: string | Uint8Array, name = 'input.json'): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

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
    answerBulk = async (body) => {
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
    answerBulk = () => [{ id: 'b', rev: '1-y', error: 'forbidden', reason: 'not this one' }];
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
    createStatus = 412;
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

describe('refusals of documents', () => {
  test('are shown up to ten, and all are written to --refused', async () => {
    answerBulk = (body) =>
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
      answerBulk = (body) => (body.includes('_bad') ? failure(400, 'doc_validation', reason) : acceptAll(body));
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
    answerBulk = (body) => (body.includes('bad') ? failure(status, 'word', 'why') : acceptAll(body));
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
    answerBulk = () => [
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
    answerBulk = () => failure(400, 'bad_request', 'too\nlong');
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

describe('an import stops with an error', () => {
  test('for a response with more or fewer rows than documents, as it is unknown which were written', async () => {
    answerBulk = () => [{ ok: true, id: 'a' }];
    expect(await runCommand(['import', url, '-'], '{"_id":"a"}\n{"_id":"b"}')).toMatchObject({
      code: 1,
      stdout: `0 written, 0 refused (${url})\n`,
      stderr: `${url}/_bulk_docs answered 1 rows for 2 documents.\n`,
    });
  });

  test('for a missing database, with the remedy', async () => {
    answerBulk = () => failure(404, 'not_found', 'no_db_file');
    const { code, stdout, stderr } = await runCommand(['import', url, '-'], '{"_id":"a"}');
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: `0 written, 0 refused (${url})\n`,
      stderr: 'There is no such database; --create creates it: 404 not_found, no_db_file\n',
    });
  });

  test('for a failure in the middle, and reports how much was written before', async () => {
    answerBulk = (body) => (requests.length > 2 ? failure(500, 'unknown_error', 'broken') : acceptAll(body));
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

test('an import uses little memory, whatever the size of the input', async () => {
  // 200 MB of input; what is held must be a few batches of 4 MB.
  answerBulk = (body) => {
    requests.length = 0;
    return Array.from({ length: (body.match(/"_id"/g) ?? []).length }, () => ({ ok: true }));
  };
  const line = `{"_id":"x","s":"${'y'.repeat(10_000)}"}\n`;
  const big = join(folder, 'big.jsonl.gz');
  await writeFile(big, gzipSync(line.repeat(20_000), { level: 1 }));
  let highest = 0;
  const before = process.memoryUsage().rss;
  const watch = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage().rss);
  }, 20);
  const { stdout } = await runCommand(['import', url, big]);
  clearInterval(watch);
  expect(stdout).toBe(`20000 written, 0 refused (${url})\n`);
  expect(highest - before).toBeLessThan(300 * 1024 * 1024);
}, 180_000);
