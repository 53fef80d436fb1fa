/** Compressed responses of a whole server (docs/http/answers.md#compressed-answers). */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createGunzip, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';

const GZIP = { 'accept-encoding': 'gzip' };
const DOCUMENTS = 200;

let server: RunningServer;

beforeAll(async () => {
  server = await startServer({
    ...{ port: 0, memory: true, logLevel: 'error' },
    config: { httpd: { compression_of_loopback: 'true' } },
  });
  await write('PUT', '/db');
  const docs = Array.from({ length: DOCUMENTS }, (_, n) => ({ _id: `doc-${n}`, text: 'words that repeat '.repeat(9) }));
  await write('POST', '/db/_bulk_docs', { docs });
  const map = 'function (doc) { emit(doc._id, doc.text) }';
  await write('PUT', '/db/_design/d', { views: { v: { map } } });
});

afterAll(() => server.close());

interface Received {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
}

async function open(path: string, headers: Record<string, string>, method = 'GET'): Promise<IncomingMessage> {
  const request = httpRequest(new URL(path, server.url), { headers, method, agent: false });
  const [response]: IncomingMessage[] = await once(request.end(), 'response');
  if (response === undefined) throw new Error('no response');
  return response;
}

async function read(path: string, headers: Record<string, string> = GZIP, method = 'GET'): Promise<Received> {
  const response = await open(path, headers, method);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks) };
}

async function write(method: string, path: string, body?: unknown, type = 'application/json'): Promise<unknown> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'content-type': type };
  const init = body === undefined ? { method } : { method, headers, body: text };
  const response = await fetch(new URL(path, server.url), init);
  expect(response.status).toBeLessThan(300);
  return response.json();
}

describe('what is compressed is what is sent plain', () => {
  test.each(['/db/_all_docs?include_docs=true', '/db/_changes', '/db/_design/d/_view/v', '/_utils/'])(
    '%s',
    async (path) => {
      const [plain, short] = [await read(path, {}), await read(path)];
      expect(short.headers['content-encoding']).toBe('gzip');
      expect(gunzipSync(short.bytes).toString()).toBe(plain.bytes.toString());
      expect(short.bytes.length).toBeLessThan(plain.bytes.length * 0.6);
      expect(plain.headers.vary).toContain('Accept-Encoding');
      expect(short.headers.vary).toBe(plain.headers.vary);
    },
  );

  test('a short response, and one to a client that asks for none, stay plain', async () => {
    expect((await read('/db')).headers).not.toHaveProperty('content-encoding');
    expect((await read('/db/_changes', {})).headers).not.toHaveProperty('content-encoding');
  });
});

describe('ETags of compressed responses', () => {
  test('of a document name its revision', async () => {
    const { rev } = Object(await write('PUT', '/db/long', { text: 'x'.repeat(5_000) }));
    for (const method of ['GET', 'HEAD']) {
      const { headers } = await read('/db/long', GZIP, method);
      expect(headers).toMatchObject({ etag: `"${rev}"`, 'content-encoding': 'gzip' });
    }
    const same = await read('/db/long', { ...GZIP, 'if-none-match': `"${rev}"` });
    expect([same.status, same.headers.etag]).toEqual([304, `"${rev}"`]);
  });

  test('of a view are weak, and match', async () => {
    const path = '/db/_design/d/_view/v';
    const [plain, short] = [await read(path, {}), await read(path)];
    expect(plain.headers.etag).toMatch(/^"/);
    expect(short.headers.etag).toBe(`W/${plain.headers.etag}`);
    for (const tag of [plain.headers.etag, short.headers.etag]) {
      const same = await read(path, { ...GZIP, 'if-none-match': `${tag}` });
      expect([same.status, same.headers.etag]).toEqual([304, tag]);
    }
  });
});

describe('an attachment', () => {
  const text = 'a text to be compressed, '.repeat(200);

  test('that is stored compressed is compressed once, and parts of it never', async () => {
    await write('PUT', '/db/stored/a.txt', text, 'text/plain');
    const { headers, bytes } = await read('/db/stored/a.txt');
    expect(headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(bytes).toString()).toBe(text);
    const part = await read('/db/stored/a.txt', { ...GZIP, range: 'bytes=2-7' });
    expect([part.status, part.bytes.toString()]).toEqual([206, 'text t']);
    expect(part.headers).not.toHaveProperty('content-encoding');
  });

  test('of a compressed type stays as it is', async () => {
    await write('PUT', '/db/picture/a.png', text, 'image/png');
    const { headers, bytes } = await read('/db/picture/a.png');
    expect(headers).not.toHaveProperty('content-encoding');
    expect(bytes.toString()).toBe(text);
  });
});

describe('a feed', () => {
  test.each(['continuous', 'eventsource', 'longpoll'])('%s has each change as soon as it happens', async (feed) => {
    const { update_seq: since } = Object(await (await fetch(new URL('/db', server.url))).json());
    const response = await open(`/db/_changes?feed=${feed}&since=${since}&heartbeat=60000`, GZIP);
    expect(response.headers['content-encoding']).toBe('gzip');
    let text = '';
    response.on('error', () => undefined);
    response.pipe(createGunzip()).on('data', (chunk) => {
      text += String(chunk);
    });
    await write('PUT', `/db/of-${feed}`, {});
    await expect.poll(() => text).toContain(`"id":"of-${feed}"`);
    response.destroy();
  });

  test('sends its heartbeats at once', async () => {
    const response = await open('/db/_changes?feed=continuous&since=now&heartbeat=20', GZIP);
    let text = '';
    response.on('error', () => undefined);
    response.pipe(createGunzip()).on('data', (chunk) => {
      text += String(chunk);
    });
    await expect.poll(() => text).toMatch(/^\n{4}/);
    response.destroy();
  });
});

test('the setting is followed at once', async () => {
  const change = (value: string) => write('PUT', '/_node/_local/_config/httpd/compression', JSON.stringify(value));
  await change('off');
  expect((await read('/db/_changes')).headers).not.toHaveProperty('content-encoding');
  await change('br');
  expect((await read('/db/_changes')).headers).not.toHaveProperty('content-encoding');
  expect((await read('/db/_changes', { 'accept-encoding': 'gzip, br' })).headers).toMatchObject({
    'content-encoding': 'br',
  });
  await change('on');
  expect((await read('/db/_changes')).headers).toMatchObject({ 'content-encoding': 'gzip' });
});

test('without the other setting, clients on this machine get plain responses', async () => {
  const other = await startServer({ port: 0, memory: true, logLevel: 'error' });
  try {
    const response = await fetch(new URL('/_utils/', other.url));
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(response.headers.get('vary') ?? '').not.toContain('Accept-Encoding');
    await response.arrayBuffer();
  } finally {
    await other.close();
  }
});
