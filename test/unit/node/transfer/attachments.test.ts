import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';
import { runCommand } from '../run-command.ts';
import { openRelay, type Relay } from './relay.ts';

let server: RunningServer;
let relay: Relay;
let temporary = '';
let folder = '';
let lines = '';
let source = '';
let target = '';
let count = 0;

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'settee-attachments-'));
  server = await startServer({ port: 0, memory: true, logLevel: 'none' });
  relay = await openRelay(server.url);
});

afterAll(async () => {
  await relay.close();
  await server.close();
  await rm(temporary, { recursive: true });
});

beforeEach(async () => {
  count++;
  folder = join(temporary, `files-${count}`);
  lines = join(temporary, `lines-${count}.jsonl`);
  source = `${relay.url}source-${count}`;
  target = `${relay.url}target-${count}`;
  for (const url of [source, target]) await send('PUT', url);
});

afterEach(() => {
  relay.meddle = () => false;
  relay.requests.length = 0;
});

async function send(method: string, url: string, body?: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  expect(response.status).toBeLessThan(300);
  return response.json();
}

interface Entry {
  readonly content_type?: string;
  readonly data: string;
}

const entry = (content: string | Buffer, type?: string): Entry => ({
  data: Buffer.from(content).toString('base64'),
  ...(type === undefined ? {} : { content_type: type }),
});

const document = (id: string, attachments: readonly (readonly [string, Entry])[]) => ({
  _id: id,
  _attachments: Object.fromEntries(attachments),
});

async function save(...documents: readonly object[]): Promise<void> {
  const rows = await send('POST', `${source}/_bulk_docs`, { docs: documents });
  for (const row of rows as unknown[]) expect(row).toMatchObject({ ok: true });
}

const allOf = async (url: string) =>
  ((await send('GET', `${url}/_all_docs?include_docs=true`)) as { rows: object }).rows;
const exportAll = () => runCommand(['export', source, lines, '--attachments', folder]);
const importAll = (...options: readonly string[]) =>
  runCommand(['import', target, lines, '--attachments', folder, ...options]);

async function filesBelow(path: string): Promise<string[]> {
  const found = await readdir(path, { recursive: true, withFileTypes: true });
  return found
    .filter((one) => !one.isDirectory())
    .map((one) => join(one.parentPath, one.name).slice(path.length + 1))
    .sort();
}

const text = 'All happy families are alike. '.repeat(1000);
const bytes = Buffer.from(Array.from({ length: 3000 }, (_, index) => (index * index) % 251));

