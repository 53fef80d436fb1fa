import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { createConnection } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { ByteStream, Handle, PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import { type HttpServer, listen } from '../../../../src/node/http/http-server.ts';
import { createListener } from '../../../../src/node/http/listener.ts';

const servers: HttpServer[] = [];
const failures: { request: string; error: unknown }[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
  failures.length = 0;
});

async function serve(handle: Handle, isOwn = false): Promise<string> {
  const note = (request: string, error: unknown) => failures.push({ request, error });
  const listener = createListener(handle, note, undefined, () => isOwn);
  const server = await listen(listener, '127.0.0.1', 0, { allowedHosts: ['x'] });
  servers.push(server);
  return server.url;
}

function answer(body: PlainResponse['body'], headers: PlainResponse['headers'] = {}, status = 200): PlainResponse {
  return { status, headers, body };
}

/** Sends bytes as they are and gives all that comes back until the server closes the connection. */
async function exchange(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = createConnection(Number(port), hostname);
  socket.end(text);
  let received = '';
  for await (const chunk of socket.setEncoding('latin1')) received += chunk;
  return received;
}

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolvePromise) => {
    resolve = resolvePromise;
  });
  return { promise, resolve };
}

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
      /\r\nServer: Settee\/\S+\r\nX-Content-Type-Options: nosniff\r\nDate: .* GMT\r\nConnection: close$/,
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

test('a long text is sent whole, with its length, wherever its pieces end', async () => {
  for (const padding of ['', 'x']) {
    const text = padding + 'é😀'.repeat(600_000);
    const response = await fetch(await serve(async () => answer(text, { 'content-type': 'text/plain' })));
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    expect((await response.text()) === text).toBe(true);
  }
});
