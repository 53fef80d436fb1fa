import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { adminCommand } from '../../../../src/node/server/admin-advice.ts';

test('the command writes where the server reads', () => {
  expect(adminCommand('data/settee.ini', resolve('data'))).toBe('settee admin add NAME');
  expect(adminCommand(join('/srv/db', 'settee.ini'), '/srv/db')).toBe('settee admin add NAME --data /srv/db');
  expect(adminCommand('/srv/my db/settee.ini', '/srv/my db')).toBe('settee admin add NAME --data "/srv/my db"');
  expect(adminCommand('/etc/settee.ini', '/srv/db')).toBe('settee admin add NAME --config /etc/settee.ini');
  expect(adminCommand('/etc/settee.ini', undefined)).toBe('settee admin add NAME --config /etc/settee.ini');
  expect(adminCommand(undefined, undefined)).toBe('settee serve --memory --set admins/NAME=PASSWORD');
});