describe('an export and import with attachments', () => {
  const hostile = [
    '../../x', 'a/b', '/etc/passwd', '...', 'CON', 'con', 'nul.txt', 'A', 'a', 'x'.repeat(300), 'X'.repeat(300), '😀',
    'é', 'e\u0301', '\0', 'line\nbreak', 'line break', '"quoted" \\', '~settee.json', '~attachments.json', '2', '1', ' ',
    '%2e%2e', 'a\u2028b', '-rf', 'constructor', 'C:\\x', 'ends.',
  ]; // biome-ignore format: a list

  test('keeps bytes, types and revpos under any attachment name', async () => {
    const attachments = hostile.map((name, index) => [name, entry(`${index}`, `text/x-${index}`)] as const);
    await save(document('many', attachments), { _id: 'none' });
    expect(await exportAll()).toMatchObject({
      code: 0,
      stdout: '',
      // Progress is told before it where the machine is slow.
      stderr: expect.stringMatching(new RegExp(`(^|\n)${hostile.length} attachments, 48 bytes \\(.*\\)\n$`)),
    });
    expect(await importAll('--new-edits', 'false')).toMatchObject({
      code: 0,
      stdout: `2 written, 0 refused, ${hostile.length} attachments of 48 bytes (${target})\n`,
    });
    expect(await allOf(target)).toEqual(await allOf(source));
    expect(await filesBelow(temporary)).toEqual(
      expect.arrayContaining([`files-${count}/many/%2e.%2f..%2fx`, `files-${count}/many/7~CON`]),
    );
    const outside = (await readdir(temporary)).filter((name) => !/^(files|lines)-\d+/.test(name));
    expect(outside).toEqual([]);
  });

  test('keeps attachments of documents with any id', async () => {
    const ids = [...hostile, '.', '..'];
    await save(...ids.map((id) => document(id, [['a', entry(id)]])), document('_design/d/é', [['a.js', entry('1')]]));
    expect(await exportAll()).toMatchObject({ code: 0 });
    expect(await importAll('--new-edits', 'false')).toMatchObject({ code: 0 });
    expect(await allOf(target)).toEqual(await allOf(source));
    expect(await readFile(join(folder, '%2e%2e', 'a'), 'utf8')).toBe('..');
    expect(await readFile(join(folder, '_design%2fd%2f%c3%a9', 'a.js'), 'utf8')).toBe('1');
  });

  test('stores a compressed attachment as a file of its plain bytes, and an empty one as an empty file', async () => {
    await save(
      document('d', [['page.txt', entry(text, 'text/plain')], ['image', entry(bytes)], ['empty', entry('')],
        ['empty.txt', entry('', 'text/plain')], ['packed', entry(gzipSync(bytes), 'application/gzip')]]), // biome-ignore format: a list
    );
    expect(await exportAll()).toMatchObject({ code: 0 });
    expect(await readFile(join(folder, 'd/page.txt'), 'utf8')).toBe(text);
    expect((await readFile(join(folder, 'd/image'))).equals(bytes)).toBe(true);
    expect((await readFile(join(folder, 'd/empty'))).length).toBe(0);
    expect((await readFile(join(folder, 'd/empty.txt'))).length).toBe(0);
    expect(await readFile(join(folder, 'd/packed'))).toEqual(gzipSync(bytes));
    expect(await filesBelow(folder)).toEqual([
      'd/empty', 'd/empty.txt', 'd/image', 'd/packed', 'd/page.txt', 'd/~attachments.json', '~settee.json',
    ]); // biome-ignore format: a list
    expect(await importAll()).toMatchObject({ code: 1, stderr: expect.stringContaining('(d): conflict, ') });
    expect(await importAll('--new-edits', 'false')).toMatchObject({ code: 0 });
    expect(await allOf(target)).toEqual(await allOf(source));
  });

  test('has the same lines as an export without attachments, with revpos and histories', async () => {
    await send('PUT', `${source}/d?new_edits=false`, {
      _rev: '3-c',
      _revisions: { start: 3, ids: ['c', 'b', 'a'] },
      n: 1,
      _attachments: { old: { ...entry('old'), revpos: 2 }, new: { ...entry('new'), revpos: 3 } },
    });
    await exportAll();
    const { stdout } = await runCommand(['export', source]);
    expect(await readFile(lines, 'utf8')).toBe(stdout);
    expect(JSON.parse(stdout)).toMatchObject({ _attachments: { old: { revpos: 2 }, new: { revpos: 3 } } });
    await writeFile(lines, stdout.replace('{', '{"_revisions":{"start":3,"ids":["c","b","a"]},'));
    expect(await importAll('--new-edits', 'false')).toMatchObject({ code: 0 });
    expect(await allOf(target)).toEqual(await allOf(source));
    expect(await send('GET', `${target}/d?revs=true`)).toMatchObject({ _revisions: { ids: ['c', 'b', 'a'] } });
  });

  test('gives attachments to new revisions, beside inline content of the line', async () => {
    await mkdir(join(folder, 'd'), { recursive: true });
    await writeFile(join(folder, 'd/a.txt'), 'from a file');
    const attachments = { 'a.txt': { stub: true, content_type: 'text/plain' }, b: { data: 'aGVsbG8=' } };
    await writeFile(lines, JSON.stringify({ _id: 'd', n: 1, _attachments: attachments }));
    expect(await importAll()).toMatchObject({
      code: 0,
      stdout: `1 written, 0 refused, 1 attachments of 11 bytes (${target})\n`,
    });
    expect(await (await fetch(`${target}/d/a.txt`)).text()).toBe('from a file');
    expect(await (await fetch(`${target}/d/b`)).text()).toBe('hello');
  });

  test('sends documents without attachments in batches, and the others one by one', async () => {
    await save(document('b', [['a', entry('1')]]), { _id: 'a' }, { _id: 'c' }, document('d', [['a', entry('2')]]));
    await exportAll();
    relay.requests.length = 0;
    expect(await importAll('--new-edits', 'false')).toMatchObject({ code: 0 });
    const path = `/target-${count}`;
    expect(relay.requests.sort()).toEqual([
      `POST ${path}/_bulk_docs`,
      `PUT ${path}/b?new_edits=false`,
      `PUT ${path}/d?new_edits=false`,
    ]);
  });
});

