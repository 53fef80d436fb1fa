import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import {
  type BrotliDecompress,
  brotliDecompressSync,
  createBrotliDecompress,
  createGunzip,
  type Gunzip,
  gunzipSync,
} from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { ByteStream, Handle, PlainResponse } from '../../../../src/base/shared/message.ts';
import type { CompressionRules } from '../../../../src/node/http/compression.ts';
import { answer, deferred, failures, serve, useServers } from './listener-server.ts';

useServers();

const JSON_TYPE = { 'content-type': 'application/json' };
const TEXT = `${JSON.stringify({ rows: Array.from({ length: 100 }, (_, n) => ({ id: `doc-${n}`, value: { n } })) })}\n`;
const LONG = TEXT.repeat(500);
const ALL: CompressionRules = { codings: ['br', 'gzip'], forLoopback: true };

interface Received {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
}

function serveAll(handle: Handle, rules: CompressionRules = ALL): Promise<string> {
  return serve(handle, false, { compression: () => rules });
}

async function send(url: string, headers: Record<string, string>, method = 'GET'): Promise<Received> {
  const request = httpRequest(url, { headers, method });
  request.end();
  const [response]: IncomingMessage[] = await once(request, 'response');
  const chunks: Buffer[] = [];
  if (response === undefined) throw new Error('no response');
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks) };
}

async function sent(response: PlainResponse, headers: Record<string, string>, method = 'GET'): Promise<Received> {
  return send(await serveAll(() => response), headers, method);
}

function plainText({ headers, bytes }: Received): string {
  const coding = headers['content-encoding'];
  if (coding === 'br') return brotliDecompressSync(bytes).toString();
  return coding === 'gzip' ? gunzipSync(bytes).toString() : bytes.toString();
}

function streamOf(chunks: readonly string[]): ByteStream {
  const rest = chunks.map((chunk) => Buffer.from(chunk));
  return { pull: async () => rest.shift(), cancel: async () => undefined };
}

