import { cp, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { backupData, restoreData } from '../../../../src/node/data-folder/backup.ts';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';
import { runCommand } from '../run-command.ts';

let temporary = '';
let dataFolder = '';
let server: RunningServer;

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'settee-maintenance-'));
  dataFolder = join(temporary, 'data');
  server = await startServer({ port: 0, dataFolder, logLevel: 'error' });
  const lines = Array.from({ length: 500 }, (_, n) => `{"_id":"${n}","n":${n}.0}\n`).join('');
  await runCommand(['import', `${server.url}one`, '-', '--create'], lines);
  await runCommand(['import', `${server.url}two`, '-', '--create'], '{"_id":"a"}');
});

afterAll(async () => {
  await server.close();
  await rm(temporary, { recursive: true });
});

async function countIn(folder: string): Promise<unknown> {
  const other = await startServer({ port: 0, dataFolder: folder, logLevel: 'error' });
  const { stdout } = await runCommand(['export', `${other.url}one`]);
  await other.close();
  return stdout.split('\n').filter((line) => line.includes('.0}')).length;
}

describe('backup and restore', () => {
  test('restore every document, from a folder that a server uses', async () => {
    const target = join(temporary, 'backup');
    const restored = join(temporary, 'restored');
    const backup = await runCommand(['backup', target, '--data', dataFolder]);
    expect({ code: backup.code, stderr: backup.stderr }).toEqual({ code: 0, stderr: '' });
    expect(backup.stdout).toMatch(/: copied, \d+ bytes\n/);
    const restore = await runCommand(['restore', target, '--data', restored]);
    expect({ code: restore.code, stderr: restore.stderr }).toEqual({ code: 0, stderr: '' });
    expect(await countIn(restored)).toBe(500);
  });

  test('overwrite nothing', async () => {
    const backup = await runCommand(['backup', temporary, '--data', dataFolder]);
    expect(backup).toEqual({
      code: 1,
      stdout: '',
      stderr: `${temporary} exists already. Name a folder that does not exist.\n`,
    });
  });

  test('leave no databases when they break off, and can be started again', async () => {
    const target = join(temporary, 'second-backup');
    const restored = join(temporary, 'second-restored');
    for await (const _ of backupData({ dataFolder, target })) break;
    await expect(stat(target)).rejects.toThrow();
    expect((await runCommand(['backup', target, '--data', dataFolder])).code).toBe(0);
    for await (const _ of restoreData({ source: target, dataFolder: restored })) break;
    const early = await runCommand(['verify', '--data', restored]);
    expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining(`${restored} holds no databases.`) });
    expect((await runCommand(['restore', target, '--data', restored])).code).toBe(0);
    expect(await readdir(restored)).toEqual(expect.not.arrayContaining(['databases.partial']));
    expect(await countIn(restored)).toBe(500);
  });

  test('need databases to copy', async () => {
    const empty = join(temporary, 'empty');
    const backup = await runCommand(['backup', join(temporary, 'x'), '--data', empty]);
    expect(backup).toMatchObject({ code: 1, stderr: expect.stringContaining(`${empty} holds no databases.`) });
    await expect(stat(join(temporary, 'x'))).rejects.toThrow();
  });
});

describe('databases whose list is missing', () => {
  test('are left unchanged by every command', async () => {
    const folder = join(temporary, 'unlisted');
    await runCommand(['backup', folder, '--data', dataFolder]);
    await rm(join(folder, 'databases', 'registry'), { recursive: true });
    const before = await readdir(join(folder, 'databases'));
    const refused = { code: 'storage_corrupt', reason: expect.stringContaining('but not the list of them') };
    await expect(startServer({ port: 0, dataFolder: folder, logLevel: 'none' })).rejects.toMatchObject(refused);
    expect((await runCommand(['verify', '--data', folder])).stderr).toContain('but not the list of them');
    expect((await runCommand(['backup', `${folder}-copy`, '--data', folder])).code).toBe(1);
    expect(await readdir(join(folder, 'databases'))).toEqual(before);
  });
});

