import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { AllowedHosts, GuardedNetwork } from '../../../../src/node/network/guarded-network.ts';
import { parseIp } from '../../../../src/node/network/ip-address.ts';
import { OwnConnections } from '../../../../src/node/network/server-network.ts';

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'here.test': ['127.0.0.1'],
  'mixed.test': ['93.184.215.14', '127.0.0.1'],
  'nobody.test': [],
};

let server: Server;
let port: number;
let seen: string[];
let setting: string;
let asked: string[];
let proxied: string[];
let network: GuardedNetwork;

beforeEach(async () => {
  seen = [];
  asked = [];
  proxied = [];
  setting = '';
  server = createServer(({ headers, url }, response) => {
    seen.push(`${headers.host} ${url}`);
    response.end('inner');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  network = new GuardedNetwork({
    allowedHosts: () => setting,
    own: { isOwn: async () => false },
    proxies: {
      through: (proxy) => async (input) => {
        proxied.push(`${input} by ${proxy}`);
        return new Response('by a proxy');
      },
    },
    resolve: async (name) => {
      asked.push(name);
      const addresses = NAMES[name];
      if (addresses === undefined) throw new Error(`getaddrinfo ENOTFOUND ${name}`);
      return addresses;
    },
  });
});

afterEach(async () => {
  await network.close();
  server.closeAllConnections();
  server.close();
});

async function outcome(url: string, ask = network.fetch): Promise<string> {
  try {
    return await (await ask(url)).text();
  } catch (error) {
    return error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
  }
}

const urls = () =>
  ['127.0.0.1', 'here.test', 'mixed.test', 'nobody.test', 'absent.test'].map((host) => `http://${host}:${port}/`);

test('addresses of the internal network are not requested, and every refusal has the same words', async () => {
  const outcomes = new Set(await Promise.all(urls().map((url) => outcome(url))));
  expect([...outcomes]).toEqual([expect.stringMatching(/^there is no such host, it does not answer, or /)]);
  expect(seen).toEqual([]);
  // Each name once: what was judged is what would be connected to.
  expect(asked.sort()).toEqual(['absent.test', 'here.test', 'mixed.test', 'nobody.test']);
});

test.each<readonly [setting: string, reached: readonly string[]]>([
  ['here.test', []],
  ['127.0.0.0/8', ['127.0.0.1', 'here.test']],
  ['127.0.0.1:PORT', ['127.0.0.1', 'here.test']],
  ['here.test:1, 127.0.0.1:1', []],
])('the setting %j takes effect', async (given, reached) => {
  setting = given.replace('PORT', `${port}`);
  for (const host of ['127.0.0.1', 'here.test']) {
    const told = await outcome(`http://${host}:${port}/x`);
    expect(told === 'inner', host).toBe(reached.includes(host));
  }
});

test('a permitted name is requested whatever its address', async () => {
  setting = `localhost:${port}`;
  expect(await outcome(`http://localhost:${port}/x`)).toBe('inner');
  expect(await outcome(`http://127.0.0.1:${port}/x`)).not.toBe('inner');
  expect(asked).toEqual([]);
});

test('a revoked setting applies to the next request, even on an open connection', async () => {
  setting = '127.0.0.0/8';
  expect(await outcome(`http://here.test:${port}/`)).toBe('inner');
  setting = '';
  expect(await outcome(`http://here.test:${port}/`)).not.toBe('inner');
  expect(seen).toEqual([`here.test:${port} /`]);
});

describe('refusals without a look at the network', () => {
  test.each([
    'http://127.0.0.1/x',
    'http://2130706433/x',
    'https://[::1]/x',
    'http://localhost:5984/x',
    'http://a.localhost./x',
    'http://169.254.169.254/x',
    'socks5://2130706433:1080',
    'socks5://[::ffff:a00:1]:1080',
  ])('apply to %s', (url) => {
    expect(network.refusal(url)).toMatch(/only server admins/);
    setting = '*';
    expect(network.refusal(url)).toBeUndefined();
  });

  test.each(['http://93.184.215.14/x', 'https://example.org/x', 'http://here.test/x'])("don't apply to %s", (url) => {
    expect(network.refusal(url)).toBeUndefined();
  });
});

test('a proxy and its target are both checked, and the proxy is connected to by the checked address', async () => {
  const by = (proxy: string) => network.fetchThrough?.(proxy) ?? fetch;
  const target = 'http://93.184.215.14/db';
  for (const proxy of ['http://127.0.0.1:1', 'http://here.test:1', 'socks5://2130706433:1', 'socks5://mixed.test']) {
    expect(await outcome(target, by(proxy))).toMatch(/there is no such host/);
  }
  expect(await outcome('http://here.test/db', by('http://93.184.215.14:1'))).toMatch(/there is no such host/);
  expect(proxied).toEqual([]);
  setting = '127.0.0.1:3128';
  expect(await outcome(target, by('http://me:pw@here.test:3128'))).toBe('by a proxy');
  expect(proxied).toEqual([`${target} by http://me:pw@127.0.0.1:3128`]);
});

test('connections of this process are known while they last', async () => {
  const own = new OwnConnections();
  const known: boolean[] = [];
  server.on('request', ({ socket }) => known.push(own.has(socket)));
  setting = '127.0.0.1';
  await outcome(`http://127.0.0.1:${port}/`);
  await outcome(`http://here.test:${port}/`);
  own.close();
  expect(known).toEqual([true, true]);
});

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
