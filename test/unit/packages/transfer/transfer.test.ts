import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { database } from '../../../../src/packages/database-client/index.ts';
import { exportDatabase, importDatabase, type RefusedLine } from '../../../../src/packages/transfer/index.ts';
import { NodeHost } from '../../../support/conformance/node-host.ts';
import { runCommand } from '../../node/run-command.ts';

const MISTAKE = 'function (doc) { if (doc.text === "no") throw { forbidden: "not that" }; }';

let host: NodeHost;
let folder = '';
let count = 0;

beforeAll(async () => {
  host = await NodeHost.start();
  folder = await mkdtemp(join(tmpdir(), 'settee-transfer-'));
});
afterAll(async () => {
  await host.close();
  await rm(folder, { recursive: true });
});

/** A new name each time; nothing is there. */
const address = () => `${host.baseUrl}/db${++count}`;

const textOf = (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => new Response(stream).text();

const blob = (...lines: string[]) => new Blob([lines.join('\n')]);

async function put(path: string, body: string): Promise<void> {
  const { status } = await fetch(path, { method: 'PUT', body });
  expect(status).toBe(201);
}

describe('an export', () => {
  test('has each document as it was written, a line each, and says how far it is', async () => {
    const notes = address();
    await put(notes, '');
    await put(`${notes}/b`, '{"n": 1.00, "big": 12345678901234567890, "s": "x\\n,\\"doc\\":{}"}');
    await put(`${notes}/a,"doc":`.replaceAll('"', '%22'), '{"text":"first"}');
    await put(`${notes}/gone`, '{}');
    await database(fetch, notes).update('gone', () => ({ _deleted: true }));
    const told: unknown[] = [];
    const text = await textOf(exportDatabase(fetch, `${notes}/`, { onProgress: (progress) => told.push(progress) }));
    const revs = (await database(fetch, notes).all()).rows.map(({ value }) => value.rev);
    expect(text.split('\n')).toEqual([
      `{"_id":"a,\\"doc\\":","_rev":"${revs[0]}","text":"first"}`,
      `{"_id":"b","_rev":"${revs[1]}","n":1.00,"big":12345678901234567890,"s":"x\\n,\\"doc\\":{}"}`,
      '',
    ]);
    expect(told).toEqual([
      { documents: 1, total: 2 },
      { documents: 2, total: 2 },
    ]);
  });

  test('of an empty database is empty', async () => {
    const notes = address();
    await put(notes, '');
    expect(await textOf(exportDatabase(fetch, notes))).toBe('');
  });

  test('asks nothing before it is read, and stops when its reader does', async () => {
    const notes = address();
    const docs = Array.from({ length: 3000 }, (_, index) => ({ _id: `${index}`, text: 'x'.repeat(1000) }));
    await database(fetch, notes).create();
    await database(fetch, notes).bulk(docs);
    let asked = 0;
    let cancelled = false;
    const stream = exportDatabase(async (path, init) => {
      asked++;
      const { body, status } = await fetch(path, init);
      const reader = body?.getReader();
      const watched = new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          const step = await reader?.read();
          if (step?.value) controller.enqueue(step.value);
          else controller.close();
        },
        cancel: async () => {
          cancelled = true;
          await reader?.cancel();
        },
      });
      return new Response(watched, { status });
    }, notes);
    expect(asked).toBe(0);
    const reader = stream.getReader();
    expect((await reader.read()).value?.length).toBeLessThan(200_000);
    await reader.cancel();
    expect([asked, cancelled]).toEqual([1, true]);
  });

  test('fails with what the database says, and where its answer is cut off or comes from elsewhere', async () => {
    const absent = textOf(exportDatabase(fetch, address()));
    await expect(absent).rejects.toMatchObject({ status: 404, reason: 'no_db_file' });
    const answering = (body: string) => textOf(exportDatabase(async () => new Response(body), '/db/notes'));
    const head = '{"total_rows":2,"offset":0,"rows":[\r\n';
    await expect(answering(`${head}{"id":"a","key":"a","value":{"rev":"1-a"},"doc":{"_id":"a"}},\r\n`)).rejects.toThrow(
      'The answer of /db/notes was cut off; export it again.',
    );
    await expect(answering('<!doctype html>\n<p>]}')).rejects.toMatchObject({ error: 'no_json' });
    await expect(answering(`${head}{"id":"a","key":"a","value":{"rev":"1-a"}}\r\n]}\n`)).rejects.toThrow(
      'a row without its document',
    );
  });
});

