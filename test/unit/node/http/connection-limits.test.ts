import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { listen } from '../../../../src/node/http/http-server.ts';
import { hello, listenerOf, sendRaw } from './raw-requests.ts';

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
    // The request, too, has only so long, and a busy machine may be late with it.
    const stalledMs = 2_000;
    const slow = async () => {
      await pause(2 * stalledMs);
      return { status: 200, headers: {}, body: 'at last' };
    };
    const server = await listen(listenerOf(slow), '127.0.0.1', 0, { stalledMs });
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
