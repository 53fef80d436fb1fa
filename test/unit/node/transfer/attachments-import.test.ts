import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../run-command.ts';
import {
  allOf,
  count,
  document,
  entry,
  exportAll,
  folder,
  importAll,
  lines,
  relay,
  save,
  send,
  target,
  temporary,
  text,
  useDatabases,
} from './attachment-databases.ts';

useDatabases();

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
