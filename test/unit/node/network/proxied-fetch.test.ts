import { createServer, request, type Server } from 'node:http';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { ProxiedFetches } from '../../../../src/node/network/proxied-fetch.ts';

const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function listen(server: Server | TcpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Answers with what it was asked. */
function startOrigin(): Promise<number> {
  return listen(
    createServer(async (asked, answer) => {
      let body = '';
      for await (const chunk of asked) body += chunk;
      answer.end(`${asked.method} ${asked.url} ${body}`);
    }),
  );
}

/** Passes on what has an absolute address, as a proxy for plain HTTP does. */
async function startHttpProxy(seen: string[]): Promise<number> {
  return listen(
    createServer((asked, answer) => {
      seen.push(`${asked.method} ${asked.url} ${asked.headers['proxy-authorization']}`);
      const { method, headers, url = '' } = asked;
      asked.pipe(
        request(url, { method, headers }, (got) => {
          answer.writeHead(got.statusCode ?? 500, got.headers);
          got.pipe(answer);
        }),
      );
    }),
  );
}

/** Knows the one command of RFC 1928 that is needed, and name and password (RFC 1929). */
async function startSocksProxy(seen: string[]): Promise<number> {
  return listen(
    createTcpServer(async (socket) => {
      socket.on('error', () => undefined);
      const [, methods = 0] = await read(socket, 2);
      const offered = await read(socket, methods);
      const wantsName = offered.includes(2);
      socket.write(Buffer.from([5, wantsName ? 2 : 0]));
      if (wantsName) {
        const [, nameLength = 0] = await read(socket, 2);
        const name = await read(socket, nameLength);
        const [passwordLength = 0] = await read(socket, 1);
        seen.push(`${name}:${await read(socket, passwordLength)}`);
        socket.write(Buffer.from([1, 0]));
      }
      const head = await read(socket, 4);
      const [hostLength = 4] = head[3] === 3 ? await read(socket, 1) : [4];
      const host = await read(socket, hostLength);
      const port = (await read(socket, 2)).readUInt16BE();
      seen.push(`to ${head[3] === 3 ? host.toString() : host.join('.')}:${port}`);
      const upstream = connect(port, '127.0.0.1', () => {
        socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]));
        socket.pipe(upstream).pipe(socket);
      });
      ends.push(
        () => upstream.destroy(),
        () => socket.destroy(),
      );
    }),
  );
}

async function read(socket: Socket, bytes: number): Promise<Buffer> {
  for (;;) {
    const chunk: Buffer | null = bytes === 0 ? Buffer.alloc(0) : socket.read(bytes);
    if (chunk !== null) return chunk;
    await new Promise((resolve) => socket.once('readable', resolve));
  }
}

function openFetches() {
  const fetches = new ProxiedFetches();
  ends.push(() => fetches.close());
  return { through: (proxy: string) => must(fetches.through)(proxy) };
}

test('an HTTP proxy gets the whole address, with name and password', async () => {
  const seen: string[] = [];
  const origin = await startOrigin();
  const proxy = await startHttpProxy(seen);
  const fetchThrough = openFetches().through(`http://me:pw@127.0.0.1:${proxy}/`);
  const answer = await fetchThrough(`http://127.0.0.1:${origin}/db/doc?x=1`, { method: 'PUT', body: 'text' });
  expect(await answer.text()).toBe('PUT /db/doc?x=1 text');
  expect(seen).toEqual([`PUT http://127.0.0.1:${origin}/db/doc?x=1 Basic bWU6cHc=`]);
});

test('a SOCKS5 proxy connects, with name and password and without', async () => {
  const seen: string[] = [];
  const origin = await startOrigin();
  const proxy = await startSocksProxy(seen);
  const fetches = openFetches();
  const named = await fetches.through(`socks5://me:pw@127.0.0.1:${proxy}`)(`http://127.0.0.1:${origin}/db`);
  expect(await named.text()).toBe('GET /db ');
  expect(seen).toEqual(['me:pw', `to 127.0.0.1:${origin}`]);
  const plain = await fetches.through(`socks5://127.0.0.1:${proxy}`)(`http://127.0.0.1:${origin}/db`);
  expect(plain.status).toBe(200);
});

test('an unreachable proxy is an error, and an abort ends a request', async () => {
  const fetches = openFetches();
  await expect(fetches.through('http://127.0.0.1:9')(`http://127.0.0.1:1234/`)).rejects.toThrow();
  const silent = await listen(createTcpServer((socket) => ends.push(() => socket.destroy())));
  const abort = new AbortController();
  const asked = fetches.through(`socks5://127.0.0.1:${silent}`)('http://127.0.0.1:1234/', { signal: abort.signal });
  abort.abort();
  await expect(asked).rejects.toThrow(/abort/);
});
