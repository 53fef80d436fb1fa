import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { createConnection } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { ByteStream, Handle, PlainRequest } from '../../../../src/base/shared/message.ts';
import { answer, deferred, exchange, failures, serve, useServers } from './listener-server.ts';

useServers();

async function readAll(body: PlainRequest['body']): Promise<number> {
  if (body === null || typeof body === 'string' || !('pull' in body)) throw new Error('a stream was expected');
  let total = 0;
  for (let chunk = await body.pull(); chunk; chunk = await body.pull()) total += chunk.length;
  return total;
}

describe('an incoming request', () => {
  test('has the address of its client, except for those of this process', async () => {
    const peers: unknown[] = [];
    const handle: Handle = async ({ peer }) => {
      peers.push(peer);
      return answer(null);
    };
    await fetch(await serve(handle));
    await fetch(await serve(handle, true));
    expect(peers).toEqual(['127.0.0.1', undefined]);
  });

  test('keeps its path as sent', async () => {
    const paths: string[] = [];
    const url = await serve(async (request) => {
      paths.push(request.url);
      return answer(null);
    });
    for (const path of ['/a%2Fb/../c?x=%20', '/db/%5Fdesign//x', '/db/a|b"c']) {
      await exchange(url, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    }
    expect(paths).toEqual(['/a%2Fb/../c?x=%20', '/db/%5Fdesign//x', '/db/a|b"c']);
  });

  test('has header names in lower case and repeated headers joined', async () => {
    let headers: PlainRequest['headers'] = {};
    const url = await serve(async (request) => {
      headers = request.headers;
      return answer(null);
    });
    await exchange(
      url,
      'GET / HTTP/1.1\r\nHost: localhost\r\nX-Svc-Full-Commit: true\r\nIF-NONE-MATCH: "1"\r\nif-none-match: "2"\r\nSet-Cookie: a=b\r\nConnection: close\r\n\r\n',
    );
    expect(headers).toEqual({
      host: 'localhost',
      'x-svc-full-commit': 'true',
      'if-none-match': '"1", "2"',
      connection: 'close',
    });
  });

  test.each(['GET', 'PUT', 'POST', 'DELETE', 'COPY', 'OPTIONS'])('can have the method %s', async (method) => {
    const url = await serve(async (request) => answer(request.method));
    expect(await (await fetch(url, { method })).text()).toBe(method);
  });

  test('has no body if none was sent', async () => {
    const bodies: unknown[] = [];
    const url = await serve(async (request) => {
      bodies.push(request.body);
      return answer(null);
    });
    await fetch(url);
    await fetch(url, { method: 'POST' });
    expect(bodies).toEqual([null, null]);
  });

  test('has a small body as plain bytes, in one piece', async () => {
    let body: Uint8Array | undefined;
    const url = await serve(async (request) => {
      if (request.body instanceof Uint8Array) body = request.body;
      return answer(null);
    });
    await fetch(url, { method: 'PUT', body: '{"name":"Österreich"}' });
    expect(body).toEqual(new TextEncoder().encode('{"name":"Österreich"}'));
    expect(Object.getPrototypeOf(body)).toBe(Uint8Array.prototype);
    await fetch(url, { method: 'PUT', body: new Uint8Array(1_048_576).fill(7) });
    expect(body?.byteLength).toBe(1_048_576);
    expect(body?.every((byte) => byte === 7)).toBe(true);
  });

  test('joins a small body that arrived in pieces', async () => {
    const url = await serve(async (request) => answer(request.body instanceof Uint8Array ? request.body : 'no'));
    const { hostname, port } = new URL(url);
    const outgoing = httpRequest({ hostname, port, method: 'POST', headers: { 'content-length': 6 } });
    outgoing.setNoDelay(true);
    outgoing.write('abc');
    await new Promise((resolve) => setTimeout(resolve, 20));
    outgoing.end('def');
    const [incoming] = await once(outgoing, 'response');
    let text = '';
    for await (const chunk of incoming) text += chunk;
    expect(text).toBe('abcdef');
  });

  test('has a large body as a stream with its length', async () => {
    const size = 5_000_000;
    const url = await serve(async (request) => {
      const { body } = request;
      const length = body !== null && typeof body === 'object' && 'pull' in body ? body.length : undefined;
      return answer(`${length} ${await readAll(body)}`);
    });
    const response = await fetch(url, { method: 'PUT', body: new Uint8Array(size) });
    expect(await response.text()).toBe('5000000 5000000');
  });

  test('has a chunked body as a stream without length', async () => {
    const url = await serve(async (request) => {
      const { body } = request;
      const length = body !== null && typeof body === 'object' && 'pull' in body ? body.length : 'no stream';
      return answer(`${length} ${await readAll(body)}`);
    });
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(10));
        controller.enqueue(new Uint8Array(20));
        controller.close();
      },
    });
    const response = await fetch(url, { method: 'POST', body, duplex: 'half' });
    expect(await response.text()).toBe('undefined 30');
  });

  test('reads a streamed body no faster than it is pulled', async () => {
    const streamed = deferred<ByteStream>();
    const done = deferred<void>();
    const url = await serve(async ({ body }) => {
      if (body === null || typeof body === 'string' || !('pull' in body)) return answer('no stream', {}, 400);
      streamed.resolve(body);
      await done.promise;
      return answer(null);
    });
    const { hostname, port } = new URL(url);
    const size = 256 * 1024 * 1024;
    const outgoing = httpRequest({ hostname, port, method: 'PUT', headers: { 'content-length': size } });
    outgoing.on('error', () => undefined);
    const piece = Buffer.alloc(64 * 1024);
    let written = 0;
    const write = () => {
      while (written < size) {
        written += piece.length;
        if (!outgoing.write(piece)) return;
      }
    };
    outgoing.on('drain', write);
    write();
    const body = await streamed.promise;
    const before = written;
    await new Promise((resolve) => setTimeout(resolve, 200));
    // The kernel's buffers on loopback take a few MB; the rest must wait.
    expect(written).toBeLessThan(32 * 1024 * 1024);
    let read = 0;
    while (read < 64 * 1024 * 1024) read += (await body.pull())?.length ?? Number.POSITIVE_INFINITY;
    expect(written).toBeGreaterThan(before);
    outgoing.destroy();
    await expect(readAll(body)).rejects.toMatchObject({ code: 'cancelled' });
    done.resolve();
  });

  test('fails for its reader when the client disconnects before the end of a streamed body', async () => {
    const outcome = deferred<unknown>();
    const url = await serve(async (request) => {
      outcome.resolve(await readAll(request.body).catch((error: unknown) => error));
      return answer(null);
    });
    const { hostname, port } = new URL(url);
    const socket = createConnection(Number(port), hostname);
    socket.write('PUT /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n');
    socket.write(Buffer.alloc(100_000), () => socket.destroy());
    expect(await outcome.promise).toMatchObject({ code: 'cancelled' });
  });

  test('is not handled when the client disconnects before the end of a small body', async () => {
    let handled = 0;
    const url = await serve(async () => {
      handled++;
      return answer(null);
    });
    const { hostname, port } = new URL(url);
    const socket = createConnection(Number(port), hostname);
    socket.write('PUT /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc', () => socket.destroy());
    await once(socket, 'close');
    // A second request behind it: once it is answered, the server has seen the first one end.
    await fetch(url);
    expect(handled).toBe(1);
    expect(failures).toEqual([]);
  });

  test('has a signal that fires when the client disconnects while it is handled', async () => {
    const started = deferred<AbortSignal>();
    const url = await serve(async ({ signal }) => {
      if (!signal) throw new Error('no signal');
      started.resolve(signal);
      await once(signal, 'abort');
      return answer(null);
    });
    const controller = new AbortController();
    const pending = fetch(url, { signal: controller.signal }).catch((error: Error) => error.name);
    const signal = await started.promise;
    expect(signal.aborted).toBe(false);
    controller.abort();
    expect(await pending).toBe('AbortError');
    if (!signal.aborted) await once(signal, 'abort');
  });
});