describe('the coding of a response', () => {
  test.each([
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0, gzip;q=0', undefined],
    ['identity;q=1, gzip;q=0.5', undefined],
    ['gzip;q=0.5', 'gzip'],
    ['*', 'br'],
    ['deflate, zstd', undefined],
    ['GZIP', 'gzip'],
    [';;;,=', undefined],
  ])('for %j is %s', async (accepted, coding) => {
    const headers: Record<string, string> = accepted === undefined ? {} : { 'accept-encoding': accepted };
    const received = await sent(answer(TEXT, JSON_TYPE), headers);
    expect(received.headers['content-encoding']).toBe(coding);
    expect(received.headers['content-length']).toBe(`${received.bytes.length}`);
    expect(received.headers.vary).toBe('Accept-Encoding');
    expect(plainText(received)).toBe(TEXT);
  });

  test.each([
    ['a text', TEXT, 'br'],
    ['bytes', Buffer.from(TEXT), 'br'],
    ['a text that another thread compresses', TEXT.repeat(20), 'br'],
    ['a text that is sent in pieces', LONG, 'br'],
  ])('of %s', async (_, body, coding) => {
    const received = await sent(answer(body, JSON_TYPE), { 'accept-encoding': 'br, gzip' });
    expect(received.headers['content-encoding']).toBe(coding);
    expect(plainText(received)).toBe(body.toString());
    expect(received.bytes.length).toBeLessThan(body.length / 4);
  });

  test.each(['br', 'gzip'])('of a stream for %s', async (accepted) => {
    const chunks = Array.from({ length: 300 }, (_, n) => `${n}${TEXT}`);
    const received = await sent(answer(streamOf(chunks), JSON_TYPE), { 'accept-encoding': accepted });
    expect(received.headers).toMatchObject({ 'content-encoding': accepted, 'transfer-encoding': 'chunked' });
    expect(plainText(received)).toBe(chunks.join(''));
  });

  test.each([
    ['a short text', answer('x'.repeat(1_000), JSON_TYPE), undefined],
    ['a short stream', answer({ ...streamOf(['x']), length: 1 }, JSON_TYPE), undefined],
    ['an image', answer(TEXT, { 'content-type': 'image/png' }), undefined],
    ['a film', answer(TEXT, { 'content-type': 'video/mp4' }), undefined],
    ['an archive', answer(TEXT, { 'content-type': 'application/zip' }), undefined],
    ['a font', answer(TEXT, { 'content-type': 'font/woff2' }), undefined],
    ['parts', answer(TEXT, { 'content-type': 'multipart/related; boundary="a"' }), undefined],
    ['anything without a type', answer(TEXT), undefined],
    ['a drawing', answer(TEXT, { 'content-type': 'image/svg+xml' }), 'br'],
    ['a page', answer(TEXT, { 'content-type': 'text/html; charset=utf-8' }), 'br'],
    ['a part', answer(TEXT, { ...JSON_TYPE, 'content-range': 'bytes 0-9/10' }, 206), undefined],
    ['what must stay as it is', answer(TEXT, { ...JSON_TYPE, 'cache-control': 'private, no-transform' }), undefined],
  ])('of %s', async (_, response, coding) => {
    const received = await sent(response, { 'accept-encoding': 'br, gzip' });
    expect(received.headers['content-encoding']).toBe(coding);
  });

  test('stays where the response has one', async () => {
    const stored = answer(TEXT, { ...JSON_TYPE, 'content-encoding': 'gzip', etag: '"x"', vary: 'accept-encoding' });
    const { headers, bytes } = await sent(stored, { 'accept-encoding': 'br, gzip' });
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', etag: '"x"', vary: 'accept-encoding' });
    expect(bytes.toString()).toBe(TEXT);
  });

  test.each([
    ['a part', { range: 'bytes=0-9' }],
    ['what is not transformed', { 'cache-control': 'no-transform' }],
  ])('is none for requests for %s', async (_, more) => {
    const { headers } = await sent(answer(TEXT, JSON_TYPE), { 'accept-encoding': 'br, gzip', ...more });
    expect(headers).not.toHaveProperty('content-encoding');
  });

  test.each([
    ['cross-site', {}, undefined],
    ['same-site', {}, undefined],
    ['same-origin', {}, 'br'],
    ['none', {}, 'br'],
    ['cross-site', { 'access-control-allow-origin': 'https://app.test' }, 'br'],
  ])('for a page whose request is %s, with %j', async (site, sharing, coding) => {
    const asked = { 'accept-encoding': 'br, gzip', 'sec-fetch-site': site };
    const { headers } = await sent(answer(TEXT, { ...JSON_TYPE, ...sharing }), asked);
    expect(headers['content-encoding']).toBe(coding);
  });

  test('is none on this machine, or at all, where the rules say so', async () => {
    for (const rules of [
      { codings: ALL.codings, forLoopback: false },
      { codings: [], forLoopback: true },
    ]) {
      const url = await serveAll(() => answer(TEXT, JSON_TYPE), rules);
      const { headers } = await send(url, { 'accept-encoding': 'br, gzip' });
      expect(headers).not.toHaveProperty('content-encoding');
      expect(headers).not.toHaveProperty('vary');
    }
  });
});

