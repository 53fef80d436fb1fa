import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { AllowedHosts } from '../../../../src/node/network/allowed-hosts.ts';
import { parseIp } from '../../../../src/node/network/ip-address.ts';

function allows(setting: string, host: string, port = '5984'): boolean {
  createConfig({ replicator: { allowed_hosts: setting } });
  const hosts = new AllowedHosts(setting);
  const address = parseIp(host);
  return hosts.hasName(host, port) || (address !== undefined && hosts.hasAddress(address, port));
}

describe('allowed host names', () => {
  test.each([
    ['db.example.org', 'db.example.org', true],
    ['db.example.org', 'db.example.org.', true],
    ['DB.Example.org', 'db.example.org', true],
    ['db.example.org', 'x.db.example.org', false],
    ['db.example.org', 'xdb.example.org', false],
    ['*.example.org', 'db.example.org', true],
    ['*.example.org', 'a.db.example.org', true],
    ['*.example.org', 'example.org', false],
    ['*.example.org', 'badexample.org', false],
    ['db:5984', 'db', true],
    ['db:5985', 'db', false],
    ['a, db', 'db', true],
    ['bücher.example', 'xn--bcher-kva.example', true],
    ['', 'db', false],
    ['*', 'db', true],
    ['10.0.0.0/8', 'db', false],
  ])('with %j %j: %j', (setting, name, expected) => {
    expect(allows(setting, name)).toBe(expected);
  });
});

describe('allowed addresses', () => {
  test.each([
    ['127.0.0.1', '127.0.0.1', true],
    ['127.0.0.1', '127.0.0.2', false],
    ['127.0.0.1', '::ffff:127.0.0.1', true],
    ['127.0.0.1:5984', '127.0.0.1', true],
    ['127.0.0.1:5985', '127.0.0.1', false],
    ['10.0.0.0/8', '10.200.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['::1', '::1', true],
    ['[::1]', '::1', true],
    ['[::1]:5984', '::1', true],
    ['[::1]:5985', '::1', false],
    ['fd00::/8', 'fd12::1', true],
    ['fd00::/8', 'fc12::1', false],
    ['db', '10.0.0.1', false],
    ['*', '10.0.0.1', true],
  ])('with %j %j: %j', (setting, address, expected) => {
    expect(allows(setting, must(address))).toBe(expected);
  });
});

test.each(['http://db', 'db/x', '10.0.0.0/33', ':80', 'db:x', '*.', 'a b', '[xy]', 'a:1:z'])(
  '%j is refused',
  (setting) => {
    expect(() => createConfig({ replicator: { allowed_hosts: setting } })).toThrow(/allowed_hosts/);
  },
);
