import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createConnection, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Handle } from '../../../../src/base/shared/message.ts';
import { assertListenAllowed } from '../../../../src/node/http/host-check.ts';
import { listen } from '../../../../src/node/http/http-server.ts';
import { createListener } from '../../../../src/node/http/listener.ts';

const listenerOf = (handle: Handle) =>
  createListener(handle, (_request, error) => {
    throw error;
  });
const hello = listenerOf(async () => ({ status: 200, headers: {}, body: 'hello' }));

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

describe('listen', () => {
  test('has the URL where it listens', async () => {
    const server = await listen(hello, '127.0.0.1', 0);
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+\/$/);
    expect(await (await fetch(server.url)).text()).toBe('hello');
    await server.close();
  });

  test('refuses a host beyond loopback without an admin', async () => {
    await expect(listen(hello, '0.0.0.0', 0)).rejects.toMatchObject({ code: 'bad_request' });
  });

  test('names a port that is in use, and the remedy', async () => {
    const first = await listen(hello, '127.0.0.1', 0);
    const port = Number(new URL(first.url).port);
    await expect(listen(hello, '127.0.0.1', port)).rejects.toMatchObject({
      code: 'storage_blocked',
      reason: `Settee can't listen on 127.0.0.1:${port}: another program uses this port. Stop it, or choose another port with --port (0 takes any free one).`,
    });
    await first.close();
  });
});

describe('an idle connection', () => {
  /** Asks by hand, and gives the socket. */
  function ask(server: { readonly url: string }): Socket {
    const socket = createConnection(Number(new URL(server.url).port), '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
    return socket;
  }

  test("is closed when its client doesn't read the response", async () => {
    let cancelled: () => void;
    const wasCancelled = new Promise<void>((resolve) => {
      cancelled = resolve;
    });
    const endless = { pull: async () => new Uint8Array(65_536), cancel: async () => cancelled() };
    const server = await listen(
      listenerOf(async () => ({ status: 200, headers: {}, body: endless })),
      '127.0.0.1',
      0,
      { stalledMs: 50 },
    );
    const socket = ask(server).pause();
    await wasCancelled;
    socket.destroy();
    await server.close();
  });

  test('stays open while the server works on the response', async () => {
    const slow = async () => {
      await pause(300);
      return { status: 200, headers: {}, body: 'at last' };
    };
    const server = await listen(listenerOf(slow), '127.0.0.1', 0, { stalledMs: 50 });
    expect(await (await fetch(server.url)).text()).toBe('at last');
    await server.close();
  });

  test('is closed when it sends no request', async () => {
    const server = await listen(hello, '127.0.0.1', 0, { stalledMs: 50 });
    const socket = createConnection(Number(new URL(server.url).port), '127.0.0.1');
    await once(socket.resume(), 'close');
    await server.close();
  });
});

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

/** All that the server sends until it ends the connection. */
async function sendRaw(server: { readonly url: string }, text: string): Promise<string> {
  const socket = createConnection(Number(new URL(server.url).port), '127.0.0.1');
  socket.on('error', () => {}).write(text);
  let received = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    received += piece;
  });
  await once(socket, 'close');
  return received;
}

