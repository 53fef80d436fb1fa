import { describe, expect, test } from 'vitest';
import type { PlainRequest, PlainResponse } from '../../../src/base/shared/message.ts';
import { createFetch } from '../../../src/http/fetch-adapter.ts';
import { isStream } from '../../../src/http/request/bodies.ts';
import { streamOf } from './support.ts';

const encoder = new TextEncoder();

function fetching(answer: Partial<PlainResponse>, see: (request: PlainRequest) => unknown = () => {}) {
  return createFetch(async (request) => {
    await see(request);
    return { status: 200, headers: {}, body: null, ...answer };
  });
}

describe('the fetch adapter', () => {
  test('passes on method, address, headers and body', async () => {
    const seen: unknown[] = [];
    const fetch = fetching({}, async ({ method, url, headers, body }) => {
      const chunks = isStream(body) ? [await body.pull(), await body.pull()] : [];
      seen.push(method, url, headers['x-mine'], new TextDecoder().decode(chunks[0]), chunks[1]);
    });
    const request = new Request('http://h/db/a%2Fb?x=1', { method: 'PUT', headers: { 'X-Mine': 'yes' }, body: '{}' });
    await fetch(request);
    expect(seen).toEqual(['PUT', 'http://h/db/a%2Fb?x=1', 'yes', '{}', undefined]);
  });

  test('passes on headers in lower case, whatever class of a simulated page they have', async () => {
    const seen: unknown[] = [];
    const fetch = fetching({}, ({ headers }) => seen.push(headers));
    const request = new Request('http://h/db');
    Object.defineProperty(request, 'headers', { value: new Map([['Content-Type', 'application/json']]) });
    await fetch(request);
    expect(seen).toEqual([{ 'content-type': 'application/json' }]);
  });

  test('returns each cookie in its own header', async () => {
    const response = await fetching({ headers: { 'set-cookie': 'a=b\nc=d; Path=/' } })(new Request('http://h/'));
    expect(response.headers.getSetCookie()).toEqual(['a=b', 'c=d; Path=/']);
  });

  test('returns status, headers and text', async () => {
    const response = await fetching({ status: 201, headers: { etag: '"1-a"' }, body: '{"ok":true}\n' })(
      new Request('http://h/'),
    );
    expect(response.status).toBe(201);
    expect(response.headers.get('etag')).toBe('"1-a"');
    expect(await response.text()).toBe('{"ok":true}\n');
  });

  test('returns responses without a body', async () => {
    const response = await fetching({ status: 304, headers: { etag: '"1-a"' } })(new Request('http://h/'));
    expect([response.status, await response.text()]).toEqual([304, '']);
  });

  test('pulls no more than is read, and cancels when the reader cancels', async () => {
    const { stream, seen } = streamOf([encoder.encode('a'), encoder.encode('b'), encoder.encode('c')]);
    const response = await fetching({ body: stream })(new Request('http://h/'));
    expect(seen.pulls).toBe(0);
    const reader = response.body?.getReader();
    expect((await reader?.read())?.value).toEqual(encoder.encode('a'));
    expect(seen.pulls).toBe(1);
    await reader?.cancel();
    expect(seen).toEqual({ pulls: 1, cancelled: true });
  });

  test('ends a stream that breaks off with an error', async () => {
    const { stream } = streamOf([encoder.encode('a')], { broken: true });
    const response = await fetching({ body: stream })(new Request('http://h/'));
    await expect(response.text()).rejects.toThrow();
  });

  test("cancels the part of a request that the service doesn't read", async () => {
    let cancelled: unknown;
    const body = new ReadableStream({
      cancel: (reason) => {
        cancelled = reason;
      },
    });
    const fetch = fetching({}, async (request) => {
      if (isStream(request.body)) await request.body.cancel('enough');
    });
    const init: RequestInit & { duplex: 'half' } = { method: 'POST', body, duplex: 'half' };
    await fetch(new Request('http://h/', init));
    expect(cancelled).toBe('enough');
  });
});