describe('an export into a folder', () => {
  const attachmentReads = () => relay.requests.filter((one) => /^GET \/[^/]+\/[^/_]+\//.test(one)).length;

  test('that broke off continues where it was', async () => {
    await save(
      ...['a', 'b', 'c', 'd'].map((id) =>
        document(id, [
          ['x', entry(id)],
          ['y.txt', entry(text, 'text/plain')],
        ]),
      ),
    );
    relay.meddle = (incoming, outgoing) => {
      if (!incoming.url?.includes('/c/x')) return false;
      // As if the server had ended.
      outgoing.destroy();
      return true;
    };
    const broken = await exportAll();
    expect(broken).toMatchObject({ code: 1, stderr: expect.stringContaining("can't be reached") });
    expect(existsSync(lines)).toBe(false);
    expect((await filesBelow(folder)).filter((name) => name.startsWith('~'))).toEqual(['~settee.json']);
    relay.meddle = () => false;
    relay.requests.length = 0;
    expect(await exportAll()).toMatchObject({
      code: 0,
      stderr: `8 attachments, 120.0 kB, 4 of them present already (${folder})\n`,
    });
    expect(attachmentReads()).toBe(4);
    expect(await importAll('--new-edits', 'false')).toMatchObject({ code: 0 });
    expect(await allOf(target)).toEqual(await allOf(source));
  });

  test('replaces files that differ from the attachment', async () => {
    await save(
      document('d', [
        ['a', entry('one')],
        ['b.txt', entry(text, 'text/plain')],
        ['c', entry('same')],
      ]),
    );
    await exportAll();
    await writeFile(join(folder, 'd/a'), 'two');
    await writeFile(join(folder, 'd/b.txt'), text.replace('happy', 'HAPPY'));
    expect(await exportAll()).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(', 1 of them present already'),
    });
    expect(await readFile(join(folder, 'd/a'), 'utf8')).toBe('one');
    expect(await readFile(join(folder, 'd/b.txt'), 'utf8')).toBe(text);
  });

  test('removes leftovers of a killed export, and nothing of a running one', async () => {
    await save(document('d', [['a', entry('one')]]));
    await exportAll();
    await mkdir(join(folder, '~partial'));
    // No system gives so large a number to a process; the other one is that of whoever started this one.
    for (const name of ['999999999-a', `${process.ppid}-b`]) await writeFile(join(folder, '~partial', name), 'half');
    expect(await exportAll()).toMatchObject({ code: 0 });
    expect(await readdir(join(folder, '~partial'))).toEqual([`${process.ppid}-b`]);
  });

  test('with other files is refused, and nothing is written', async () => {
    await save(document('d', [['a', entry('one')]]));
    await mkdir(folder);
    await writeFile(join(folder, 'mine'), 'mine');
    expect(await exportAll()).toEqual({
      code: 1,
      stdout: '',
      stderr: `${folder} contains files that are not from an export; name a new or an empty folder.\n`,
    });
    expect(await filesBelow(folder)).toEqual(['mine']);
    expect(existsSync(lines)).toBe(false);
  });

  test('does not follow links that lead outside', async () => {
    await save(document('d', [['a', entry('one')]]), document('e', [['a', entry('two')]]));
    const outside = join(temporary, `files-${count}-outside`);
    await mkdir(outside);
    await writeFile(join(outside, 'kept'), 'kept');
    await exportAll();
    await rm(join(folder, 'd/a'));
    await symlink(join(outside, 'kept'), join(folder, 'd/a'));
    expect(await exportAll()).toMatchObject({ code: 0 });
    expect(await readFile(join(folder, 'd/a'), 'utf8')).toBe('one');
    await rm(join(folder, 'e'), { recursive: true });
    await symlink(outside, join(folder, 'e'));
    expect(await exportAll()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is not a folder; remove it.'),
    });
    expect(await filesBelow(outside)).toEqual(['kept']);
    expect(await readFile(join(outside, 'kept'), 'utf8')).toBe('kept');
  });

  test('names attachments that it could not get, and writes all others', async () => {
    await save(document('d', [['gone', entry('1')], ['wrong', entry('2')], ['long', entry('3')], ['short', entry('4')],
      ['broken', entry('5')], ['page', entry(text, 'text/plain')], ['fine', entry('6')]])); // biome-ignore format: a list
    const answers: Record<string, string> = { wrong: 'x', long: 'longer', short: '' };
    relay.meddle = ({ url = '' }, outgoing) => {
      const name = /\/d\/(\w+)/.exec(url)?.[1] ?? '';
      const answer = answers[name];
      if (name === 'gone') outgoing.writeHead(404).end('{"error":"not_found","reason":"missing"}');
      else if (answer !== undefined) outgoing.end(answer);
      else if (name === 'page') outgoing.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip');
      else if (name !== 'broken') return false;
      else outgoing.writeHead(200, { 'content-length': '9' }).write('5', () => outgoing.destroy());
      return true;
    };
    const { code, stderr } = await exportAll();
    expect(code).toBe(1);
    expect(stderr.split('\n')).toEqual([
      `1 attachments, 1 byte (${folder})`,
      '6 could not be exported:',
      '  document "d", attachment "gone": 404 not_found, missing',
      '  document "d", attachment "wrong": its digest is md5-ndTkYSaMgDT1yFZOFVxnpg==, not md5-yB5yjZ1ML2NvBn+JzBSGLA==',
      '  document "d", attachment "long": it has more than 1 bytes',
      '  document "d", attachment "short": it has 0 bytes, not 1',
      expect.stringMatching(/^ {2}document "d", attachment "broken": The response of .* broke off: /),
      expect.stringMatching(/^ {2}document "d", attachment "page": its gzip can't be decoded: /),
      'Run the same command again to retry them; nothing else is read again.',
      '',
    ]);
    expect(await filesBelow(folder)).toEqual(['d/fine', 'd/~attachments.json', '~settee.json']);
    expect((await readFile(lines, 'utf8')).split('\n')).toHaveLength(2);
  });

  test('names a path that is not a folder', async () => {
    await writeFile(folder, 'a file');
    expect(await exportAll()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^.*files-\d+ can't be written: /),
    });
  });
});