describe('the headers of a compressed response', () => {
  const asked = { 'accept-encoding': 'gzip' };

  test.each([
    [undefined, 'Accept-Encoding'],
    ['Origin', 'Origin, Accept-Encoding'],
    ['origin,Accept-encoding', 'origin,Accept-encoding'],
    ['*', '*'],
  ])('with the Vary %s', async (before, after) => {
    const headers = before === undefined ? JSON_TYPE : { ...JSON_TYPE, vary: before };
    expect((await sent(answer(TEXT, headers), asked)).headers.vary).toBe(after);
    expect((await sent(answer(TEXT, headers), {})).headers.vary).toBe(after);
  });

  test.each([
    ['"59ez2amqfaabncm8apjraaukl"', 'W/"59ez2amqfaabncm8apjraaukl"'],
    ['W/"x"', 'W/"x"'],
    ['"2-7051cbe5c8faecd085a3fa619e6e6337"', '"2-7051cbe5c8faecd085a3fa619e6e6337"'],
  ])('with the ETag %s', async (before, after) => {
    expect((await sent(answer(TEXT, { ...JSON_TYPE, etag: before }), asked)).headers.etag).toBe(after);
    expect((await sent(answer(TEXT, { ...JSON_TYPE, etag: before }), {})).headers.etag).toBe(before);
  });

  test('say nothing about the plain bytes', async () => {
    const about = { 'content-length': `${TEXT.length}`, 'content-md5': 'x', 'accept-ranges': 'bytes' };
    const received = await sent(answer(streamOf([TEXT]), { ...JSON_TYPE, ...about }), asked);
    for (const name of Object.keys(about)) expect(received.headers).not.toHaveProperty(name);
    expect(plainText(received)).toBe(TEXT);
  });

  test('are those of HEAD', async () => {
    const response = answer(TEXT, { ...JSON_TYPE, etag: '"x"' });
    const get = await sent(response, asked);
    for (const body of [TEXT, streamOf([TEXT]), null]) {
      const length: Record<string, string> = body === null ? { 'content-length': `${TEXT.length}` } : {};
      const head = await sent({ ...response, headers: { ...response.headers, ...length }, body }, asked, 'HEAD');
      expect(head.headers).toMatchObject({ 'content-encoding': 'gzip', etag: 'W/"x"', vary: 'Accept-Encoding' });
      expect(head.headers).not.toHaveProperty('content-length');
      expect(head.bytes.length).toBe(0);
    }
    expect(get.headers).toMatchObject({ 'content-encoding': 'gzip', etag: 'W/"x"', vary: 'Accept-Encoding' });
  });

  test('of a request by POST that has no body, as of X-HTTP-Method-Override: HEAD, name no length', async () => {
    const response = answer(null, { ...JSON_TYPE, 'content-length': `${TEXT.length}` });
    const short = await sent(response, asked, 'POST');
    expect([short.status, short.headers['content-encoding'], short.bytes.length]).toEqual([200, 'gzip', 0]);
    const plain = await sent(response, {}, 'POST');
    expect([plain.status, plain.headers['content-encoding'], plain.bytes.length]).toEqual([200, undefined, 0]);
    for (const { headers } of [short, plain]) expect(headers['content-length'] ?? '0').toBe('0');
    expect(failures).toEqual([]);
  });

  test('are sent back by a client, which gets 304', async () => {
    const url = await serveAll(({ headers }) =>
      headers['if-none-match'] === '"x"' ? answer(null, { etag: '"x"' }, 304) : answer(TEXT, { etag: '"x"' }),
    );
    const weak = await send(url, { ...asked, 'if-none-match': 'W/"x"' });
    expect([weak.status, weak.headers.etag, weak.headers.vary]).toEqual([304, 'W/"x"', 'Accept-Encoding']);
    const strong = await send(url, { ...asked, 'if-none-match': '"x"' });
    expect([strong.status, strong.headers.etag]).toEqual([304, '"x"']);
  });

  test('with the tag of a revision are compared as they come', async () => {
    let got: string | undefined;
    const url = await serveAll(({ headers }) => {
      got = headers['if-none-match'];
      return answer('');
    });
    await send(url, { 'if-none-match': 'W/"1-a", W/"x"' });
    expect(got).toBe('W/"1-a", "x"');
  });
});

