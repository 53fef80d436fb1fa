import { assert, describe, expect, test } from 'vitest';
import { toPlainRequest } from '../../../../src/browser/sw/incoming-request.ts';

const url = 'https://app.example/db/notes/a';

/** As Firefox has it: a request without a stream. */
class Streamless extends Request {
  override get body(): null {
    return undefined as unknown as null;
  }
}

describe('a request of a page', () => {
  test('is passed on without its fragment, with its headers in lower case', async () => {
    const request = new Request(`${url}?rev=1#top`, { headers: { 'If-Match': '"1-a"' } });
    expect(await toPlainRequest(request)).toEqual({
      method: 'GET',
      url: `${url}?rev=1`,
      headers: { 'if-match': '"1-a"' },
      body: null,
    });
  });

  test('says if it wants no cookies', async () => {
    const { headers } = await toPlainRequest(new Request(url, { credentials: 'omit' }));
    expect(headers).toEqual({ 'settee-credentials': 'omit' });
  });

  test('has no headers that belong to a network', async () => {
    const headers = {
      origin: 'https://app.example',
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'cors',
      accept: '*/*',
    };
    // No browser lets a page set these; some show them here all the same.
    const request = { method: 'GET', url, headers: new Headers(headers), body: null } as unknown as Request;
    expect((await toPlainRequest(request)).headers).toEqual({ accept: '*/*' });
  });

  test.for([
    ['POST', 'navigate', 'https://evil.example/', 'cross-site'],
    ['POST', 'navigate', 'https://app.example.evil.example/', 'cross-site'],
    ['POST', 'navigate', 'http://app.example/', 'cross-site'],
    ['POST', 'navigate', '', 'cross-site'],
    ['POST', 'navigate', 'about:client', 'cross-site'],
    ['POST', 'navigate', 'https://app.example/form?a=b', undefined],
    ['GET', 'navigate', 'https://evil.example/', undefined],
    ['POST', 'cors', 'https://evil.example/', undefined],
  ] as const)(
    '%s in mode %s with the referrer "%s" is a form of another site: %s',
    async ([method, mode, referrer, site]) => {
      const request = { method, mode, referrer, url, headers: new Headers(), body: null } as unknown as Request;
      expect((await toPlainRequest(request)).headers['sec-fetch-site']).toBe(site);
    },
  );

  test.for([Request, Streamless])('of %o with a small body has its bytes', async (Kind) => {
    const { body } = await toPlainRequest(new Kind(url, { method: 'PUT', body: 'abc' }));
    expect(body).toEqual(new Uint8Array([97, 98, 99]));
  });

  test('with many chunks is joined in order', async () => {
    let sent = 0;
    const stream = new ReadableStream({
      pull: (controller) => (sent === 3 ? controller.close() : controller.enqueue(new Uint8Array([++sent, sent]))),
    });
    const init = { method: 'PUT', body: stream, duplex: 'half' };
    expect((await toPlainRequest(new Request(url, init))).body).toEqual(new Uint8Array([1, 1, 2, 2, 3, 3]));
  });

  test.for([Request, Streamless])(
    'of %o with a body of more than 1 MB has a Blob, with all of it in order',
    async (Kind) => {
      const bytes = Uint8Array.from({ length: 3_500_000 }, (_, index) => index % 251);
      const { body } = await toPlainRequest(new Kind(url, { method: 'PUT', body: new Blob([bytes]) }));
      expect(body).toBeInstanceOf(Blob);
      const arrived = body instanceof Blob ? new Uint8Array(await body.arrayBuffer()) : new Uint8Array();
      expect(arrived.length).toBe(3_500_000);
      expect(arrived.every((value, index) => value === index % 251)).toBe(true);
    },
  );

  test('with a body of more than 16 MB has a stream, with all of it in order', async () => {
    const bytes = Uint8Array.from({ length: 20_000_000 }, (_, index) => index % 251);
    const { body } = await toPlainRequest(new Request(url, { method: 'PUT', body: new Blob([bytes]) }));
    assert(body !== null && typeof body === 'object' && 'pull' in body, 'a stream');
    let [length, wrong] = [0, 0];
    for (let chunk = await body.pull(); chunk !== undefined; chunk = await body.pull()) {
      for (const byte of chunk) if (byte !== length++ % 251) wrong += 1;
    }
    expect([length, wrong]).toEqual([20_000_000, 0]);
  });

  test('with a body of more than 16 MB is cancelled if the reader cancels', async () => {
    let cancelled: unknown;
    const stream = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(1_000_000)),
      cancel: (reason) => {
        cancelled = reason;
      },
    });
    const { body } = await toPlainRequest(
      new Request(url, { method: 'PUT', body: stream, duplex: 'half' } as RequestInit),
    );
    assert(body !== null && typeof body === 'object' && 'pull' in body, 'a stream');
    expect((await body.pull())?.length).toBeGreaterThan(1_000_000);
    await body.cancel('too large');
    expect(cancelled).toBe('too large');
  });

  test.for([Request, Streamless])('of %o without a body has none', async (Kind) => {
    expect((await toPlainRequest(new Kind(url, { method: 'POST' }))).body).toBeNull();
    expect((await toPlainRequest(new Kind(url, { method: 'HEAD' }))).body).toBeNull();
  });

  test('whose body breaks off is an error', async () => {
    const stream = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) });
    const init = { method: 'PUT', body: stream, duplex: 'half' };
    await expect(toPlainRequest(new Request(url, init))).rejects.toThrow('gone');
  });
});