describe('an import with attachments refuses documents', () => {
  const refusals = async (...options: readonly string[]) => {
    const refused = join(temporary, `files-${count}-refused`);
    const outcome = await importAll('--new-edits', 'false', '--refused', refused, ...options);
    const list = (await readFile(refused, 'utf8')).trim().split('\n');
    const refusedOnes = list.map((line) => JSON.parse(line));
    // Several are on their way at a time.
    return { ...outcome, refused: refusedOnes.sort((left, right) => left.place - right.place) };
  };

  test('whose files are missing, damaged or not files, and the sums add up', async () => {
    const one = (content: string, type?: string) => [['x', entry(content, type)]] as const;
    await save(
      document('a', one('fine')), document('b', one('missing')), document('c', one('damaged')), document('d', one('longer')),
      document('e', one(text, 'text/plain')), document('f', one('a link')), document('g', one('a folder')), { _id: 'h' },
      document('i', one('behind a link')),
    ); // biome-ignore format: a list
    await exportAll();
    await rm(join(folder, 'b'), { recursive: true });
    await writeFile(join(folder, 'c/x'), 'DAMAGED');
    await writeFile(join(folder, 'd/x'), 'longer than it was');
    await writeFile(join(folder, 'e/x'), text.replace('happy', 'HAPPY'));
    for (const name of ['f', 'g']) await rm(join(folder, name, 'x'));
    await symlink(join(folder, 'a/x'), join(folder, 'f/x'));
    await mkdir(join(folder, 'g/x'));
    await rename(join(folder, 'i'), join(temporary, `files-${count}-moved`));
    await symlink(join(temporary, `files-${count}-moved`), join(folder, 'i'));
    const { code, stdout, refused } = await refusals();
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: `2 written, 7 refused, 1 attachments of 4 bytes (${target})\n`,
    });
    const path = (id: string) => `attachment "x": ${join(folder, id, 'x')}`;
    expect(refused).toEqual([
      { place: 2, id: 'b', error: 'missing_attachment', reason: `${path('b')} does not exist` },
      {
        place: 3,
        id: 'c',
        error: 'damaged_attachment',
        reason: `${path('c')} is not this attachment: its digest is md5-PPU7dgHuRjQSvuojKUvTRw==, not md5-RswN9V0i1utsN8q7wJ9Rkw==`,
      },
      {
        place: 4,
        id: 'd',
        error: 'damaged_attachment',
        reason: `${path('d')} is not this attachment: it has 18 bytes, not 6`,
      },
      {
        place: 5,
        id: 'e',
        error: 'damaged_attachment',
        reason: expect.stringContaining('is not this attachment: its digest is md5-'),
      },
      { place: 6, id: 'f', error: 'missing_attachment', reason: `${path('f')} does not exist` },
      { place: 7, id: 'g', error: 'missing_attachment', reason: `${path('g')} does not exist` },
      { place: 9, id: 'i', error: 'missing_attachment', reason: `${path('i')} does not exist` },
    ]);
    expect(await allOf(target)).toMatchObject([{ id: 'a' }, { id: 'h' }]);
  });

  test('whose ids would lead outside the folder, or that have none', async () => {
    await mkdir(folder);
    const stubbed = { _attachments: { a: { stub: true } } };
    const ids = [undefined, '', '_security', '_design/', '_local/x', '\ud800'];
    await writeFile(lines, ids.map((_id) => JSON.stringify({ _id, _rev: '1-a', ...stubbed })).join('\n'));
    const { stdout, refused } = await refusals();
    expect(stdout).toContain('0 written, 6 refused, 0 attachments of 0 bytes');
    expect(refused.map(({ error }) => error)).toEqual(ids.map(() => 'bad_request'));
    expect(relay.requests.filter((one) => one.includes('target') && !one.endsWith(`target-${count}`))).toEqual([]);
  });

  test('that the database refuses', async () => {
    await send('PUT', `${target}/_design/v`, {
      validate_doc_update: 'function (doc) { if (doc.no) throw {forbidden: "no such documents"}; }',
    });
    const one = [['x', entry('1')]] as const;
    await save({ ...document('a', one), no: true }, document('b', one), { ...document('c', one), no: true });
    await exportAll();
    const { stdout, refused } = await refusals();
    expect(stdout).toContain('1 written, 2 refused, 1 attachments of 1 byte');
    expect(refused).toEqual([
      { place: 1, id: 'a', error: 'forbidden', reason: 'no such documents' },
      { place: 3, id: 'c', error: 'forbidden', reason: 'no such documents' },
    ]);
  });

  test('with stubs if there is no folder', async () => {
    await save(document('a', [['x', entry('1')]]), { _id: 'b' });
    await exportAll();
    expect(await runCommand(['import', target, lines, '--new-edits', 'false'])).toMatchObject({
      code: 1,
      stdout: `1 written, 1 refused (${target})\n`,
      stderr: expect.stringContaining(
        'The content of attachments is missing; --attachments DIR names the folder that contains it.',
      ),
    });
  });
});

test('an import into a deleted database ends with sums', async () => {
  await save(document('a', [['x', entry('1')]]));
  await exportAll();
  await send('DELETE', target);
  expect(await importAll()).toMatchObject({
    code: 1,
    stdout: `0 written, 0 refused, 0 attachments of 0 bytes (${target})\n`,
    stderr: 'There is no such database; --create creates it: 404 not_found, no_db_file\n',
  });
});

test('an import from a missing folder, or one of a later version, does nothing', async () => {
  await writeFile(lines, '{"_id":"a"}');
  expect(await importAll()).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining("can't be read") });
  await mkdir(folder);
  await writeFile(join(folder, '~settee.json'), '{"content":"attachments","layout":2}');
  expect(await importAll()).toMatchObject({ code: 1, stderr: expect.stringContaining('newer version') });
  expect(await allOf(target)).toEqual([]);
});

test.each([
  ['export', 'http://127.0.0.1:1/db', '--attachments='],
  ['export', 'http://127.0.0.1:1/db', '--attachments'],
  ['import', 'http://127.0.0.1:1/db', 'f', '--attachments='],
])('a call without a folder is refused: %s %s %s', async (...argv) => {
  expect(await runCommand(argv)).toMatchObject({ code: 2, stdout: '' });
});