describe('an import', () => {
  test('of an export gives the same documents in the same revisions, attachments included', async () => {
    const [from, to] = [address(), address()];
    await put(from, '');
    await put(
      `${from}/a`,
      '{"n": 1.00, "_attachments": {"hello.txt": {"content_type": "text/plain", "data": "aGVsbG8="}}}',
    );
    await put(`${from}/_design/d`, '{"views": {}}');
    const text = await textOf(exportDatabase(fetch, from));
    expect(await importDatabase(fetch, to, new Blob([text]))).toEqual({ written: 2, refused: 0 });
    expect(await textOf(exportDatabase(fetch, to))).toBe(text);
    expect(await (await fetch(`${to}/a/hello.txt`)).text()).toBe('hello');
    // Once more changes nothing.
    expect(await importDatabase(fetch, to, new Blob([text]))).toEqual({ written: 2, refused: 0 });
    expect(await textOf(exportDatabase(fetch, to))).toBe(text);
  });

  test('writes what it can, and tells of each line that it can not', async () => {
    const notes = address();
    await put(notes, '');
    await put(`${notes}/_design/rules`, JSON.stringify({ validate_doc_update: MISTAKE }));
    await put(`${notes}/there`, '{}');
    const refusals: RefusedLine[] = [];
    const lines = [
      '{"_id":"a","text":"yes"}',
      '',
      '{"_id":"b","text":"no"}',
      'nonsense',
      '[1]',
      '{"_id":"_wrong"}\r',
      '{"_id":"there"}',
      '{"_id":"c","_rev":"3-x","text":"no"}',
      '{"_id":"c","_rev":"4-x","text":"yes"}',
      '{"_id":"d","_rev":"wrong"}',
      '{"text":"without an id"}',
    ];
    const result = await importDatabase(fetch, notes, blob(...lines), {
      onRefused: (refusal) => refusals.push(refusal),
    });
    expect(result).toEqual({ written: 3, refused: 7 });
    expect(refusals.sort((one, other) => one.line - other.line)).toEqual([
      { line: 3, id: 'b', error: 'forbidden', reason: 'not that' },
      { line: 4, id: undefined, error: 'bad_request', reason: 'no JSON object' },
      { line: 5, id: undefined, error: 'bad_request', reason: 'no JSON object' },
      { line: 6, id: '_wrong', error: 'bad_request', reason: 'Only reserved document ids may start with underscore.' },
      { line: 7, id: 'there', error: 'conflict', reason: 'Document update conflict.' },
      { line: 8, id: 'c', error: 'forbidden', reason: 'not that' },
      {
        line: 10,
        id: 'd',
        error: 'bad_request',
        reason:
          'Invalid rev format: the _rev of document "d" is "wrong". Send the revision exactly as the database returned it.',
      },
    ]);
    expect(await database(fetch, notes).get('c')).toMatchObject({ _rev: '4-x' });
  });

  test('goes in batches, says how far it is, and unpacks what is gzipped', async () => {
    const notes = address();
    const lines = Array.from({ length: 1300 }, (_, index) => `{"_id":"${index}"}\n`).join('');
    const bytes = new Uint8Array(gzipSync(lines));
    const told: { readonly written: number; readonly bytes: number; readonly total?: number }[] = [];
    const file = new Blob([bytes]);
    expect(await importDatabase(fetch, notes, file, { onProgress: (one) => told.push(one) })).toEqual({
      written: 1300,
      refused: 0,
    });
    expect(told.map(({ written }) => written)).toEqual([500, 1000, 1300]);
    expect(told.at(-1)).toEqual({ written: 1300, refused: 0, bytes: bytes.length, total: bytes.length });
    expect((await database(fetch, notes).all({ limit: 0 })).total_rows).toBe(1300);
  });

  test('stops where its signal says so, and where the database takes nothing', async () => {
    const notes = address();
    const controller = new AbortController();
    const lines = Array.from({ length: 1300 }, () => '{}\n').join('');
    const stopped = importDatabase(fetch, notes, new Blob([lines]), {
      signal: controller.signal,
      onProgress: () => controller.abort(new Error('enough')),
    });
    await expect(stopped).rejects.toThrow('enough');
    expect((await database(fetch, notes).all({ limit: 0 })).total_rows).toBe(500);
    const full = async (_path: string, { method }: { method: string }) =>
      method === 'PUT'
        ? Response.json({ ok: true })
        : Response.json({ error: 'insufficient_storage', reason: 'full' }, { status: 507 });
    await expect(importDatabase(full, notes, blob('{}', '{}'))).rejects.toMatchObject({ status: 507 });
  });
});

describe('the command line', () => {
  const settee = async (...options: string[]) => {
    const { code, stderr } = await runCommand(options);
    expect([code, stderr]).toEqual([0, '']);
  };

  test('reads what a page has exported, and writes what a page imports', async () => {
    const [from, between, to] = [address(), address(), address()];
    await put(from, '');
    await put(
      `${from}/a`,
      '{"n": 1.00, "_attachments": {"hello.txt": {"content_type": "text/plain", "data": "aGVsbG8="}}}',
    );
    const exported = await textOf(exportDatabase(fetch, from));
    await writeFile(join(folder, 'page.jsonl'), exported);
    await settee('import', between, join(folder, 'page.jsonl'), '--create', '--new-edits', 'false');
    expect(await textOf(exportDatabase(fetch, between))).toBe(exported);
    const stubs = await textOf(exportDatabase(fetch, between, { attachments: false }));
    await settee('export', between, join(folder, 'line.jsonl.gz'));
    const packed = await readFile(join(folder, 'line.jsonl.gz'));
    expect(gunzipSync(packed).toString()).toBe(stubs);
    // The content of attachments is in a folder then, which a page does not see.
    const refusals: RefusedLine[] = [];
    const file = new Blob([new Uint8Array(packed)]);
    await importDatabase(fetch, to, file, { onRefused: (refusal) => refusals.push(refusal) });
    expect(refusals).toMatchObject([{ line: 1, id: 'a', error: 'missing_stub' }]);
  });
});