describe('databases whose list has lost entries', () => {
  test('are left unchanged, however often a command runs', async () => {
    const source = join(temporary, 'three');
    const folder = join(temporary, 'three-copy');
    const first = await startServer({ port: 0, dataFolder: source, logLevel: 'error' });
    for (const name of ['a', 'b', 'c']) await fetch(`${first.url}${name}`, { method: 'PUT' });
    // As a crash leaves it: with the last entries in the list's journal.
    await cp(source, folder, { recursive: true, filter: (path) => !path.endsWith('.sock') });
    await first.close();
    const list = join(folder, 'databases', 'registry');
    const journal = join(list, (await readdir(list)).find((name) => name.endsWith('.log')) ?? '');
    await writeFile(journal, (await readFile(journal)).fill('x', 20, 24));
    const before = await readdir(join(folder, 'databases'));
    const refused = { code: 'storage_corrupt', reason: expect.stringContaining('has lost entries') };
    for (let time = 0; time < 2; time += 1) {
      expect((await runCommand(['verify', '--data', folder])).stderr).toContain('has lost entries');
      await expect(startServer({ port: 0, dataFolder: folder, logLevel: 'none' })).rejects.toMatchObject(refused);
    }
    for (const command of ['backup', 'restore']) {
      const copied = await runCommand(
        command === 'backup'
          ? ['backup', `${folder}-backup`, '--data', folder]
          : ['restore', folder, '--data', `${folder}-restored`],
      );
      expect(copied).toMatchObject({ code: 1, stderr: expect.stringContaining('has lost entries') });
    }
    await expect(stat(`${folder}-backup`)).rejects.toThrow();
    expect((await runCommand(['verify', '--data', `${folder}-restored`])).stderr).toContain('holds no databases');
    expect(await readdir(join(folder, 'databases'))).toEqual(before);
  });
});

/** Copies the databases `one` and `two` as data folder, and gives the folder of the first. */
async function copyOf(folder: string): Promise<{ readonly databases: string; readonly one: string }> {
  await runCommand(['backup', folder, '--data', dataFolder]);
  const databases = join(folder, 'databases');
  const one = (await readdir(databases)).find((name) => /^one\.\w+$/.test(name)) ?? '';
  return { databases, one: join(databases, one) };
}

