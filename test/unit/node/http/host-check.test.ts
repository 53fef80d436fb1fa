import { once } from 'node:events';
import { request } from 'node:http';
import { createConnection } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import { assertListenAllowed } from '../../../../src/node/http/host-check.ts';
import { listen } from '../../../../src/node/http/http-server.ts';
import { hello, listenerOf } from './raw-requests.ts';

describe('assertListenAllowed', () => {
  test.each(['127.0.0.1', '127.1.2.3', 'localhost', 'LOCALHOST', '::1', '[::1]'])('allows %s', (host) => {
    expect(() => assertListenAllowed(host, false)).not.toThrow();
  });

  test.each(['0.0.0.0', '::', '', '192.168.1.7', 'example.org', '127.0.0.1.example.org', '1127.0.0.1'])(
    'refuses "%s" without an admin, and says why',
    (host) => {
      expect(() => assertListenAllowed(host, false)).toThrow(
        /^bad_request: Settee does not listen on .*no admin.*or use 127\.0\.0\.1/,
      );
      expect(() => assertListenAllowed(host, true)).not.toThrow();
    },
  );
});

describe('a server that other machines can reach', () => {
  const fromOtherMachine = async (url: string): Promise<number | undefined> => {
    const address = otherAddress();
    if (address === undefined) return undefined;
    const outgoing = request(url.replace('0.0.0.0', address), { localAddress: address });
    outgoing.end();
    const [incoming] = await once(outgoing, 'response');
    incoming.resume();
    return incoming.statusCode;
  };

  test.skipIf(otherAddress() === undefined)('answers other machines only while there is an admin', async () => {
    let hasAdmin = true;
    const server = await listen(hello, '0.0.0.0', 0, { hasAdmin: () => hasAdmin });
    expect(await fromOtherMachine(server.url)).toBe(200);
    hasAdmin = false;
    expect(await fromOtherMachine(server.url)).toBe(403);
    expect((await fetch(server.url.replace('0.0.0.0', '127.0.0.1'))).status).toBe(200);
    await server.close();
  });
});

/** An address of this machine by which it is not known to itself alone. */
function otherAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
}

describe('a Host header', () => {
  const statusFor = async (url: string, host: string) => {
    const outgoing = request(url, { headers: { host } });
    outgoing.end();
    const [incoming] = await once(outgoing, 'response');
    incoming.resume();
    return incoming.statusCode;
  };

  test.each([
    ['localhost', 200],
    ['LocalHost:5984', 200],
    ['localhost.:80', 200],
    ['app.localhost:1', 200],
    ['127.0.0.1:5984', 200],
    ['127.9.8.7', 200],
    ['[::1]', 200],
    ['[::1]:5984', 200],
    ['db.example.org', 200],
    ['DB.Example.org.:8080', 200],
    ['', 200],
    ['evil.example', 403],
    ['evil.example:5984', 403],
    ['localhost.evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['evillocalhost', 403],
    ['x.db.example.org', 403],
    ['.localhost', 403],
    ['"><script>.localhost', 403],
    ['192.168.0.1', 403],
  ])('"%s" is answered with %i', async (host, status) => {
    const server = await listen(hello, '127.0.0.1', 0, { allowedHosts: ['db.example.org'] });
    expect(await statusFor(server.url, host)).toBe(status);
    await server.close();
  });

  test('is also checked in the request line, which has precedence', async () => {
    const server = await listen(hello, '127.0.0.1', 0);
    const statusOf = async (target: string) => {
      const socket = createConnection(Number(new URL(server.url).port), '127.0.0.1');
      socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      let text = '';
      for await (const chunk of socket) text += chunk;
      return text.slice(9, 12);
    };
    expect(await statusOf('http://localhost:5984/db')).toBe('200');
    expect(await statusOf('http://evil.example/db')).toBe('403');
    expect(await statusOf('http://localhost@evil.example/db')).toBe('403');
    await server.close();
  });

  test('is checked in each request, whatever the previous one had', async () => {
    const server = await listen(hello, '127.0.0.1', 0);
    const statuses = [];
    for (const host of ['localhost', 'evil.example', 'localhost', 'evil.example', '127.0.0.1', 'localhost']) {
      statuses.push(await statusFor(server.url, host));
    }
    expect(statuses).toEqual([200, 403, 200, 403, 200, 200]);
    await server.close();
  });

  test('can be missing in HTTP/1.0', async () => {
    const server = await listen(hello, '127.0.0.1', 0);
    const socket = createConnection(Number(new URL(server.url).port), '127.0.0.1');
    socket.end('GET / HTTP/1.0\r\n\r\n');
    let text = '';
    for await (const chunk of socket) text += chunk;
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    await server.close();
  });

  test('that names another server is refused with the reason and the remedy', async () => {
    const asked: string[] = [];
    const server = await listen(
      listenerOf(async ({ url }) => {
        asked.push(url);
        return { status: 200, headers: {}, body: '' };
      }),
      '127.0.0.1',
      0,
    );
    const outgoing = request(server.url, { method: 'PUT', headers: { host: 'evil.example:5984' } });
    outgoing.end('{"a":1}');
    const [incoming] = await once(outgoing, 'response');
    let text = '';
    for await (const chunk of incoming) text += chunk;
    expect(incoming.headers['content-type']).toBe('application/json');
    expect(JSON.parse(text)).toEqual({
      error: 'forbidden',
      reason:
        'This server does not answer under the host name "evil.example": a web page may have made that name point to this machine. Use localhost or 127.0.0.1; or, if the name is yours, start the server with --allow-host evil.example.',
    });
    expect(asked).toEqual([]);
    await server.close();
  });

  test.each(['http://db.example.org', 'db.example.org:80', 'db.example.org/', '', 'a b', '::1'])(
    '"%s" can\'t be allowed',
    async (name) => {
      await expect(listen(hello, '127.0.0.1', 0, { allowedHosts: [name] })).rejects.toMatchObject({
        code: 'bad_request',
        reason: `The allowed host "${name}" is not a host name; write it without scheme, port and path, as in db.example.org.`,
      });
    },
  );
});
