import { request as httpRequest } from 'node:http';
import { createConnection } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { ByteStream } from '../../../../src/base/shared/message.ts';
import { answer, deferred, exchange, failures, serve, useServers } from './listener-server.ts';

useServers();

describe('a response', () => {
  test('has one header for each cookie', async () => {
    const set = { 'set-cookie': 'a=b\nc=d; Path=/', x: 'y' };
    const bodies = [
      null,
      'text',
      new Uint8Array(1),
      { length: 0, pull: async () => undefined, cancel: async () => {} },
    ];
    for (const body of bodies) {
      const response = await fetch(await serve(async () => answer(body, set)));
      expect(response.headers.getSetCookie()).toEqual(['a=b', 'c=d; Path=/']);
      expect(response.headers.get('x')).toBe('y');
      await response.arrayBuffer();
    }
  });

  test('has status, headers and text with its length in bytes', async () => {
    const url = await serve(async () => answer('{"ok":"é"}\n', { etag: '"1-a"', 'content-type': 'text/plain' }, 201));
    const response = await fetch(url);
    expect(response.status).toBe(201);
    expect(response.headers.get('etag')).toBe('"1-a"');
    expect(response.headers.get('content-type')).toBe('text/plain');
    expect(response.headers.get('content-length')).toBe('12');
    expect(response.headers.get('date')).toMatch(/GMT$/);
    expect(await response.text()).toBe('{"ok":"é"}\n');
  });

  test('to HEAD has no body but its length', async () => {
    const url = await serve(async ({ url: path }) =>
      path === '/text' ? answer('12345') : answer(null, { 'content-length': '77' }),
    );
    expect(await exchange(url, 'HEAD /text HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')).toMatch(
      /content-length: 5\r\n(.*\r\n)*\r\n$/i,
    );
    expect(await exchange(url, 'HEAD /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')).toMatch(
      /content-length: 77\r\n(.*\r\n)*\r\n$/i,
    );
  });

  test('to HEAD cancels a stream and keeps its length', async () => {
    const cancelled = deferred<void>();
    const body = { length: 99, pull: async () => undefined, cancel: async () => cancelled.resolve() };
    const url = await serve(async () => answer(body));
    const response = await fetch(url, { method: 'HEAD' });
    expect(response.headers.get('content-length')).toBe('99');
    await cancelled.promise;
  });

  test('with status 304 has no body', async () => {
    const url = await serve(async () => answer(null, { etag: '"x"' }, 304));
    const response = await fetch(url);
    expect([response.status, await response.text()]).toEqual([304, '']);
  });

  test('without a length is sent in chunks', async () => {
    const parts = ['one,', 'two,', 'three'];
    const url = await serve(async () =>
      answer({
        pull: async () => {
          const part = parts.shift();
          return part === undefined ? undefined : new TextEncoder().encode(part);
        },
        cancel: async () => undefined,
      }),
    );
    const response = await fetch(url);
    expect(response.headers.get('transfer-encoding')).toBe('chunked');
    expect(await response.text()).toBe('one,two,three');
  });

  test('is pulled no faster than the client reads', async () => {
    let pulled = 0;
    const cancelled = deferred<void>();
    const body: ByteStream = {
      pull: async () => {
        pulled++;
        return new Uint8Array(64 * 1024);
      },
      cancel: async () => cancelled.resolve(),
    };
    const url = await serve(async () => answer(body));
    const { hostname, port } = new URL(url);
    const socket = createConnection(Number(port), hostname);
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    let before = -1;
    while (pulled === 0 || pulled !== before) {
      before = pulled;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // At most what the kernel buffers; an endless stream without back-pressure would never have stopped.
    expect(pulled).toBeLessThan(1_000);
    socket.destroy();
    await cancelled.promise;
  });

  test('that is aborted closes the connection and is logged', async () => {
    let pulls = 0;
    const body: ByteStream = {
      pull: async () => {
        if (pulls++ === 0) return new Uint8Array(5);
        throw new Error('the disk is gone');
      },
      cancel: async () => undefined,
    };
    const url = await serve(async () => answer(body));
    const response = await fetch(`${url}broken`);
    await expect(response.text()).rejects.toThrow();
    expect(failures).toMatchObject([{ request: 'GET /broken', error: { message: 'the disk is gone' } }]);
  });

  test('that is aborted has sent its previous content, which can say why', async () => {
    const pieces = ['one\n', 'it failed\n'];
    const body: ByteStream = {
      pull: async () => {
        const piece = pieces.shift();
        if (piece === undefined) throw new Error('the disk is gone');
        return new TextEncoder().encode(piece);
      },
      cancel: async () => undefined,
    };
    const url = await serve(async () => answer(body));
    const received: string[] = [];
    const failure = await new Promise<unknown>((resolve) => {
      httpRequest(url, (response) => {
        response.setEncoding('utf8').on('data', (text) => received.push(text));
        response.on('error', resolve).on('end', () => resolve('an end'));
      }).end();
    });
    expect([received.join(''), failure]).toEqual(['one\nit failed\n', expect.any(Error)]);
  });

  test('is 500 with a reason when handling throws', async () => {
    const url = await serve(async () => {
      throw new Error('a defect');
    });
    const response = await fetch(url);
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: 'unknown_error' });
    expect(failures).toMatchObject([{ request: 'GET /', error: { message: 'a defect' } }]);
  });
});

test('a long text is sent whole, with its length, wherever its pieces end', async () => {
  for (const padding of ['', 'x']) {
    const text = padding + 'é😀'.repeat(600_000);
    const response = await fetch(await serve(async () => answer(text, { 'content-type': 'text/plain' })));
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    expect((await response.text()) === text).toBe(true);
  }
});
