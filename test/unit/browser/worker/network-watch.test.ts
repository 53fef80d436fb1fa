import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchNetwork } from '../../../../src/browser/worker/network-watch.ts';

let now = 1_000_000;
const clock = { now: () => now, monotonic: () => 0 };

beforeEach(() => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => vi.useRealTimers());

/** So long the timers run, and the clock with them. */
function pass(ms: number): void {
  for (let left = ms; left > 0; left -= 5_000) {
    now += 5_000;
    vi.advanceTimersByTime(5_000);
  }
}

test('the online event of the browser means that the network is back', () => {
  const events = new EventTarget();
  const onBack = vi.fn();
  const stop = watchNetwork(clock, events, onBack);
  events.dispatchEvent(new Event('online'));
  expect(onBack).toHaveBeenCalledTimes(1);
  stop();
  events.dispatchEvent(new Event('online'));
  expect(onBack).toHaveBeenCalledTimes(1);
});

test("a gap in the clock means that the device slept or the page was frozen, and a late timer doesn't", () => {
  const onBack = vi.fn();
  const stop = watchNetwork(clock, undefined, onBack);
  pass(60_000);
  now += 9_000;
  pass(5_000);
  // A clock that is set back says nothing.
  now -= 3_600_000;
  pass(10_000);
  expect(onBack).not.toHaveBeenCalled();
  now += 600_000;
  pass(5_000);
  expect(onBack).toHaveBeenCalledTimes(1);
  pass(60_000);
  expect(onBack).toHaveBeenCalledTimes(1);
  stop();
});
