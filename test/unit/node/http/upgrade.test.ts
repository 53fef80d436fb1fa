import { request } from 'node:http';
import { createConnection } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type HttpServer, type ListenOptions, listen } from '../../../../src/node/http/http-server.ts';
import { createListener } from '../../../../src/node/http/listener.ts';
import type { Upgrade } from '../../../../src/node/http/upgrade.ts';
import { patient } from '../../../support/patience.ts';
import { exchange } from './listener-server.ts';

const servers: HttpServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close(0);
});

/** Answers requests with what came, and greets on connections that have changed to the protocol `echo-1`. */
async function serve(more: Partial<Upgrade> = {}, options: ListenOptions = {}): Promise<string> {
  const upgrade: Upgrade = {
    ...{ path: '/echo', protocol: 'echo-1', isOffered: () => true, beginClose: () => undefined },
    take: (socket, peer) => {
      socket.on('error', () => undefined);
      socket.write(`hello ${peer}:`);
      socket.pipe(socket);
    },
    ...more,
  };
  const listener = createListener(
    async ({ method, url, body }) => {
      const bytes = body instanceof Uint8Array ? Buffer.from(body).toString() : `${body}`;
      return { status: 200, headers: {}, body: `${method} ${url} ${bytes}` };
    },
    () => undefined,
  );
  const server = await listen(listener, '127.0.0.1', 0, { ...options, upgrade });
  servers.push(server);
  return server.url;
}

const asks = (line: string, headers = '', protocol = 'echo-1') =>
  `${line} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n${headers}\r\n`;

describe('a server with another protocol', () => {
  test('changes to it, with what has come already, whatever host the request names', async () => {
    const url = await serve();
    const asked = asks('GET /echo').replace('localhost', 'db.example.org');
    expect(await exchange(url, `${asked}first words`)).toBe(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo-1\r\n\r\nhello 127.0.0.1:first words',
    );
  });

  test.each([
    ['another protocol', asks('GET /echo', '', 'websocket'), 'GET /echo null'],
    ['another version', asks('GET /echo', '', 'echo-2'), 'GET /echo null'],
    ['several protocols', asks('GET /echo', '', 'echo-1, echo-2'), 'GET /echo null'],
    ['another path', asks('GET /echo/'), 'GET /echo/ null'],
    ['a query', asks('GET /echo?a'), 'GET /echo?a null'],
    ['another method', `${asks('POST /echo', 'Content-Length: 3\r\n')}abc`, 'POST /echo abc'],
    ['a body', asks('GET /echo', 'Content-Length: 0\r\n'), 'GET /echo'],
    ['the other protocol of HTTP and a body', `${asks('POST /db', 'Content-Length: 3\r\n', 'h2c')}abc`, 'POST /db abc'],
    ['no connection header', asks('GET /echo').replace('Connection: Upgrade\r\n', ''), 'GET /echo null'],
  ])('answers a request with %s as any other', async (_name, text, expected) => {
    const received = await exchange(await serve(), text);
    expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(received).toContain(`\r\n\r\n${expected}`);
  });

  test('checks the host of requests that do not change to it', async () => {
    const text = asks('GET /echo', '', 'websocket').replace('localhost', 'db.example.org');
    expect(await exchange(await serve(), text)).toMatch(/^HTTP\/1\.1 403 /);
  });

  test('answers as if there were none while it is not offered', async () => {
    const url = await serve({ isOffered: () => false });
    expect(await exchange(url, asks('GET /echo'))).toContain('\r\n\r\nGET /echo null');
  });

  test('refuses CONNECT as ever', async () => {
    expect(await exchange(await serve(), 'CONNECT /echo HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(/^HTTP\/1\.1 405 /);
  });

  test('changes only with the first request of a connection', async () => {
    const url = await serve();
    const received = await exchange(url, `GET /one HTTP/1.1\r\nHost: localhost\r\n\r\n${asks('GET /echo')}`);
    expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*GET \/one null[\s\S]*HTTP\/1\.1 400 Bad Request\r\n/);
    expect(received).toContain('Only the first request of a connection may ask for another protocol.');
  });

  test('counts these connections: one too many gets 503', async () => {
    const url = await serve({}, { maxConnections: () => 1 });
    const { hostname, port } = new URL(url);
    const first = createConnection(Number(port), hostname);
    let greeted = '';
    first.on('data', (data) => {
      greeted += data;
    });
    first.write(asks('GET /echo'));
    await expect.poll(() => greeted, patient).toContain('hello');
    expect(await exchange(url, asks('GET /echo'))).toMatch(/^HTTP\/1\.1 503 /);
    first.destroy();
  });

  test('does not close them for being idle, but when it closes', async () => {
    let begun = 0;
    const url = await serve({ beginClose: () => void begun++ }, { stalledMs: 1_000 });
    const { hostname, port } = new URL(url);
    const idle = createConnection(Number(port), hostname);
    idle.on('error', () => undefined);
    let received = '';
    idle.on('data', (data) => {
      received += data;
    });
    idle.write(asks('GET /echo'));
    await expect.poll(() => received, patient).toContain('hello');
    // One that is idle in HTTP, and was opened later, is closed meanwhile.
    const other = createConnection(Number(port), hostname);
    await new Promise((resolve) => other.once('close', resolve));
    idle.write('still here');
    await expect.poll(() => received, patient).toContain('still here');
    const closed = new Promise((resolve) => idle.once('close', resolve));
    await servers[0]?.close(0);
    await closed;
    expect(begun).toBe(1);
  });

  test('is offered to clients of Node', async () => {
    const outgoing = request(new URL('echo', await serve()), { headers: { Connection: 'Upgrade', Upgrade: 'echo-1' } });
    outgoing.end();
    const greeting = await new Promise<string>((resolve) =>
      outgoing.once('upgrade', (_response, socket, head) => {
        if (head.length > 0) socket.unshift(head);
        socket.once('data', (data: Buffer) => {
          socket.destroy();
          resolve(data.toString());
        });
      }),
    );
    expect(greeting).toBe('hello 127.0.0.1:');
  });
});
