import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import type { ByteStream } from '../../../../src/base/shared/message.ts';
import { BrokenOff } from '../../../../src/browser/sw/event-ids.ts';
import { OpenBodies, traitsOf } from '../../../../src/browser/sw/open-bodies.ts';
import { noteTimers } from '../../../support/noted-timers.ts';
import { FakeFetch } from './fake-scope.ts';

const FIREFOX = traitsOf({ userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0' });
const CHROMIUM = traitsOf({
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/156.0.0.0 Safari/537.36',
});

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

test('where service workers are ended without notice, a body fails before the browser cuts it', async () => {
  const timers = noteTimers();
  const { event, stream, text } = open(new OpenBodies(FIREFOX));
  vi.advanceTimersByTime(50_000);
  expect(await outcome(text)).toBe('open');
  vi.advanceTimersByTime(5000);
  expect(await outcome(text)).toBe('TypeError: The browser is about to end the service worker; send the request again');
  expect(stream.cancelled).toEqual(
    new BrokenOff('The browser is about to end the service worker; send the request again'),
  );
  await Promise.all(event.waits);
  expect(timers.running).toEqual([]);
});

test('a body stays open while events arrive, and fails when they stop', async () => {
  const bodies = new OpenBodies(FIREFOX);
  const { text } = open(bodies);
  for (let seconds = 0; seconds < 120; seconds += 10) {
    vi.advanceTimersByTime(10_000);
    bodies.noteEvent();
  }
  expect(await outcome(text)).toBe('open');
  vi.advanceTimersByTime(55_000);
  expect(await outcome(text)).toContain('about to end');
});

test('in other browsers a body stays open without any event', async () => {
  const { text } = open(new OpenBodies(CHROMIUM));
  vi.advanceTimersByTime(600_000);
  expect(await outcome(text)).toBe('open');
});

describe('the memory of large chunks', () => {
  /** Reads them as a browser does, which copies each before it asks for the next one. Gives what is left of the memory of each then. */
  async function read(isMovable: boolean, browser = CHROMIUM): Promise<readonly number[]> {
    const chunks = ['a', 'b', 'c'].map((letter) => new TextEncoder().encode(letter.repeat(20_000)));
    const left: number[] = [];
    let given = 0;
    const source: ByteStream = {
      isMovable,
      pull: async () => {
        const before = chunks[given - 1];
        if (before !== undefined) left.push(before.buffer.byteLength);
        return chunks[given++];
      },
      cancel: async () => {},
    };
    const event = new FakeFetch(new Request('https://app.example/db/films/one/film'));
    const response = new Response(
      new OpenBodies(browser).open(event.asEvent, { status: 200, headers: {}, body: source }),
    );
    let text = '';
    for await (const chunk of must(response.body, 'body')) text += new TextDecoder().decode(chunk);
    expect(text).toBe('a'.repeat(20_000) + 'b'.repeat(20_000) + 'c'.repeat(20_000));
    return left;
  }

  test('is freed after they were read', async () => {
    expect(await read(true)).toEqual([0, 0, 0]);
  });

  test('is left alone if the chunks may be used elsewhere', async () => {
    expect(await read(false)).toEqual([20_000, 20_000, 20_000]);
  });

  test('is left to browsers that free it themselves', async () => {
    expect(await read(true, FIREFOX)).toEqual([20_000, 20_000, 20_000]);
  });
});
