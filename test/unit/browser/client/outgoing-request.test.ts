import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { nextOf, type Outgoing, toAddress, toOutgoing } from '../../../../src/browser/client/outgoing-request.ts';

const url = 'https://app.example/db/notes';

/** Says as a promise what fails at once as well. */
async function outgoing(init?: RequestInit): Promise<Outgoing> {
  return toOutgoing(url, url, init);
}

async function textOf(body: Outgoing['body']): Promise<string> {
  return new Response(body instanceof Uint8Array ? new Uint8Array(body) : (body as BodyInit | null)).text();
}

describe('the address of a request', () => {
  afterEach(() => void vi.unstubAllGlobals());

  const origin = 'https://app.example';
  const inDocumentAt = (baseURI: string) => vi.stubGlobal('document', { baseURI });

  test.for([
    ['/db/notes/a', 'https://app.example/db/notes/a'],
    [
      '/db/notes/_design/a.b/_view/c?key=%22a%22&limit=1',
      'https://app.example/db/notes/_design/a.b/_view/c?key=%22a%22&limit=1',
    ],
    ['https://app.example/db/notes/a', 'https://app.example/db/notes/a'],
    ['https://app.example', 'https://app.example/'],
    ['https://app.example.org/db/a', 'https://app.example.org/db/a'],
    ['https://app.example:8080/db/a', 'https://app.example:8080/db/a'],
    ['a', 'https://app.example/page/a'],
    ['?a', 'https://app.example/page/?a'],
    ['', 'https://app.example/page/'],
    ['//other.example/db/a', 'https://other.example/db/a'],
    ['https://app.example//db/a', 'https://app.example//db/a'],
    ['/db//a', 'https://app.example/db//a'],
    ['/db/../a', 'https://app.example/a'],
    ['/db/./a', 'https://app.example/db/a'],
    ['/db/%2e%2E/a', 'https://app.example/a'],
    ['/db/a/.', 'https://app.example/db/a/'],
    ['/db/a#top', 'https://app.example/db/a'],
    ['/db/a b', 'https://app.example/db/a%20b'],
    ['/db/a\tb ', 'https://app.example/db/ab'],
    ['/db\\a', 'https://app.example/db/a'],
    ['/db/Tromsø', 'https://app.example/db/Troms%C3%B8'],
    ['/db/a?key="b"', 'https://app.example/db/a?key=%22b%22'],
    ["/db/a?key='b'", 'https://app.example/db/a?key=%27b%27'],
    ['/db/a%2Fb', 'https://app.example/db/a%2Fb'],
    ['/db/a%2', 'https://app.example/db/a%2'],
  ])('is resolved to %j as the web does', ([input = '', address]) => {
    inDocumentAt('https://app.example/page/');
    expect(toAddress(input, origin)).toBe(address);
  });

  test('depends on the base URL of the document', () => {
    inDocumentAt('https://cdn.example/');
    expect(toAddress('/db/a', origin)).toBe('https://cdn.example/db/a');
    expect(toAddress('https://app.example/db/a', origin)).toBe('https://app.example/db/a');
    inDocumentAt('https://app.example.org/');
    expect(toAddress('/db/a', origin)).toBe('https://app.example.org/db/a');
  });

  test('is that of a Request or a URL, without the fragment', () => {
    inDocumentAt('https://app.example/page/');
    expect(toAddress(new Request('https://app.example/db/a#b'), origin)).toBe('https://app.example/db/a');
    expect(toAddress(new URL('https://app.example/db/a#b'), origin)).toBe('https://app.example/db/a');
  });

  test('is what the URL parser returns, whatever the input', () => {
    inDocumentAt('https://app.example/page/');
    const parts = [
      '/',
      '//',
      '.',
      '..',
      'a',
      'Z',
      '9',
      '%',
      '%2e',
      '%2F',
      '\\',
      '?',
      '#',
      ' ',
      '\n',
      ':',
      '@',
      '~',
      "'",
      '"',
      '|',
      '^',
      '[',
      'ø',
      origin,
    ];
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom(...parts), fc.string({ maxLength: 2 })), { maxLength: 8 }),
        (made) => {
          const input = made.join('');
          if (!URL.canParse(input, document.baseURI)) return;
          const url = new URL(input, document.baseURI);
          url.hash = '';
          expect(toAddress(input, origin)).toBe(url.href);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('a call of fetch', () => {
  test('is a GET that accepts anything by default', async () => {
    expect(await outgoing()).toEqual({
      method: 'GET',
      url,
      headers: { accept: '*/*' },
      body: null,
      signal: undefined,
      redirect: 'follow',
    });
  });

  test.for([
    ['put', 'PUT'],
    ['Delete', 'DELETE'],
    ['COPY', 'COPY'],
    ['copy', 'copy'],
    ['PATCH', 'PATCH'],
  ])('normalizes the method like fetch: %s becomes %s', async ([given = '', method]) => {
    expect((await outgoing({ method: given })).method).toBe(method);
  });

  test.for(['TRACE', 'CONNECT', 'A B', ''])('refuses the method "%s" like fetch', async (method) => {
    await expect(outgoing({ method })).rejects.toThrow(TypeError);
  });

  test.for(['GET', 'HEAD', 'get'])('refuses a body with %s, even an empty one', async (method) => {
    await expect(outgoing({ method, body: '' })).rejects.toThrow(TypeError);
  });

  test('has lower-case header names and one line per header', async () => {
    const headers: [string, string][] = [
      ['Accept', 'application/json'],
      ['X-A', '1'],
      ['x-a', '2'],
    ];
    expect((await outgoing({ headers })).headers).toEqual({ accept: 'application/json', 'x-a': '1, 2' });
    expect((await outgoing({ headers: { 'If-Match': '"1-a"' } })).headers).toEqual({
      accept: '*/*',
      'if-match': '"1-a"',
    });
    await expect(outgoing({ headers: { 'a b': '1' } })).rejects.toThrow(TypeError);
  });

  test('sends no cookies if credentials are omitted', async () => {
    expect((await outgoing({ credentials: 'omit' })).headers).toEqual({ accept: '*/*', 'settee-credentials': 'omit' });
    expect((await outgoing({ credentials: 'include' })).headers).toEqual({ accept: '*/*' });
  });
});

describe('a body', () => {
  test('of text stays text, with its content type', async () => {
    const { body, headers } = await outgoing({ method: 'PUT', body: '{"a":1}' });
    expect(body).toBe('{"a":1}');
    expect(headers['content-type']).toBe('text/plain;charset=UTF-8');
  });

  test('has the content type that the caller sets', async () => {
    const headers = { 'Content-Type': 'application/json' };
    const kinds: BodyInit[] = ['{}', new Blob(['{}'], { type: 'text/html' }), new URLSearchParams('a=b')];
    for (const body of kinds) {
      expect((await outgoing({ method: 'PUT', body, headers })).headers['content-type']).toBe('application/json');
    }
  });

  test("of bytes contains only those bytes, and is not the caller's memory", async () => {
    const memory = new Uint8Array([1, 2, 3, 4, 5]);
    const view = outgoing({ method: 'PUT', body: memory.subarray(1, 3) });
    const whole = outgoing({ method: 'PUT', body: memory.buffer });
    memory.fill(9);
    const { body, headers } = await view;
    expect(body).toEqual(new Uint8Array([2, 3]));
    expect(body instanceof Uint8Array && body.buffer.byteLength).toBe(2);
    expect(headers).toEqual({ accept: '*/*' });
    expect((await whole).body).toEqual(new Uint8Array([1, 2, 3, 4, 5]));
  });

  test('that is a Blob is sent unchanged, with its type', async () => {
    const blob = new Blob(['x'], { type: 'image/png' });
    const { body, headers } = await outgoing({ method: 'PUT', body: blob });
    expect(body).toBe(blob);
    expect(headers['content-type']).toBe('image/png');
    expect((await outgoing({ method: 'PUT', body: new Blob(['x']) })).headers).toEqual({ accept: '*/*' });
  });

  test('of parameters or a form is encoded as by fetch', async () => {
    const parameters = await outgoing({ method: 'POST', body: new URLSearchParams({ a: 'b c' }) });
    expect(await textOf(parameters.body)).toBe('a=b+c');
    expect(parameters.headers['content-type']).toBe('application/x-www-form-urlencoded;charset=UTF-8');
    const form = new FormData();
    form.append('name', 'value');
    const { body, headers } = await outgoing({ method: 'POST', body: form });
    const [, boundary = ''] = /^multipart\/form-data; boundary=(.+)$/.exec(headers['content-type'] ?? '') ?? [];
    expect(boundary).not.toBe('');
    expect(await textOf(body)).toContain(`--${boundary}\r\nContent-Disposition: form-data; name="name"\r\n\r\nvalue`);
  });

  test('that is a stream stays that stream', async () => {
    const body = new ReadableStream();
    expect((await outgoing({ method: 'PUT', body })).body).toBe(body);
  });
});

describe('a Request', () => {
  test('provides all options, and init overrides it', async () => {
    const { signal } = new AbortController();
    const request = new Request(url, { method: 'PUT', body: 'a', headers: { 'X-A': '1' }, redirect: 'manual', signal });
    const { method, headers, body, redirect } = await toOutgoing(url, request);
    expect({ method, headers, redirect }).toEqual({
      method: 'PUT',
      headers: { accept: '*/*', 'content-type': 'text/plain;charset=UTF-8', 'x-a': '1' },
      redirect: 'manual',
    });
    expect(await textOf(body)).toBe('a');
    const other = await toOutgoing(url, new Request(url), { method: 'POST', body: 'b', headers: { 'X-B': '2' } });
    expect(other.method).toBe('POST');
    expect(other.headers['x-b']).toBe('2');
    expect(await textOf(other.body)).toBe('b');
  });

  test('of an engine without request streams provides its Blob', async () => {
    const request = new Request(url, { method: 'PUT', body: 'a' });
    class Streamless extends Request {
      override get body(): null {
        return undefined as unknown as null;
      }
    }
    const original = globalThis.Request;
    globalThis.Request = Streamless;
    try {
      const { body } = await toOutgoing(url, new Streamless(request));
      expect(body).toBeInstanceOf(Blob);
      expect(await textOf(body)).toBe('a');
    } finally {
      globalThis.Request = original;
    }
  });

  test('passes its signal on', async () => {
    const controller = new AbortController();
    const { signal } = await toOutgoing(url, new Request(url, { signal: controller.signal }));
    controller.abort();
    expect(signal?.aborted).toBe(true);
  });
});

describe('a redirection', () => {
  const answer = (status: number, location = '/db/other') => ({ status, headers: { location }, body: null });
  const of = (init: Partial<Outgoing>): Outgoing => ({
    method: 'GET',
    url,
    headers: {},
    body: null,
    signal: null,
    redirect: 'follow',
    ...init,
  });

  test.for([
    ['GET', 301, 'GET'],
    ['HEAD', 303, 'HEAD'],
    ['POST', 301, 'GET'],
    ['POST', 302, 'GET'],
    ['PUT', 302, 'PUT'],
    ['PUT', 303, 'GET'],
    ['POST', 307, 'POST'],
    ['POST', 308, 'POST'],
  ] as const)('to a %s with %d is followed with %s', ([method, status, next]) => {
    const body = method === 'GET' || method === 'HEAD' ? null : 'x';
    expect(nextOf(of({ method, body }), answer(status))).toMatchObject({
      method: next,
      url: 'https://app.example/db/other',
      body: next === 'GET' ? null : body,
    });
  });

  test('is not followed for other statuses, without a location, or with redirect: manual', () => {
    for (const status of [200, 201, 300, 304, 400]) expect(nextOf(of({}), answer(status))).toBeUndefined();
    expect(nextOf(of({}), { status: 301, headers: {}, body: null })).toBeUndefined();
    expect(nextOf(of({ redirect: 'manual' }), answer(301))).toBeUndefined();
  });

  test("is an error with redirect: error, and for a stream, which can't be sent again", () => {
    expect(() => nextOf(of({ redirect: 'error' }), answer(301))).toThrow(TypeError);
    expect(() => nextOf(of({ method: 'PUT', body: new ReadableStream() }), answer(307))).toThrow(TypeError);
  });
});
