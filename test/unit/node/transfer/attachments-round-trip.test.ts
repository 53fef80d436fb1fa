import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../run-command.ts';
import {
  allOf,
  count,
  document,
  entry,
  exportAll,
  filesBelow,
  folder,
  importAll,
  lines,
  relay,
  save,
  send,
  source,
  target,
  temporary,
  text,
  useDatabases,
} from './attachment-databases.ts';

useDatabases();

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

test.each([
  ['export', 'http://127.0.0.1:1/db', '--attachments='],
  ['export', 'http://127.0.0.1:1/db', '--attachments'],
  ['import', 'http://127.0.0.1:1/db', 'f', '--attachments='],
])('a call without a folder is refused: %s %s %s', async (...argv) => {
  expect(await runCommand(argv)).toMatchObject({ code: 2, stdout: '' });
});