describe('a request with ambiguous framing or two hosts', () => {
  const smuggled = 'DELETE /smuggled HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
  const chunked = `2\r\n{}\r\n0\r\n\r\n${smuggled}`;
  const head = (version: string, ...lines: string[]) =>
    [`POST / HTTP/${version}`, 'Host: localhost', ...lines, '', ''].join('\r\n');

  async function exchange(text: string): Promise<{ readonly answer: string; readonly asked: readonly string[] }> {
    const asked: string[] = [];
    const handle: Handle = async ({ method, url }) => {
      asked.push(`${method} ${url}`);
      return { status: 200, headers: {}, body: 'taken' };
    };
    const server = await listen(
      createListener(handle, () => {}),
      '127.0.0.1',
      0,
    );
    const answer = await sendRaw(server, text);
    await server.close();
    return { answer, asked };
  }

  test.each([
    ['1.0', 'Transfer-Encoding: chunked'],
    ['1.0', 'Connection: keep-alive\r\nTransfer-Encoding: chunked'],
    ['1.1', 'Transfer-Encoding: gzip, chunked'],
    ['1.1', 'Transfer-Encoding: identity, chunked'],
    ['1.1', 'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked'],
    ['1.1', 'Transfer-Encoding: chunked, chunked'],
    ['1.1', 'Transfer-Encoding: chunked, gzip'],
    ['1.1', 'Transfer-Encoding: xchunked'],
    ['1.1', 'Content-Length: 2\r\nTransfer-Encoding: chunked'],
    ['1.1', 'Content-Length: 2\r\nContent-Length: 0'],
    ['1.1', 'Host: localhost\r\nTransfer-Encoding: chunked'],
    ['1.1', 'host: other.localhost\r\nTransfer-Encoding: chunked'],
  ])('is refused with 400, and nothing after it is read: HTTP/%s, %s', async (version, lines) => {
    const { answer, asked } = await exchange(head(version, lines) + chunked);
    expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\nConnection: close\r\n[\s\S]*"error":"bad_request","reason":"/);
    expect(answer.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
    expect(asked).toEqual([]);
  });

  test('is refused after the response to the previous request', async () => {
    const first = 'GET /first HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const { answer, asked } = await exchange(first + head('1.1', 'Transfer-Encoding: gzip, chunked') + chunked);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
    expect(asked).toEqual(['GET /first']);
  });

  test('is refused with the reason', async () => {
    expect((await exchange(head('1.0', 'Transfer-Encoding: chunked') + chunked)).answer).toContain(
      'HTTP/1.0 has no Transfer-Encoding. Send the body with a Content-Length, or the request as HTTP/1.1.',
    );
    expect((await exchange(head('1.1', 'Transfer-Encoding: gzip, chunked') + chunked)).answer).toContain(
      'Transfer-Encoding must be \\"chunked\\" and nothing else. Name the compression of the body in Content-Encoding.',
    );
  });

  test.each(['chunked', 'CHUNKED', ' chunked '])('is not one with the encoding "%s"', async (encoding) => {
    const text = `${head('1.1', 'Connection: close', `Transfer-Encoding: ${encoding}`)}2\r\n{}\r\n0\r\n\r\n`;
    expect(await exchange(text)).toEqual({ answer: expect.stringMatching(/^HTTP\/1\.1 200 /), asked: ['POST /'] });
  });
});

/** Status, headers and body of each answer. */
function answersIn(received: string): { status: number; headers: Record<string, string>; body: string }[] {
  const answers = [];
  for (let rest = received; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(lines.map((line) => [line.split(': ')[0]?.toLowerCase(), line.split(': ')[1]]));
    const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0);
    answers.push({ status: Number(first.split(' ')[1]), headers, body: rest.slice(end + 4, bodyEnd) });
    rest = rest.slice(bodyEnd);
  }
  return answers;
}

