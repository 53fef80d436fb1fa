import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { IniFile } from '../../../../src/node/data-folder/ini-file.ts';

let folder: string;
const logged: string[] = [];
const log = { error: (text: string) => logged.push(text), info: (text: string) => logged.push(text), debug: () => {} };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-ini-'));
  logged.length = 0;
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const path = () => join(folder, 'settee.ini');

async function open() {
  const config = createConfig({}, log);
  await config.keepIn(new IniFile(path(), log));
  return config;
}

describe('the configuration file', () => {
  test('is created with the first change, readable for its owner only, and read at the next start', async () => {
    const config = await open();
    expect(await readdir(folder)).toEqual([]);
    await config.set('admins', 'anna', '-pbkdf2-abc,def,10000');
    expect(await readdir(folder)).toEqual(['settee.ini']);
    expect((await stat(path())).mode & 0o777).toBe(0o600);
    expect(await readFile(path(), 'utf8')).toMatch(/^; The settings.*\n\n\[admins\]\nanna = -pbkdf2-abc,def,10000\n$/s);
    expect((await open()).section('admins')).toEqual({ anna: '-pbkdf2-abc,def,10000' });
  });

  test('keeps manual edits, also those made since the start', async () => {
    await writeFile(path(), '; mine\n[log]\nlevel = debug ; for now\n', { mode: 0o600 });
    const config = await open();
    expect(config.get('log', 'level')).toBe('debug');
    await writeFile(path(), '; mine\n[log]\nlevel = debug ; for now\n; later\n[httpd]\nallow_jsonp = true\n');
    await config.set('log', 'level', 'error');
    expect(await readFile(path(), 'utf8')).toBe(
      '; mine\n[log]\nlevel = error ; for now\n; later\n[httpd]\nallow_jsonp = true\n',
    );
    // What a person writes counts from the next start.
    expect(config.get('httpd', 'allow_jsonp')).toBe('false');
    expect((await open()).get('httpd', 'allow_jsonp')).toBe('true');
  });

  test.skipIf(process.platform === 'win32')('that others can read is restricted to its owner', async () => {
    await writeFile(path(), '[log]\nlevel = info\n');
    await chmod(path(), 0o644);
    const config = await open();
    expect((await stat(path())).mode & 0o777).toBe(0o600);
    expect(logged).toEqual([
      `${path()} could be read by other users, although it may contain secrets; now only its owner can read it.`,
    ]);
    await chmod(path(), 0o644);
    await config.set('log', 'level', 'error');
    expect((await stat(path())).mode & 0o777).toBe(0o600);
  });

  test.skipIf(process.platform === 'win32')('can be a symbolic link, and stays one', async () => {
    await writeFile(join(folder, 'elsewhere.ini'), '', { mode: 0o600 });
    await symlink(join(folder, 'elsewhere.ini'), path());
    await (await open()).set('log', 'level', 'error');
    expect(await readFile(join(folder, 'elsewhere.ini'), 'utf8')).toBe('[log]\nlevel = error\n');
    expect((await readdir(folder)).sort()).toEqual(['elsewhere.ini', 'settee.ini']);
  });

  test('is written even if a crash left a draft of it', async () => {
    await writeFile(`${path()}.new`, 'half', { mode: 0o644 });
    await (await open()).set('log', 'level', 'error');
    expect(await readdir(folder)).toEqual(['settee.ini']);
    expect((await stat(path())).mode & 0o777).toBe(0o600);
  });

  test('with an invalid line or value is reported at the start, and not changed', async () => {
    for (const [text, reason] of [
      ['[log]\nsome words\n', `${path()}, line 2 can't be read`],
      ['[uuids]\nmax_count = many\n', 'Setting uuids/max_count is "many"'],
    ] as const) {
      await writeFile(path(), text, { mode: 0o600 });
      await expect(open()).rejects.toMatchObject({ code: 'bad_request', reason: expect.stringContaining(reason) });
      expect(await readFile(path(), 'utf8')).toBe(text);
    }
  });

  test("that can't be written leaves the setting unchanged, and the error says why", async () => {
    const config = await open();
    await rm(folder, { recursive: true });
    await expect(config.set('uuids', 'max_count', '5')).rejects.toMatchObject({
      code: 'storage_failed',
      reason: expect.stringContaining(`The configuration file ${path()} can't be used: ENOENT`),
    });
    expect(config.get('uuids', 'max_count')).toBe('1000');
  });
});
