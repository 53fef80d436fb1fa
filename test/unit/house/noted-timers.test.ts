import { afterEach, expect, test, vi } from 'vitest';
import { startBackgroundTimer } from '../../../src/base/shared/clock.ts';
import { noteTimers } from '../../support/noted-timers.ts';

/** `noteTimers` counts what a test itself has set, in a process that other tests have used before. */

afterEach(() => void vi.useRealTimers());

test('what a test sets is noted, until it ends or is removed', async () => {
  vi.useFakeTimers();
  const timers = noteTimers();
  startBackgroundTimer(1_000, () => undefined);
  const stop = await Promise.resolve().then(() => startBackgroundTimer(2_000, () => undefined));
  expect(timers.running).toEqual([expect.stringContaining('clock.ts'), expect.stringContaining('clock.ts')]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(timers.running).toHaveLength(1);
  stop();
  expect(timers.running).toEqual([]);
});

test('what a real timer of before sets is not noted', async () => {
  const left: (() => void)[] = [];
  const ended = new Promise<void>((resolve) => {
    setTimeout(() => {
      left.push(startBackgroundTimer(1_000, () => undefined));
      resolve();
    }, 1);
  });
  vi.useFakeTimers();
  const timers = noteTimers();
  await ended;
  expect([left.length, vi.getTimerCount()]).toEqual([1, 1]);
  expect(timers.running).toEqual([]);
});