describe('a backup of a folder with damage', () => {
  test('has the intact databases and names the others, and so does restoring it', async () => {
    const source = join(temporary, 'cut-off');
    const target = join(temporary, 'cut-off-backup');
    const restored = join(temporary, 'cut-off-restored');
    const { one } = await copyOf(source);
    await truncate(join(one, 'data-1.mdb'), 5000);
    const backup = await runCommand(['backup', target, '--data', source]);
    expect(backup.code).toBe(1);
    expect(backup.stdout).toMatch(
      /^settings: copied, \d+ bytes\ntwo\.\w+: copied, \d+ bytes\nlist of databases: copied, \d+ bytes\n$/,
    );
    expect(backup.stderr).toMatch(
      /^one: It is not in the copy\. File "one\.\w+" is damaged: \S+ is cut off after 5000 bytes; restore it from a backup\.\n1 part is missing or incomplete, as listed above; all others were copied\.\n$/,
    );
    const restore = await runCommand(['restore', target, '--data', restored]);
    expect(restore.code).toBe(1);
    expect(restore.stdout).toMatch(
      /^settings: restored, \d+ bytes\ntwo\.\w+: restored, \d+ bytes\nlist of databases: restored, \d+ bytes\n$/,
    );
    expect(restore.stderr).toBe(
      'one: The backup does not contain it. Restore it from another backup; requests for it fail until the database is deleted.\n1 part is missing or incomplete, as listed above; all others were restored.\n',
    );
    const verify = await runCommand(['verify', '--data', restored]);
    expect(verify.stdout).toMatch(/^one: .*\n {2}Its file is missing; .*\ntwo: 1 documents, \d+ pages, no damage\n$/);
    const other = await startServer({ port: 0, dataFolder: restored, logLevel: 'none' });
    const answer = await fetch(`${other.url}one`);
    expect([answer.status, await answer.json()]).toEqual([
      500,
      {
        error: 'storage_missing',
        reason: expect.stringMatching(/^There is no file "one\.\w+"; restore it from a backup$/),
      },
    ]);
    for (const [method, status] of [
      ['DELETE', 200],
      ['PUT', 201],
      ['GET', 200],
    ] as const) {
      expect((await fetch(`${other.url}one`, { method })).status).toBe(status);
    }
    await other.close();
  });

  test('is restored without a database whose damage is found only on opening', async () => {
    const source = join(temporary, 'bad-head');
    const { one } = await copyOf(source);
    const path = join(one, 'data-1.mdb');
    const bytes = await readFile(path);
    await writeFile(path, bytes.fill('x', bytes.lastIndexOf('{"format":2,"uuid"'), bytes.lastIndexOf('"uuid"')));
    const restore = await runCommand(['restore', source, '--data', join(temporary, 'bad-head-restored')]);
    expect(restore).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^one: It is not in the copy\. The head of one\.\w+ is damaged\. Restore the file from a backup\.\n1 part is missing or incomplete, /,
      ),
    });
    const verify = await runCommand(['verify', '--data', join(temporary, 'bad-head-restored')]);
    expect(verify.stdout).toMatch(/\ntwo: \d+ documents, \d+ pages, no damage\n$/);
  });

  test('names a database whose file is missing', async () => {
    const source = join(temporary, 'gone');
    await rm((await copyOf(source)).one, { recursive: true });
    const backup = await runCommand(['backup', `${source}-backup`, '--data', source]);
    expect(backup.code).toBe(1);
    expect(backup.stderr).toContain(
      'one: Its file is missing from the data folder. Restore it from an earlier backup, ',
    );
  });

  test('reports writes lost in a damaged journal, and so does restoring it', async () => {
    const source = join(temporary, 'lost');
    for (const id of ['x', 'y', 'z']) await fetch(`${server.url}one/_local/${id}`, { method: 'PUT', body: '{}' });
    const { one } = await copyOf(source);
    const journal = join(one, (await readdir(one)).find((name) => name.endsWith('.log')) ?? '');
    await writeFile(journal, (await readFile(journal)).fill('x', 20, 24));
    const target = join(temporary, 'lost-backup');
    const lost = 'one: Its journal is damaged, and the copy lacks the last writes, those after the damage. ';
    const backup = await runCommand(['backup', target, '--data', source]);
    expect(backup).toMatchObject({ code: 1, stderr: expect.stringContaining(`${lost}A server that has `) });
    const restore = await runCommand(['restore', target, '--data', join(temporary, 'lost-restored')]);
    expect(restore).toMatchObject({ code: 1, stderr: expect.stringContaining(`${lost}They are lost; `) });
  });

  test('is complete without a damaged index, and says so', async () => {
    const source = join(temporary, 'index');
    const { one } = await copyOf(source);
    const index = `${one}.0123456789abcdef0123456789abcdef`;
    await cp(one, index, { recursive: true });
    await truncate(join(index, 'data-1.mdb'), 5000);
    const backup = await runCommand(['backup', `${source}-backup`, '--data', source]);
    expect(backup.code).toBe(0);
    expect(backup.stderr).toMatch(/^one\.\w+\.\w+: This index is damaged, and is not in the copy. It is rebuilt /);
  });
});

