import { afterEach, expect, test, vi } from 'vitest';
import { startBackgroundTimer } from '../../../../src/base/shared/clock.ts';

afterEach(() => {
  // In this order: restored later, by any file that shares the process, the spy would put the fake timer back.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test("a timer longer than the platform's maximum is set to the maximum", () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const begun = vi.spyOn(globalThis, 'setTimeout');
  let calls = 0;
  const stop = startBackgroundTimer(Number.MAX_SAFE_INTEGER, () => {
    calls += 1;
  });
  vi.advanceTimersByTime(1_000_000);
  expect([calls, begun.mock.calls[0]?.[1]]).toEqual([0, 2_147_483_647]);
  stop();
  expect(vi.getTimerCount()).toBe(0);
});
