import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createConnection } from 'node:net';
import { describe, expect, test } from 'vitest';
import { listen } from '../../../../src/node/http/http-server.ts';
import { hello, listenerOf } from './raw-requests.ts';

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