describe('a compressed stream', () => {
  const decoders: readonly [string, () => Gunzip | BrotliDecompress][] = [
    ['gzip', createGunzip],
    ['br', createBrotliDecompress],
  ];

  test.each(decoders)('by %s arrives row by row', async (coding, createDecoder) => {
    const rows = Array.from({ length: 5 }, () => deferred<Uint8Array>());
    let next = 0;
    const cancelled = deferred<void>();
    const body: ByteStream = {
      pull: () => rows[next++]?.promise ?? new Promise(() => undefined),
      cancel: async () => cancelled.resolve(),
    };
    const url = await serveAll(() => answer(body, JSON_TYPE));
    const request = httpRequest(url, { headers: { 'accept-encoding': coding } });
    request.end();
    const [response]: IncomingMessage[] = await once(request, 'response');
    if (response === undefined) throw new Error('no response');
    expect(response.headers['content-encoding']).toBe(coding);
    const decoded = response.pipe(createDecoder());
    for (const [index, row] of rows.entries()) {
      const text = index % 2 === 0 ? `{"seq":${index}}\n` : '\n';
      row.resolve(Buffer.from(text));
      const [chunk] = await once(decoded, 'data');
      expect(String(chunk)).toBe(text);
    }
    request.destroy();
    await cancelled.promise;
    expect(failures).toEqual([]);
  });

  test('that breaks off says first what it had, and is not taken for a complete one', async () => {
    let pulls = 0;
    const body: ByteStream = {
      pull: async () => {
        if (pulls++ === 0) return Buffer.from('some rows');
        throw new Error('the disk is gone');
      },
      cancel: async () => undefined,
    };
    const url = await serveAll(() => answer(body, JSON_TYPE));
    const request = httpRequest(url, { headers: { 'accept-encoding': 'gzip' } });
    request.end();
    const [response]: IncomingMessage[] = await once(request, 'response');
    if (response === undefined) throw new Error('no response');
    const decoder = createGunzip();
    decoder.on('error', () => undefined);
    let text = '';
    decoder.on('data', (chunk) => {
      text += String(chunk);
    });
    const broken = new Promise((resolve) => response.once('close', resolve));
    response.on('error', () => undefined).pipe(decoder);
    await broken;
    await expect.poll(() => text).toBe('some rows');
    expect(response.complete).toBe(false);
    expect(failures).toMatchObject([{ error: { message: 'the disk is gone' } }]);
  });

  test('is read only as fast as its client reads', async () => {
    let pulled = 0;
    const noise = Buffer.from(Array.from({ length: 65_536 }, (_, n) => (n * 7919 * (n % 251)) % 256));
    const cancelled = deferred<void>();
    const body: ByteStream = {
      pull: async () => {
        pulled++;
        return noise;
      },
      cancel: async () => cancelled.resolve(),
    };
    const url = await serveAll(() => answer(body, JSON_TYPE));
    const request = httpRequest(url, { headers: { 'accept-encoding': 'gzip' } });
    request.end();
    const [response]: IncomingMessage[] = await once(request, 'response');
    if (response === undefined) throw new Error('no response');
    response.pause();
    // Until the buffers on the way are full.
    let before = -1;
    while (before !== pulled) {
      before = pulled;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    response.once('data', () => undefined);
    response.resume();
    await expect.poll(() => pulled).toBeGreaterThan(before);
    request.destroy();
    await cancelled.promise;
  });

  describe('while others are open', () => {
    let open = 0;
    let ended = deferred<void>();
    const isOpen = (count: number) => expect.poll(() => open).toBe(count);

    /** The proxies name the client. */
    function serveFeeds(): Promise<string> {
      open = 0;
      ended = deferred();
      const handle: Handle = ({ url: path }) => {
        if (path !== '/feed') return answer(TEXT.repeat(20), JSON_TYPE);
        let isFirst = true;
        const pull = async () => {
          if (!isFirst) return ended.promise.then(() => undefined);
          isFirst = false;
          open++;
          return Buffer.from('x');
        };
        return answer({ pull, cancel: async () => void open-- }, JSON_TYPE);
      };
      return serveAll(handle, { ...ALL, addressOf: (peer, forwarded) => forwarded ?? peer });
    }

    const acceptedOf = (client: string) => ({ 'accept-encoding': 'gzip', 'x-forwarded-for': client });

    async function openFeeds(url: string, client: string, count: number): Promise<ClientRequest[]> {
      const headers = acceptedOf(client);
      const feeds = Array.from({ length: count }, () => httpRequest(`${url}feed`, { headers, agent: false }));
      await Promise.all(feeds.map((feed) => once(feed.end(), 'response')));
      return feeds;
    }

    const codingFor = async (url: string, client: string) =>
      (await send(url, acceptedOf(client))).headers['content-encoding'];

    test('is plain for a client that has half of all, and compressed when one of these has ended', async () => {
      const url = await serveFeeds();
      const feeds = await openFeeds(url, 'one', 63);
      expect(await codingFor(url, 'one')).toBe('gzip');
      feeds.push(...(await openFeeds(url, 'one', 1)));
      expect(await codingFor(url, 'one')).toBeUndefined();
      expect(await codingFor(url, 'another')).toBe('gzip');
      feeds[0]?.destroy();
      await isOpen(63);
      expect(await codingFor(url, 'one')).toBe('gzip');
      for (const feed of feeds) feed.destroy();
      await isOpen(0);
      ended.resolve();
    });

    test('is plain for everybody when all are taken', async () => {
      const url = await serveFeeds();
      const feeds: ClientRequest[] = [];
      for (const count of [64, 32, 16, 8, 4, 2, 1]) {
        expect(await codingFor(url, 'new')).toBe('gzip');
        feeds.push(...(await openFeeds(url, `client of ${count}`, count)));
      }
      feeds.push(...(await openFeeds(url, 'last', 1)));
      expect(await codingFor(url, 'new')).toBeUndefined();
      for (const feed of feeds) feed.destroy();
      await isOpen(0);
      expect(await codingFor(url, 'new')).toBe('gzip');
      ended.resolve();
    });
  });
});
