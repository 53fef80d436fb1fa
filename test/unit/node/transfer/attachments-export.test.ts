import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
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
  source,
  target,
  temporary,
  text,
  useDatabases,
} from './attachment-databases.ts';

useDatabases();

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
