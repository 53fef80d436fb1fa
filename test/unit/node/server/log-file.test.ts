import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { VERSION } from '../../../../src/base/system/version.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { LogFile } from '../../../../src/node/server/log-file.ts';
import { startServer } from '../../../../src/node/server/server.ts';

let folder = '';
const failures: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-log-'));
  failures.length = 0;
});

afterEach(() => rm(folder, { recursive: true }));

const path = () => join(folder, 'settee.log');

function open(settings: Record<string, string>): LogFile {
  const config = createConfig({ log: settings });
  return new LogFile(
    () => config,
    (message) => failures.push(message),
  );
}

test('log entries are appended to the file, readable for the owner only', async () => {
  for (const entry of ['one', 'two']) {
    const log = open({ file: path() });
    log.write(entry);
    await log.close();
  }
  expect(await readFile(path(), 'utf8')).toBe('one\ntwo\n');
  expect((await stat(path())).mode & 0o777).toBe(0o600);
});

test('a full log file is rotated, and a limited number are kept', async () => {
  const log = open({ file: path(), max_bytes: '10', max_files: '3' });
  for (const entry of ['first entry', 'second entry', 'third entry', 'fourth entry']) {
    log.write(entry);
    await log.close();
  }
  expect((await readdir(folder)).sort()).toEqual(['settee.log', 'settee.log.1', 'settee.log.2']);
  expect(await readFile(path(), 'utf8')).toBe('fourth entry\n');
  expect(await readFile(`${path()}.1`, 'utf8')).toBe('third entry\n');
  expect(await readFile(`${path()}.2`, 'utf8')).toBe('second entry\n');
});

test('a single log file starts over when it is full', async () => {
  const log = open({ file: path(), max_bytes: '10', max_files: '1' });
  for (const entry of ['first entry', 'second entry']) {
    log.write(entry);
    await log.close();
  }
  expect(await readdir(folder)).toEqual(['settee.log']);
  expect(await readFile(path(), 'utf8')).toBe('second entry\n');
});

test("a log file that can't be written is reported once", async () => {
  const log = open({ file: folder });
  log.write('one');
  await log.close();
  log.write('two');
  await log.close();
  expect(failures).toEqual([expect.stringContaining(`The log can't be written to ${folder}: EISDIR`)]);
});

test('a server writes its log to the file, and _log reads it', async () => {
  const config = { log: { file: path() } };
  const server = await startServer({ port: 0, memory: true, config, onLog: () => {} });
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ level: 'info', message: 'hello' });
  await fetch(`${server.url}_log`, { method: 'POST', headers, body });
  expect(await (await fetch(`${server.url}_log?bytes=6`)).text()).toBe('hello\n');
  const changed = await fetch(`${server.url}_config/log/file`, { method: 'PUT', headers, body: '"/tmp/other"' });
  expect(await changed.json()).toEqual({
    error: 'modification_not_allowed',
    reason: 'This config variable is read-only',
  });
  await server.close();
  const entries = (await readFile(path(), 'utf8')).split('\n').map((entry) => entry.slice(entry.indexOf('[')));
  expect(entries).toEqual([
    `[info] the server has started: Settee ${VERSION} at ${server.url}`,
    '[info] somebody from an unknown address wrote: hello',
    '[info] the server is stopping',
    '[info] the server has stopped',
    '',
  ]);
});

test('entries of clients take at most a quarter of a log file, and displace no others', async () => {
  const log = open({ file: path(), max_bytes: '10000', max_files: '2' });
  log.write('own 1');
  for (let number = 0; number < 10_000; number++) log.write(`client ${number}`, true);
  log.write('own 2');
  await log.close();
  const text = await readFile(path(), 'utf8');
  expect(text.startsWith('own 1\nclient 0\n')).toBe(true);
  expect(text.endsWith('\nown 2\n')).toBe(true);
  expect(text.length).toBeLessThan(3_500);
  expect(await readdir(folder)).toEqual(['settee.log']);
});
