import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ByteStream } from '../../../src/shared/message.ts';
import { BrokenOff } from '../../../src/sw/event-ids.ts';
import { OpenBodies } from '../../../src/sw/open-bodies.ts';
import { FakeFetch } from './fake-scope.ts';

/** One line, then nothing more. */
class SilentStream implements ByteStream {
  cancelled: unknown;
  #lines = 0;

  pull(): Promise<Uint8Array | undefined> {
    this.#lines += 1;
    return this.#lines === 1 ? Promise.resolve(new TextEncoder().encode('line')) : new Promise(() => {});
  }

  async cancel(reason?: unknown): Promise<void> {
    this.cancelled = reason;
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function open(bodies: OpenBodies): { event: FakeFetch; stream: SilentStream; text: Promise<string> } {
  const event = new FakeFetch(new Request('https://app.example/db/feed'));
  const stream = new SilentStream();
  const body = bodies.open(event.asEvent, { status: 200, headers: {}, body: stream });
  return { event, stream, text: new Response(body).text() };
}

async function outcome(text: Promise<string>): Promise<unknown> {
  const pending = new Promise((resolve) => setImmediate(resolve, 'open'));
  return Promise.race([text.catch(String), pending]);
}

test('where a service worker ends in silence, a body fails before the browser cuts it', async () => {
  const { event, stream, text } = open(new OpenBodies(true));
  vi.advanceTimersByTime(50_000);
  expect(await outcome(text)).toBe('open');
  vi.advanceTimersByTime(5000);
  expect(await outcome(text)).toBe('TypeError: The browser is about to end the service worker; ask again');
  expect(stream.cancelled).toEqual(new BrokenOff('The browser is about to end the service worker; ask again'));
  await Promise.all(event.waits);
  expect(vi.getTimerCount()).toBe(0);
});

test('it stays open as long as events come, and fails when they stop', async () => {
  const bodies = new OpenBodies(true);
  const { text } = open(bodies);
  for (let seconds = 0; seconds < 120; seconds += 10) {
    vi.advanceTimersByTime(10_000);
    bodies.noteEvent();
  }
  expect(await outcome(text)).toBe('open');
  vi.advanceTimersByTime(55_000);
  expect(await outcome(text)).toContain('about to end');
});

test('elsewhere it stays open without any event', async () => {
  const { text } = open(new OpenBodies(false));
  vi.advanceTimersByTime(600_000);
  expect(await outcome(text)).toBe('open');
});
