import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { createConnection } from 'node:net';
import { describe, expect, test } from 'vitest';
import { answer, deferred, exchange, serve, useServers } from './listener-server.ts';

useServers();

describe('a connection', () => {
  test('gets 400 for input that is not HTTP', async () => {
    const url = await serve(async () => answer(null));
    expect(await exchange(url, 'NONSENSE\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
    expect(await exchange(url, 'GET / HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
  });

  test.each([
    { what: 'no request', text: 'NONSENSE\r\n\r\n', start: '400 Bad Request', error: 'bad_request' },
    {
      what: 'letters beyond ASCII in the address',
      text: 'GET /db/\u00e4 HTTP/1.1\r\nHost: localhost\r\n\r\n',
      start: '400 Bad Request',
      error: 'bad_request',
      reason: 'percent-encode spaces and letters outside ASCII in its address (ä is %C3%A4)',
    },
    {
      what: 'a head beyond 64 KB',
      text: `GET /?${'k'.repeat(70_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      start: '431 Request Header Fields Too Large',
      error: 'too_long',
      reason: 'can be sent as the body of a POST',
    },
  ])('gets the reason for unreadable input: $what', async ({ text, start, error, reason = '' }) => {
    const url = await serve(async () => answer(null));
    const [head = '', body = ''] = (await exchange(url, text)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${start}\r\nContent-Type: application/json\r\n`));
    expect(head).toMatch(
      /\r\nServer: Settee\/\S+\r\nX-Content-Type-Options: nosniff\r\nx-svc-help: docs\/http\/errors\.md#\w+\r\nDate: .* GMT\r\nConnection: close$/,
    );
    const shown: unknown = JSON.parse(Buffer.from(body, 'latin1').toString());
    expect(shown).toEqual({ error, reason: expect.stringContaining(reason) });
  });

  test('completes its response when an unreadable second request arrives in the middle', async () => {
    const { promise, resolve } = deferred<undefined>();
    let pulls = 0;
    const pull = async () => (pulls++ === 0 ? new Uint8Array([111, 107]) : promise);
    const url = await serve(async () => answer({ pull, cancel: async () => undefined }));
    const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    let received = '';
    for await (const chunk of socket.setEncoding('latin1')) {
      if (received === '') socket.write('NONSENSE\r\n\r\n', () => setImmediate(() => resolve(undefined)));
      received += chunk;
    }
    expect(received).toMatch(/^HTTP\/1\.1 200 .*\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP\/1\.1 400 /s);
  });

  test('gets 400 with a reason for an invalid address', async () => {
    const url = await serve(async () => answer(null));
    const received = await exchange(url, 'GET /db/a\\b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    expect(received).toMatch(/^HTTP\/1.1 400 /);
    expect(received).toContain('{"error":"bad_request","reason":');
    expect(received).toMatch(/\r\nserver: Settee\//);
  });

  test('has pipelined requests handled one after the other', async () => {
    const order: string[] = [];
    const url = await serve(async ({ method }) => {
      order.push(`${method} begins`);
      await new Promise((resolve) => setTimeout(resolve, method === 'PUT' ? 50 : 0));
      order.push(`${method} ends`);
      return answer(method);
    });
    const put = 'PUT /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}';
    const get = 'GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
    socket.write(put + get);
    let received = '';
    for await (const chunk of socket.setEncoding('latin1')) received += chunk;
    expect(received.match(/HTTP\/1.1 200/g)?.length).toBe(2);
    expect(order).toEqual(['PUT begins', 'PUT ends', 'GET begins', 'GET ends']);
  });

  test('gets 431 for headers beyond 64 KB, and not below', async () => {
    const url = await serve(async () => answer('fine'));
    const head = (size: number) => `GET /?${'k'.repeat(size)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    expect(await exchange(url, head(60_000))).toMatch(/^HTTP\/1.1 200 /);
    expect(await exchange(url, head(70_000))).toMatch(/^HTTP\/1.1 431 /);
  });

  test('is kept for the next request', async () => {
    const url = await serve(async () => answer('x'));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports: unknown[] = [];
    for (let round = 0; round < 3; round++) {
      const outgoing = httpRequest(url, { agent });
      outgoing.end();
      const [incoming] = await once(outgoing, 'response');
      ports.push(incoming.socket.localPort);
      incoming.resume();
      await once(incoming, 'end');
    }
    agent.destroy();
    expect(new Set(ports).size).toBe(1);
  });

  test('works beside many others', async () => {
    const all = deferred<void>();
    let waiting = 0;
    const url = await serve(async () => {
      if (++waiting === 200) all.resolve();
      await all.promise;
      return answer('together');
    });
    const answers = await Promise.all(Array.from({ length: 200 }, async () => (await fetch(url)).text()));
    expect(answers.every((text) => text === 'together')).toBe(true);
  });
});
