import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Passwords } from '../../../../src/accounts/passwords/passwords.ts';
import { hashOfAdmin } from '../../../../src/accounts/passwords/stored-password.ts';
import { systemRandom } from '../../../../src/base/shared/clock.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { addAdmin } from '../../../../src/node/command-line/add-admin.ts';
import { IniFile } from '../../../../src/node/data-folder/ini-file.ts';

let folder: string;

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'settee-admin-')), 'data');
});
afterEach(() => rm(join(folder, '..'), { recursive: true }));

async function add(admin: string, typed: string): Promise<string> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  await addAdmin({ admin, dataFolder: folder }, { stdin: Readable.from([typed]), stdout, stderr });
  return `${stdout.read() ?? ''}`;
}

async function isPassword(admin: string, password: string): Promise<boolean> {
  const settings = await new IniFile(join(folder, 'settee.ini'), silentLog).load();
  const passwords = new Passwords(createConfig(settings), systemRandom);
  return passwords.matches(password, hashOfAdmin(settings['admins']?.[admin] ?? ''));
}

test('without a terminal the first input line is the password, whose hash is stored readable for the owner only', async () => {
  const path = join(folder, 'settee.ini');
  expect(await add('ana', 'pass word\r\nrest')).toBe(
    `ana is a server admin from the next start of the server. The hash of the password is stored in ${path}.\n`,
  );
  expect(await readFile(path, 'utf8')).toMatch(/^\[admins\]\nana = -pbkdf2-[\da-f]{40},[\da-f]{32},10000$/m);
  expect(await readFile(path, 'utf8')).not.toContain('pass word');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await isPassword('ana', 'pass word')).toBe(true);
});

test('another password replaces the previous one, and leaves other admins unchanged', async () => {
  await add('ana', 'first\n');
  await add('bob', 'second\n');
  expect(await add('ana', 'third')).toMatch(/^ana has a new password from the next start/);
  expect(await isPassword('ana', 'third')).toBe(true);
  expect(await isPassword('ana', 'first')).toBe(false);
  expect(await isPassword('bob', 'second')).toBe(true);
});

test('a server with a configuration file elsewhere has its admins in that file', async () => {
  const configFile = join(folder, 'etc', 'settee.ini');
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  await addAdmin({ admin: 'ana', dataFolder: folder, configFile }, { stdin: Readable.from(['a\n']), stdout, stderr });
  expect(`${stdout.read()}`).toContain(`The hash of the password is stored in ${configFile}.`);
  expect(Object.keys((await new IniFile(configFile, silentLog).load())['admins'] ?? {})).toEqual(['ana']);
  await expect(stat(join(folder, 'settee.ini'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('without a password nothing is stored', async () => {
  await expect(add('ana', '\n')).rejects.toMatchObject({ code: 'bad_request' });
  await expect(stat(folder)).rejects.toMatchObject({ code: 'ENOENT' });
});

test.for(['', 'a:b', 'a\nb', 'a\r\n[log]\nlevel = debug', '\u0000'])(
  'a name that could not log in is refused, and nothing is stored: %j',
  async (name) => {
    await expect(add(name, 'pass\n')).rejects.toMatchObject({ code: 'bad_request' });
    await expect(stat(join(folder, 'settee.ini'))).rejects.toMatchObject({ code: 'ENOENT' });
  },
);
