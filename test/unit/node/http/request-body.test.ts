import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ByteBudget } from '../../../../src/base/shared/byte-budget.ts';
import { readBody } from '../../../../src/node/http/request-body.ts';
import { noteTimers } from '../../../support/noted-timers.ts';

/** Of a request only its headers and its bytes are looked at. */
function requestOf(length: number): PassThrough & IncomingMessage {
  return Object.assign(new PassThrough(), { headers: { 'content-length': `${length}` } }) as PassThrough &
    IncomingMessage;
}

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => vi.useRealTimers());

test('a small body arrives in one piece, however it was divided, and leaves no timer', async () => {
  const timers = noteTimers();
  const incoming = requestOf(6);
  const body = readBody(incoming);
  incoming.write('abc');
  await setImmediate();
  incoming.write('def');
  expect(await body).toEqual(new TextEncoder().encode('abcdef'));
  expect(timers.running).toEqual([]);
});

test('a small body whose sender is silent for two minutes fails', async () => {
  const timers = noteTimers();
  const incoming = requestOf(6);
  const outcome = expect(readBody(incoming)).rejects.toMatchObject({
    code: 'request_timeout',
    reason: 'No part of the request arrived for 120 seconds, after 3 bytes of its body. Send it again.',
  });
  vi.advanceTimersByTime(100_000);
  incoming.write('abc');
  await setImmediate();
  vi.advanceTimersByTime(119_999);
  expect(timers.running.length).toBe(1);
  vi.advanceTimersByTime(1);
  await outcome;
  // The answer says so: the connection ends with it.
  expect(incoming.destroyed).toBe(false);
});

/** Below so many bytes in each minute the least rate is not kept. */
const rules = { leastRate: () => 10 };

test('a body whose sender is below the minimum rate fails, however often something arrives', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const timers = noteTimers();
  const incoming = requestOf(60_000);
  const outcome = expect(readBody(incoming, rules)).rejects.toMatchObject({
    code: 'request_timeout',
    reason:
      'Fewer than 600 bytes of the request arrived within 60 seconds (httpd/min_body_rate), after 605 bytes of its body. Send it again over a faster connection.',
  });
  // A good minute, in which a pause is no harm, excuses nothing later.
  vi.advanceTimersByTime(50_000);
  incoming.write(Buffer.alloc(600));
  for (let second = 0; second < 50; second += 10) {
    await setImmediate();
    vi.advanceTimersByTime(10_000);
    incoming.write('x');
  }
  await setImmediate();
  vi.advanceTimersByTime(9_999);
  expect(timers.running.length).toBe(1);
  vi.advanceTimersByTime(1);
  await outcome;
});

test('a body at the minimum rate can take any time', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const timers = noteTimers();
  const incoming = requestOf(60_000);
  const body = readBody(incoming, rules);
  for (let minute = 0; minute < 100; minute += 1) {
    vi.advanceTimersByTime(59_000);
    incoming.write(Buffer.alloc(600));
    await setImmediate();
  }
  expect(await body).toHaveLength(60_000);
  expect(timers.running).toEqual([]);
});

test('received bytes count from the first piece on, and wait for memory beyond 64 KB', async () => {
  const budget = new ByteBudget(900_000, 30_000);
  const other = budget.open('other');
  const lease = budget.open('sender');
  const incoming = requestOf(200_000);
  const body = readBody(incoming, { lease: () => lease });
  incoming.write(Buffer.alloc(60_000));
  await setImmediate();
  expect(budget.used).toBe(60_000);
  expect(other.take(800_000)).toBe(true);
  incoming.write(Buffer.alloc(60_000));
  await setImmediate();
  expect([incoming.isPaused(), lease.bytes]).toEqual([true, 60_000]);
  other.release();
  await setImmediate();
  expect([incoming.isPaused(), lease.bytes]).toEqual([false, 800_000]);
  incoming.write(Buffer.alloc(80_000));
  expect(await body).toHaveLength(200_000);
  // Whoever works on it goes on with the lease.
  expect(lease.bytes).toBe(800_000);
});

test('a slow body gives way to a waiting request, and its connection ends', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const budget = new ByteBudget(850_000, 30_000);
  const lease = budget.open('slow');
  const incoming = requestOf(200_000);
  let silences = 0;
  const body = readBody(incoming, { lease: () => lease, onSilence: () => void silences++ });
  const outcome = expect(body).rejects.toMatchObject({ code: 'too_busy' });
  incoming.write(Buffer.alloc(60_000));
  await setImmediate();
  incoming.write(Buffer.alloc(60_000));
  await setImmediate();
  const other = Promise.resolve(budget.open('other').take(100_000));
  vi.advanceTimersByTime(1_000);
  await outcome;
  expect(await other).toBe(true);
  expect(silences).toBe(1);
  expect(budget.used).toBe(100_000);
});

test('a slow sender of a large body gives way when another request waits', async () => {
  const incoming = requestOf(2_000_000);
  let silences = 0;
  const body = readBody(incoming, { onSilence: () => void silences++ });
  if (body === null || body instanceof Promise) throw new Error('a large body is a stream');
  incoming.write('abc');
  expect(await body.pull()).toEqual(new TextEncoder().encode('abc'));
  const outcome = expect(body.pull()).rejects.toMatchObject({ code: 'request_timeout' });
  vi.advanceTimersByTime(120_000);
  await outcome;
  expect(silences).toBe(1);
});
