import { PassThrough, Readable, Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { main } from '../../../src/node/main.ts';
import { runCommand } from './run-command.ts';

describe('the command line', () => {
  test('prints its version', async () => {
    expect(await runCommand(['--version'])).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' });
  });

  test('prints its help on stdout', async () => {
    const { code, stdout, stderr } = await runCommand(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const command of ['serve', 'import URL FILE', 'export URL', 'verify', 'backup TARGET', 'restore SOURCE']) {
      expect(stdout).toContain(`\n  ${command} `);
    }
    for (const command of ['serve', 'import', 'export', 'verify', 'backup', 'restore']) {
      const help = await runCommand([command, '--help']);
      expect(help.stdout).toMatch(/^Usage: settee /);
      expect(help.stdout).toContain(command);
    }
  });

  test('answers a wrong call on stderr with a hint at the help, and exit code 2', async () => {
    expect(await runCommand(['imprt', 'x'])).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'There is no command "imprt". The commands are: serve, import, export, replicate, verify, compact, backup, restore, copy, admin.\nTry "settee --help".\n',
    });
    expect(await runCommand(['--port', 'x'])).toEqual({
      code: 2,
      stdout: '',
      stderr: '--port is "x"; it must be a whole number from 0 to 65535.\nTry "settee serve --help".\n',
    });
  });

  test('refuses to listen beyond loopback, with exit code 2', async () => {
    const { code, stdout, stderr } = await runCommand(['--host', '0.0.0.0', '--memory', '--port', '0']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^Settee does not listen on 0\.0\.0\.0: it has no admin, /);
  });

  test("reports a failure if its output can't be written", async () => {
    const stderr = new PassThrough();
    expect(await main(['--version'], hostWith({ stdout: fullDisk(), stderr }))).toBe(1);
    expect(String(stderr.read())).toBe('ENOSPC: no space left on device, write\n');
  });

  test("continues if stderr can't be written", async () => {
    const stdout = new PassThrough();
    expect(await main(['imprt'], hostWith({ stdout, stderr: fullDisk() }))).toBe(2);
    expect(await main(['--version'], hostWith({ stdout, stderr: fullDisk() }))).toBe(0);
  });
});

function fullDisk(): Writable {
  const failure = Object.assign(new Error('ENOSPC: no space left on device, write'), { syscall: 'write' });
  return new Writable({ write: (_chunk, _encoding, callback) => callback(failure) });
}

function hostWith(streams: { readonly stdout: Writable; readonly stderr: Writable }) {
  const nothing = () => undefined;
  return { ...streams, stdin: Readable.from([]), env: {}, on: nothing, off: nothing, exit: nothing };
}
