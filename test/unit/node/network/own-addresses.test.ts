import { expect, test } from 'vitest';
import { OwnAddresses } from '../../../../src/node/network/own-addresses.ts';

async function isOwn(listening: string, url: string): Promise<boolean> {
  const own = new OwnAddresses({
    url: () => listening,
    names: ['db.example.org'],
    isVirtualHost: (host) => host === 'app.example:5984',
  });
  return own.isOwn(url);
}

const LOOPBACK = 'http://127.0.0.1:5984/';

test.each([
  [LOOPBACK, 'http://127.0.0.1:5984/db', true],
  [LOOPBACK, 'http://2130706433:5984/db', true],
  [LOOPBACK, 'http://localhost:5984/db', true],
  [LOOPBACK, 'http://LOCALHOST.:5984/db', true],
  [LOOPBACK, 'http://[::ffff:127.0.0.1]:5984/db', true],
  [LOOPBACK, 'http://0.0.0.0:5984/db', true],
  [LOOPBACK, 'http://db.example.org:5984/db', true],
  [LOOPBACK, 'http://app.example:5984/db', true],
  [LOOPBACK, 'http://127.0.0.2:5984/db', false],
  [LOOPBACK, 'http://127.0.0.1:5985/db', false],
  [LOOPBACK, 'https://127.0.0.1:5984/db', false],
  [LOOPBACK, 'http://192.0.2.1:5984/db', false],
  [LOOPBACK, 'http://no-such-host.invalid:5984/db', false],
  ['http://0.0.0.0:5984/', 'http://127.0.0.7:5984/db', true],
  ['http://[::]:5984/', 'http://[::1]:5984/db', true],
  ['http://[::]:5984/', 'http://192.0.2.1:5984/db', false],
  ['http://127.0.0.1:80/', 'http://127.0.0.1/db', true],
])('a server at %s is itself the target of %s: %j', async (listening, url, expected) => {
  expect(await isOwn(listening, url)).toBe(expected);
});
