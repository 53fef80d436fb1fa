import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { adminCommand, nameOfProgram } from '../../../../src/node/configuration/admin-guard.ts';

test('the advised command writes where the server reads', () => {
  const command = (configFile: string | undefined, dataFolder: string | undefined) =>
    adminCommand(configFile, dataFolder, 'settee');
  expect(command('data/settee.ini', resolve('data'))).toBe('settee admin add NAME');
  expect(command(join('/srv/db', 'settee.ini'), '/srv/db')).toBe('settee admin add NAME --data /srv/db');
  expect(command('/srv/my db/settee.ini', '/srv/my db')).toBe('settee admin add NAME --data "/srv/my db"');
  expect(command('/etc/settee.ini', '/srv/db')).toBe('settee admin add NAME --config /etc/settee.ini');
  expect(command('/etc/settee.ini', undefined)).toBe('settee admin add NAME --config /etc/settee.ini');
  expect(command(undefined, undefined)).toBe('settee serve --memory --set admins/NAME=PASSWORD');
});

test('the advised command can be typed where the server was started', () => {
  expect(nameOfProgram({ npm_execpath: '/usr/lib/npm/npm-cli.js' })).toBe('npx settee');
  expect(nameOfProgram({})).toBe('settee');
  expect(adminCommand('data/settee.ini', resolve('data'), 'npx settee')).toBe('npx settee admin add NAME');
});