describe('requests that Node would answer by itself, or not at all', () => {
  const first = 'GET /first HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const host = 'Host: localhost\r\n';
  const METHODS = 'COPY,DELETE,GET,HEAD,OPTIONS,POST,PUT';

  const cases: readonly (readonly [what: string, text: string, status: number, error: string])[] = [
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400, 'bad_request'],
    [
      'an unknown expectation',
      `PUT / HTTP/1.1\r\n${host}Expect: tea\r\nContent-Length: 2\r\n\r\n{}`,
      417,
      'expectation_failed',
    ],
    ['an unknown method', `BREW / HTTP/1.1\r\n${host}\r\n`, 405, 'method_not_allowed'],
    ['a method in small letters', `get / HTTP/1.1\r\n${host}\r\n`, 405, 'method_not_allowed'],
    ['a method of 300 letters', `${'A'.repeat(300)} / HTTP/1.1\r\n${host}\r\n`, 405, 'method_not_allowed'],
    ['no resource', `OPTIONS * HTTP/1.1\r\n${host}\r\n`, 405, 'method_not_allowed'],
    ['a tunnel', 'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n', 405, 'method_not_allowed'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505, 'http_version_not_supported'],
    ['HTTP/2 as a version', `GET / HTTP/2.0\r\n${host}\r\n`, 505, 'http_version_not_supported'],
    ['HTTP/1.2', `GET / HTTP/1.2\r\n${host}\r\n`, 505, 'http_version_not_supported'],
    ['HTTP/0.9', 'GET /\r\n\r\n', 505, 'http_version_not_supported'],
    ['a large head', `GET / HTTP/1.1\r\n${host}X: ${'a'.repeat(70_000)}\r\n\r\n`, 431, 'too_long'],
    ['TLS', '\u0016\u0003\u0001\u0000\u00c8\u0001\u0000', 400, 'bad_request'],
    ['no HTTP', 'hello\r\n\r\n', 400, 'bad_request'],
    ['lines without CR', 'GET / HTTP/1.1\nHost: localhost\n\n', 400, 'bad_request'],
    ['a space in the address', `GET /a b HTTP/1.1\r\n${host}\r\n`, 400, 'bad_request'],
    ['a header that is none', `GET / HTTP/1.1\r\n${host}a b: c\r\n\r\n`, 400, 'bad_request'],
    ['a negative length', `PUT / HTTP/1.1\r\n${host}Content-Length: -1\r\n\r\n`, 400, 'bad_request'],
  ];

  async function exchange(text: string) {
    const server = await listen(hello, '127.0.0.1', 0);
    const answers = answersIn(await sendRaw(server, text));
    await server.close();
    return answers;
  }

  test.each(cases)(
    'are answered with Server header, error and reason, and the connection ends: %s',
    async (_what, text, status, error) => {
      const [answer, ...more] = await exchange(text);
      expect(more).toEqual([]);
      expect(answer).toMatchObject({ status, headers: { 'content-type': 'application/json', connection: 'close' } });
      expect(answer?.headers['server']).toMatch(/^Settee\//);
      expect(JSON.parse(answer?.body ?? '')).toEqual({ error, reason: expect.stringMatching(/.{10}/) });
      if (status === 405) expect(answer?.headers['allow']).toBe(METHODS);
    },
  );

  test.each(cases)('are answered after a previous request: %s', async (_what, text, status) => {
    const answers = await exchange(first + text);
    expect(answers.map((answer) => answer.status)).toEqual([200, status]);
    expect(answers[0]?.body).toBe('hello');
  });

  test('with an unreadable body are answered in the order of requests', async () => {
    const waiting = listenerOf(async ({ body }) => {
      if (typeof body === 'object' && body !== null && 'pull' in body) await body.pull();
      return { status: 200, headers: {}, body: 'read' };
    });
    const server = await listen(
      async (incoming, outgoing) => waiting(incoming, outgoing).catch(() => {}),
      '127.0.0.1',
      0,
    );
    const text = `${first}PUT / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nzz\r\n`;
    expect(answersIn(await sendRaw(server, text)).map(({ status }) => status)).toEqual([200, 400]);
    await server.close();
  });

  test('for another protocol are answered as ordinary ones, and the connection ends', async () => {
    const upgrade = `GET / HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    const answers = await exchange(`${upgrade}${first}`);
    expect(answers).toMatchObject([{ status: 200, headers: { connection: 'close' }, body: 'hello' }]);
  });

  test('have all their headers checked, however many there are', async () => {
    const many = Array.from({ length: 3_000 }, (_, n) => `a${n}: 1\r\n`).join('');
    const seen = listenerOf(async ({ headers }) => ({ status: 200, headers: {}, body: `${headers['last']}` }));
    const server = await listen(seen, '127.0.0.1', 0);
    const text = `GET / HTTP/1.1\r\n${host}${many}Last: seen\r\nConnection: close\r\n\r\n`;
    expect(answersIn(await sendRaw(server, text))).toMatchObject([{ status: 200, body: 'seen' }]);
    await server.close();
  });
});

describe('a limit of connections', () => {
  const question = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

  async function connect(server: { readonly url: string }): Promise<Socket> {
    const socket = createConnection(Number(new URL(server.url).port), '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  }

  async function ask(socket: Socket): Promise<string> {
    socket.write(question);
    const [answer] = await once(socket, 'data');
    return `${answer}`;
  }

  test('has the next connection refused with 503, and accepted after another has closed', async () => {
    const server = await listen(hello, '127.0.0.1', 0, { maxConnections: () => 2 });
    const [first, second] = [await connect(server), await connect(server)];
    expect(await ask(first)).toMatch(/^HTTP\/1\.1 200 /);
    const refused = await sendRaw(server, question + question);
    expect(refused).toMatch(/^HTTP\/1\.1 503 [\s\S]*\r\nRetry-After: 5\r\n/);
    expect(refused).toMatch(
      /\r\nConnection: close\r\n[\s\S]*"error":"service_unavailable","reason":"[^"]*httpd\/max_connections/,
    );
    expect(refused.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
    expect(await ask(first)).toMatch(/^HTTP\/1\.1 200 /);
    // The second one has asked nothing so far, and counts all the same.
    second.resume().end();
    await once(second, 'close');
    const third = await connect(server);
    expect(await ask(third)).toMatch(/^HTTP\/1\.1 200 /);
    for (const socket of [first, third]) socket.destroy();
    await server.close();
  });

  test('closes the next connection if it sends no request', async () => {
    const server = await listen(hello, '127.0.0.1', 0, { maxConnections: () => 1 });
    const first = await connect(server);
    const second = await connect(server);
    await once(second.resume(), 'close');
    expect(await ask(first)).toMatch(/^HTTP\/1\.1 200 /);
    first.destroy();
    await server.close();
  });

  test('of 0 means no limit', async () => {
    const server = await listen(hello, '127.0.0.1', 0, { maxConnections: () => 0 });
    const sockets = [];
    for (let n = 0; n < 100; n++) sockets.push(await connect(server));
    for (const socket of sockets) expect(await ask(socket)).toMatch(/^HTTP\/1\.1 200 /);
    for (const socket of sockets) socket.destroy();
    await server.close();
  });
});

describe('closing the server', () => {
  test('lets running requests end, accepts no new ones, and leaves no connection open', async () => {
    let finish = () => {};
    let started = () => {};
    const isStarted = new Promise<void>((resolve) => {
      started = resolve;
    });
    const slow = listenerOf(async () => {
      started();
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return { status: 200, headers: {}, body: 'late' };
    });
    const server = await listen(slow, '127.0.0.1', 0);
    const agent = new Agent({ keepAlive: true });
    const outgoing = request(server.url, { agent });
    outgoing.end();
    const answered = once(outgoing, 'response');
    await isStarted;
    const closed = server.close();
    await expect(fetch(server.url)).rejects.toThrow();
    finish();
    const [incoming] = await answered;
    let text = '';
    for await (const chunk of incoming) text += chunk;
    expect(text).toBe('late');
    await closed;
    agent.destroy();
  });

  test("doesn't wait for a connection that never sent a request", async () => {
    const server = await listen(hello, '127.0.0.1', 0);
    const socket = createConnection(Number(new URL(server.url).port), '127.0.0.1');
    await once(socket, 'connect');
    // Answered behind the connection above, so the server knows of it.
    await (await fetch(server.url)).text();
    await server.close();
    // The client still has it open.
    expect(socket.writable).toBe(true);
    socket.destroy();
  });

  test('can be called twice', async () => {
    const server = await listen(hello, '127.0.0.1', 0);
    await Promise.all([server.close(), server.close()]);
    await server.close();
  });
});
