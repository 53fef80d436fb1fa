import { beforeEach, describe, expect, test } from 'vitest';
import type { PlainResponse } from '../../../../src/base/shared/message.ts';
import { RepeatedWrites } from '../../../../src/browser/bridge/link/repeated-writes.ts';
import type { WireRequest } from '../../../../src/browser/bridge/wire.ts';

const put = (body: WireRequest['body'] = null, headers: Record<string, string> = {}): WireRequest => ({
  method: 'PUT',
  url: 'https://app.example/db/notes/one',
  headers,
  body,
});
const created: PlainResponse = { status: 201, headers: {}, body: '{"ok":true}\n' };

describe('a write that is sent twice', () => {
  let now = 0;
  let writes: RepeatedWrites;
  let carriedOut: number;
  const carryOut = (): PlainResponse => {
    carriedOut += 1;
    return { ...created, headers: { number: String(carriedOut) } };
  };

  beforeEach(() => {
    now = 0;
    carriedOut = 0;
    writes = new RepeatedWrites({ now: () => now, monotonic: () => now });
  });

  test('by consecutive instances of a service worker is carried out once, and has one answer', async () => {
    const request = put(new Uint8Array([123, 125]));
    const first = await writes.once({ link: 'a', id: 1, request }, carryOut);
    const again = { link: 'b', id: 7, request: put(new Uint8Array([123, 125])) };
    expect(await writes.once(again, carryOut)).toEqual(first);
    expect(carriedOut).toBe(1);
  });

  test('while the first is in progress waits for its answer', async () => {
    let answer: (response: PlainResponse) => void = () => {};
    const slow = () =>
      new Promise<PlainResponse>((resolve) => {
        answer = resolve;
      });
    const first = writes.once({ link: 'a', id: 1, request: put() }, slow);
    const second = writes.once({ link: 'b', id: 1, request: put() }, carryOut);
    answer(created);
    expect(await first).toEqual(created);
    expect(await second).toEqual(created);
    expect(carriedOut).toBe(0);
  });

  test('and a third time after one more restart is still carried out once', async () => {
    for (const link of ['a', 'b', 'c']) await writes.once({ link, id: 1, request: put() }, carryOut);
    expect(carriedOut).toBe(1);
  });

  test('is carried out twice if the first answer is known to have arrived', async () => {
    await writes.once({ link: 'a', id: 1, request: put() }, carryOut);
    writes.confirm('a', [1]);
    await writes.once({ link: 'b', id: 1, request: put() }, carryOut);
    expect(carriedOut).toBe(2);
  });

  test('is carried out twice if one link sends both', async () => {
    await writes.once({ link: 'a', id: 1, request: put() }, carryOut);
    await writes.once({ link: 'a', id: 2, request: put() }, carryOut);
    expect(carriedOut).toBe(2);
  });

  test('twice from each link is matched in pairs', async () => {
    await writes.once({ link: 'a', id: 1, request: put() }, carryOut);
    await writes.once({ link: 'a', id: 2, request: put() }, carryOut);
    const answers = [
      await writes.once({ link: 'b', id: 1, request: put() }, carryOut),
      await writes.once({ link: 'b', id: 2, request: put() }, carryOut),
    ];
    expect(answers.map((answer) => answer?.headers['number'])).toEqual(['1', '2']);
    expect(carriedOut).toBe(2);
  });

  test.each([
    ['body', put('{"n":1}'), put('{"n":2}')],
    ['length', put('{"n":1}'), put('{"n":10}')],
    ['headers', put(null, { 'if-match': '1-a' }), put(null, { 'if-match': '1-b' })],
    ['address', put(), { ...put(), url: 'https://app.example/db/notes/two' }],
    ['method', put(), { ...put(), method: 'DELETE' }],
    ['Blob', put(new Blob(['one'])), put(new Blob(['two']))],
  ])('is carried out twice if they differ in their %s', async (_difference, one, other) => {
    await writes.once({ link: 'a', id: 1, request: one }, carryOut);
    await writes.once({ link: 'b', id: 1, request: other }, carryOut);
    expect(carriedOut).toBe(2);
  });

  test('with Blobs is compared by their content', async () => {
    await writes.once({ link: 'a', id: 1, request: put(new Blob(['same'])) }, carryOut);
    await writes.once({ link: 'b', id: 1, request: put(new Blob(['sa', 'me'])) }, carryOut);
    expect(carriedOut).toBe(1);
  });

  test('is carried out if the first was refused', async () => {
    expect(await writes.once({ link: 'a', id: 1, request: put() }, () => undefined)).toBe(undefined);
    expect(await writes.once({ link: 'b', id: 1, request: put() }, carryOut)).toMatchObject({ status: 201 });
  });

  test('is carried out if the first failed', async () => {
    const fail = () => Promise.reject(new Error('no'));
    await expect(writes.once({ link: 'a', id: 1, request: put() }, fail)).rejects.toThrow('no');
    expect(await writes.once({ link: 'b', id: 1, request: put() }, carryOut)).toMatchObject({ status: 201 });
  });

  test('is carried out again after half a minute', async () => {
    await writes.once({ link: 'a', id: 1, request: put() }, carryOut);
    now = 30_001;
    await writes.once({ link: 'b', id: 1, request: put() }, carryOut);
    expect(carriedOut).toBe(2);
  });

  test('is not recognized beyond 16 MB of remembered bodies', async () => {
    const large = (n: number) => put(new Uint8Array(9_000_000).fill(n));
    await writes.once({ link: 'a', id: 1, request: large(1) }, carryOut);
    await writes.once({ link: 'a', id: 2, request: large(2) }, carryOut);
    await writes.once({ link: 'b', id: 1, request: large(2) }, carryOut);
    expect(carriedOut).toBe(2);
    await writes.once({ link: 'b', id: 2, request: large(1) }, carryOut);
    expect(carriedOut).toBe(3);
  });

  test('with an answer that can be read only once is answered 503 with what happened', async () => {
    const stream = { pull: async () => undefined, cancel: async () => {} };
    const streamed = (): PlainResponse => ({ status: 200, headers: {}, body: stream });
    await writes.once({ link: 'a', id: 1, request: put() }, streamed);
    const second = await writes.once({ link: 'b', id: 1, request: put() }, streamed);
    expect(second?.status).toBe(503);
    expect(second?.body).toContain('which was carried out; its response is lost');
  });
});
