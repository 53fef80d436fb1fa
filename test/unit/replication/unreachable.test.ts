import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { NetworkTransport } from '../../../src/replication/peers/client/network-transport.ts';
import { isUnreachable } from '../../../src/replication/peers/client/unreachable.ts';

const withCode = (code: string, more: object = {}) => Object.assign(new Error(code), { code, ...more });
const failed = (cause: Error) => new TypeError('fetch failed', { cause });

describe('a host cannot be reached', () => {
  test.each([
    'ENOTFOUND',
    'EAI_AGAIN',
    'ECONNREFUSED',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'ENETDOWN',
    'UND_ERR_CONNECT_TIMEOUT',
  ])('if a connection fails with %s', (code) => {
    expect(isUnreachable(failed(withCode(code)))).toBe(true);
  });

  test('if connecting takes too long, or each of its addresses refuses', () => {
    expect(isUnreachable(failed(withCode('ETIMEDOUT', { syscall: 'connect' })))).toBe(true);
    const all = new AggregateError([withCode('ECONNREFUSED'), withCode('ENETUNREACH')]);
    expect(isUnreachable(failed(all))).toBe(true);
  });

  test('in the words of Bun and Deno', () => {
    expect(isUnreachable(withCode('ConnectionRefused'))).toBe(true);
    const words = 'error sending request for url (http://db.test/): client error (Connect): tcp connect error';
    expect(isUnreachable(new TypeError(words))).toBe(true);
  });

  test.each(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'CERT_HAS_EXPIRED', 'UND_ERR_HEADERS_TIMEOUT'])(
    'is not what %s means',
    (code) => {
      expect(isUnreachable(failed(withCode(code)))).toBe(false);
    },
  );

  test('is not what an unknown failure means, or one of several', () => {
    expect(isUnreachable(new TypeError('Failed to fetch'))).toBe(false);
    expect(isUnreachable(failed(withCode('ETIMEDOUT', { syscall: 'read' })))).toBe(false);
    expect(isUnreachable(failed(new AggregateError([withCode('ECONNREFUSED'), withCode('ECONNRESET')])))).toBe(false);
    expect(isUnreachable('ENOTFOUND')).toBe(false);
  });

  test('on this platform, if no one listens at the port', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    await new Promise((resolve) => server.close(resolve));
    const failure: unknown = await fetch(`http://127.0.0.1:${port}/`).catch((one: unknown) => one);
    expect(isUnreachable(failure)).toBe(true);
  });
});

describe("a browser's fetch, which says nothing about failures", () => {
  const NOTHING = new TypeError('Failed to fetch');

  /** The failure of a request, and what was requested. `responds`: whether a request gets a response that can't be read. */
  async function failureWith(options: { responds: boolean; isOnline?: boolean }) {
    const requests: (string | undefined)[] = [];
    const transport = new NetworkTransport({
      url: 'https://db.test/notes',
      isBrowserFetch: true,
      isOnline: () => options.isOnline ?? true,
      fetch: async (url, init) => {
        requests.push(`${init?.method} ${String(url)} ${init?.mode ?? 'cors'}`);
        if (init?.mode === 'no-cors' && options.responds) return new Response(null);
        throw NOTHING;
      },
    });
    const { signal } = new AbortController();
    const request = { method: 'GET', path: '/_changes', headers: {}, body: undefined, signal };
    const failure: unknown = await transport.send(request).catch((one: unknown) => one);
    return { failure, requests };
  }

  test('can be asked whether there is a server, with a request whose response cannot be read', async () => {
    const { failure, requests } = await failureWith({ responds: false });
    expect(isUnreachable(failure)).toBe(true);
    expect(failure).toMatchObject({ cause: { message: 'no server responds there' } });
    expect(requests).toEqual(['GET https://db.test/notes/_changes cors', 'HEAD https://db.test/notes no-cors']);
  });

  test('fails at a server that does not permit the page, which counts', async () => {
    const { failure } = await failureWith({ responds: true });
    expect(isUnreachable(failure)).toBe(false);
    expect(failure).toMatchObject({ cause: { message: expect.stringContaining('(CORS)') } });
  });

  test.each([
    [{}, 'follow'],
    [{ authorization: 'Basic YTpi' }, 'follow'],
    [{ authorization: 'Bearer abc' }, 'error'],
    [{ 'x-api-key': 'abc' }, 'error'],
  ])('takes %j along in redirects: %s', async (ownHeaders, redirect) => {
    const seen: unknown[] = [];
    const fetch = async (_url: unknown, init?: RequestInit) => {
      seen.push(init?.redirect);
      return new Response('{}');
    };
    const transport = new NetworkTransport({ url: 'https://db.test/notes', isBrowserFetch: true, fetch });
    const { signal } = new AbortController();
    await transport.send({ method: 'GET', path: '', headers: {}, ownHeaders, body: undefined, signal });
    expect(seen).toEqual([redirect]);
  });

  test('fails for sure while the device is offline', async () => {
    const { failure, requests } = await failureWith({ responds: true, isOnline: false });
    expect(isUnreachable(failure)).toBe(true);
    expect(failure).toMatchObject({ cause: { message: 'this device is offline' } });
    expect(requests).toEqual(['GET https://db.test/notes/_changes cors']);
  });
});
