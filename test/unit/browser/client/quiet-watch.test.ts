import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { QuietWatch } from '../../../../src/browser/client/quiet-watch.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** When it was quiet, in milliseconds from now. */
function quietAt(watch: QuietWatch): { readonly at: number | undefined } {
  const begun = performance.now();
  const result: { at: number | undefined } = { at: undefined };
  void watch.quiet().then(() => {
    result.at = performance.now() - begun;
  });
  return result;
}

test('a page without calls is quiet after 100 ms', async () => {
  const quiet = quietAt(new QuietWatch());
  await vi.advanceTimersByTimeAsync(99);
  expect(quiet.at).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(quiet.at).toBe(100);
});

test('calls in progress and recently finished ones are waited for', async () => {
  const watch = new QuietWatch();
  const quiet = quietAt(watch);
  await vi.advanceTimersByTimeAsync(50);
  watch.begin();
  await vi.advanceTimersByTimeAsync(250);
  watch.end();
  await vi.advanceTimersByTimeAsync(99);
  expect(quiet.at).toBeUndefined();
  await vi.advanceTimersByTimeAsync(50);
  expect(quiet.at).toBeGreaterThanOrEqual(400);
});

test('after two seconds no call is waited for any longer', async () => {
  const watch = new QuietWatch();
  const quiet = quietAt(watch);
  watch.begin();
  await vi.advanceTimersByTimeAsync(1_990);
  expect(quiet.at).toBeUndefined();
  await vi.advanceTimersByTimeAsync(50);
  expect(quiet.at).toBeGreaterThanOrEqual(2_000);
});