describe('verify', () => {
  test('is refused for a folder that a server uses', async () => {
    const { code, stderr } = await runCommand(['verify', '--data', dataFolder]);
    expect(code).toBe(1);
    expect(stderr).toContain(`The data folder ${dataFolder} is in use by process ${process.pid}, which answers at `);
  });

  test('finds no damage in an intact folder', async () => {
    const copy = join(temporary, 'copy');
    await runCommand(['backup', copy, '--data', dataFolder]);
    const { code, stdout, stderr } = await runCommand(['verify', '--data', copy]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^one: 500 documents, \d+ pages, no damage$/m);
    expect(stdout).toMatch(/^two: 1 documents, \d+ pages, no damage$/m);
    const single = await runCommand(['verify', 'two', '--data', copy]);
    expect(single.stdout).toMatch(/^two: 1 documents, \d+ pages, no damage\n$/);
    expect((await runCommand(['verify', 'three', '--data', copy])).code).toBe(1);
  });

  test("continues after a database that can't be read", async () => {
    const copy = join(temporary, 'damaged');
    await runCommand(['backup', copy, '--data', dataFolder]);
    const databases = join(copy, 'databases');
    const one = (await readdir(databases)).find((name) => name.startsWith('one.')) ?? '';
    await truncate(join(databases, one, 'data-1.mdb'), 5000);
    const cutOff = await runCommand(['verify', '--data', copy]);
    expect(cutOff).toMatchObject({ code: 1, stderr: '' });
    expect(cutOff.stdout).toMatch(
      /^one: 0 documents, 0 pages, 1 findings\n {2}File "one\..*" is damaged: .* is cut off after /,
    );
    expect(cutOff.stdout).toMatch(/\ntwo: 1 documents, \d+ pages, no damage\n$/);
    await rm(join(databases, one), { recursive: true });
    const gone = await runCommand(['verify', '--data', copy]);
    expect(gone).toMatchObject({ code: 1, stderr: '' });
    expect(gone.stdout).toContain(
      'one: 0 documents, 0 pages, 1 findings\n  Its file is missing; restore it from a backup.\ntwo: ',
    );
  });

  test('reads indexes, names a damaged one, and removes it with --repair', async () => {
    const copy = join(temporary, 'damaged-index');
    await runCommand(['backup', copy, '--data', dataFolder]);
    const first = await startServer({ port: 0, dataFolder: copy, logLevel: 'none' });
    const design = { views: { v: { map: 'function (doc) { emit(doc._id, "row of " + doc._id); }' } } };
    await fetch(`${first.url}one/_design/d`, { method: 'PUT', body: JSON.stringify(design) });
    const right = await (await fetch(`${first.url}one/_design/d/_view/v`)).text();
    await first.close();
    expect(await runCommand(['verify', 'one', '--data', copy])).toMatchObject({ code: 0 });
    const databases = join(copy, 'databases');
    const index = (await readdir(databases)).find((name) => /^one\.\w+\.\w{32}$/.test(name)) ?? '';
    const path = join(databases, index, 'data-1.mdb');
    const bytes = await readFile(path);
    const place = bytes.lastIndexOf('row of 77');
    expect(place).toBeGreaterThan(0);
    await writeFile(path, bytes.fill('R', place, place + 1));
    const found = await runCommand(['verify', 'one', '--data', copy]);
    expect(found).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^one: 501 documents, \d+ pages, 1 findings\n {2}An index is damaged\. .*Page \d+ of one\.\w+\.\w{32} is damaged: /,
      ),
    });
    const repaired = await runCommand(['verify', 'one', '--repair', '--data', copy]);
    expect(repaired).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^one: removed a damaged index, .*Page \d+ of one\.\w+\.\w{32} is damaged: .*\none: 501 documents, \d+ pages, no damage\n$/,
      ),
    });
    const opened = await startServer({ port: 0, dataFolder: copy, logLevel: 'none' });
    expect(await (await fetch(`${opened.url}one/_design/d/_view/v`)).text()).toBe(right);
    await opened.close();
  });

  test('names a damaged document, and drops it with --repair, so that the others work', async () => {
    const copy = join(temporary, 'damaged-document');
    const first = await startServer({ port: 0, dataFolder: copy, logLevel: 'none' });
    await runCommand(
      ['import', `${first.url}one`, '-', '--create'],
      Array.from({ length: 99 }, (_, n) => `{"_id":"${n}","text":"text of ${n}"}\n`).join(''),
    );
    await fetch(`${first.url}one/_ensure_full_commit`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    await first.close();
    const databases = join(copy, 'databases');
    const one = (await readdir(databases)).find((name) => name.startsWith('one.')) ?? '';
    const path = join(databases, one, 'data-1.mdb');
    const bytes = await readFile(path);
    for (let at = bytes.indexOf('text of 77'); at >= 0; at = bytes.indexOf('text of 77', at + 1)) bytes[at] = 0x54;
    await writeFile(path, bytes);
    const found = await runCommand(['verify', '--data', copy]);
    expect(found).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^one: 99 documents, \d+ pages, 2 findings\n/),
    });
    expect(found.stdout).toMatch(/ {2}revision 1-\w+ of 77 is lost: Page \d+ of one\.\w+ is damaged: /);
    expect(found.stdout.match(/is lost/g)).toHaveLength(1);
    const repaired = await runCommand(['verify', '--repair', '--data', copy]);
    expect(repaired).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^one: dropped revision 1-\w+ of 77, which can't be read; .*\none: 98 documents, \d+ pages, no damage\n$/,
      ),
    });
    const again = await startServer({ port: 0, dataFolder: copy, logLevel: 'none' });
    const listed = await (await fetch(`${again.url}one/_all_docs?include_docs=true`)).json();
    expect(listed).toMatchObject({ total_rows: 98 });
    await again.close();
  });

  test('names a damaged journal record, and drops it with --repair, reporting the loss', async () => {
    const folder = join(temporary, 'before-lost-writes');
    const copy = join(temporary, 'lost-writes');
    const written = await startServer({ port: 0, dataFolder: folder, logLevel: 'error' });
    await runCommand(['import', `${written.url}two`, '-', '--create'], '{"_id":"a"}');
    await runCommand(['import', `${written.url}one`, '-', '--create'], '{"_id":"a"}');
    // What a closed server has written lies in its data file: the journal begins with what comes behind.
    await written.close();
    const writing = await startServer({ port: 0, dataFolder: folder, logLevel: 'error' });
    // So does the first write behind it, which is committed with the head.
    for (const id of ['b', 'c', 'd', 'e']) await fetch(`${writing.url}two/${id}`, { method: 'PUT', body: '{}' });
    await runCommand(['backup', copy, '--data', folder]);
    await writing.close();
    const databases = join(copy, 'databases');
    const two = join(databases, (await readdir(databases)).find((name) => name.startsWith('two.')) ?? '');
    const journal = join(two, (await readdir(two)).find((name) => name.endsWith('.log')) ?? '');
    const bytes = await readFile(journal);
    await writeFile(journal, bytes.fill('x', 20, 24));
    for (let attempt = 1; attempt <= 2; attempt++) {
      const { code, stdout } = await runCommand(['verify', 'two', '--data', copy]);
      expect(code).toBe(1);
      expect(stdout).toMatch(
        /^two: 0 documents, 0 pages, 1 findings\n {2}File "two\..*" is damaged: record \d+ of its journal \(byte 0 of journal-\d+-\d+\.log\) can't be read, .* run "settee verify --repair"/,
      );
    }
    const opened = await startServer({ port: 0, dataFolder: copy, logLevel: 'none' });
    const refused = await fetch(`${opened.url}two/b`);
    expect([refused.status, await refused.json()]).toEqual([
      500,
      { error: 'storage_corrupt', reason: expect.stringContaining('settee verify --repair') },
    ]);
    expect((await fetch(`${opened.url}one`)).status).toBe(200);
    await opened.close();
    const repaired = await runCommand(['verify', 'two', '--repair', '--data', copy]);
    expect(repaired).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(
        /^two: dropped from its journal: record (\d+) \(byte 0 of journal-.*\.log\), which is damaged, and 2 after it, which need it: record \d+ with d; record \d+ with e\.\ntwo: 2 documents, \d+ pages, no damage\n$/,
      ),
    });
    expect(await runCommand(['verify', 'two', '--data', copy])).toMatchObject({ code: 0, stderr: '' });
  });
});
