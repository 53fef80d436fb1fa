import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readBody } from '../../../../src/node/http/request-body.ts';

/** Of a request only its headers and its bytes are looked at. */
function requestOf(length: number): PassThrough & IncomingMessage {
  return Object.assign(new PassThrough(), { headers: { 'content-length': `${length}` } }) as PassThrough &
    IncomingMessage;
}

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => vi.useRealTimers());

test('a small body comes in one piece, however it was cut, and leaves no timer', async () => {
  const incoming = requestOf(6);
  const body = readBody(incoming);
  incoming.write('abc');
  await setImmediate();
  incoming.write('def');
  expect(await body).toEqual(new TextEncoder().encode('abcdef'));
  expect(vi.getTimerCount()).toBe(0);
});

test('a sender of a small body that is silent for two minutes has its request failed', async () => {
  const incoming = requestOf(6);
  const outcome = expect(readBody(incoming)).rejects.toMatchObject({
    code: 'cancelled',
    reason: 'The request body ended after 3 bytes, before its end (nothing came for 120 seconds).',
  });
  vi.advanceTimersByTime(100_000);
  incoming.write('abc');
  await setImmediate();
  vi.advanceTimersByTime(119_999);
  expect(incoming.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  await outcome;
});
