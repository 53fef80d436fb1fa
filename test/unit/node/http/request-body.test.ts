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
    code: 'request_timeout',
    reason: 'Nothing of the request came for 120 seconds, after 3 bytes of its body. Send it again.',
  });
  vi.advanceTimersByTime(100_000);
  incoming.write('abc');
  await setImmediate();
  vi.advanceTimersByTime(119_999);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(1);
  await outcome;
  // The answer says so: the connection ends with it.
  expect(incoming.destroyed).toBe(false);
});

test('so has a sender of a large one, while something waits for it', async () => {
  const incoming = requestOf(2_000_000);
  let silences = 0;
  const body = readBody(incoming, () => {
    silences++;
  });
  if (body === null || body instanceof Promise) throw new Error('a large body is a stream');
  incoming.write('abc');
  expect(await body.pull()).toEqual(new TextEncoder().encode('abc'));
  const outcome = expect(body.pull()).rejects.toMatchObject({ code: 'request_timeout' });
  vi.advanceTimersByTime(120_000);
  await outcome;
  expect(silences).toBe(1);
});
