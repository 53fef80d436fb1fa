import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Again, waitMs } from '../../../demo/src/following/again.ts';

const OPTIONS = { firstMs: 1000, maxMs: 10_000 } as const;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Work with these outcomes, then `true`; and when it ran, in milliseconds after the beginning. */
function recorded(...outcomes: readonly boolean[]) {
  const began = Date.now();
  const at: number[] = [];
  const left = [...outcomes];
  const work = async () => {
    at.push(Date.now() - began);
    return left.shift() ?? true;
  };
  return { at, work };
}

test('waits are twice as long after each failure, up to a limit', () => {
  expect([1, 2, 3, 4, 5, 6, 60].map((failures) => waitMs(failures, OPTIONS))).toEqual([
    1000, 2000, 4000, 8000, 10_000, 10_000, 10_000,
  ]);
});

describe('work that is tried again', () => {
  test('is tried after growing waits, until it succeeds', async () => {
    const { at, work } = recorded(false, false, false);
    const again = new Again(work, OPTIONS);
    await again.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(at).toEqual([0, 1000, 3000, 7000]);
    expect(again.nextAt).toBe(undefined);
  });

  test('says when its next attempt is', async () => {
    const { work } = recorded(false, false);
    const again = new Again(work, OPTIONS);
    const began = Date.now();
    await again.start();
    expect([again.nextAt, again.isTrying]).toEqual([began + 1000, false]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(again.nextAt).toBe(began + 3000);
  });

  test('is tried at once when that is asked for, and waits are short again', async () => {
    const { at, work } = recorded(false, false, false, false, false);
    const again = new Again(work, OPTIONS);
    await again.start();
    await vi.advanceTimersByTimeAsync(4000);
    await again.now();
    await vi.advanceTimersByTimeAsync(1500);
    expect(at).toEqual([0, 1000, 3000, 4000, 5000]);
  });

  test('is checked again after a success if that is wanted', async () => {
    const { at, work } = recorded(true, true, false);
    const again = new Again(work, { ...OPTIONS, restMs: 3000 });
    await again.start();
    await vi.advanceTimersByTimeAsync(7500);
    expect(at).toEqual([0, 3000, 6000, 7000]);
    expect(again.nextAt).toBe(undefined);
  });

  test('counts what rejects as a failure, and ends when it is stopped', async () => {
    let runs = 0;
    const again = new Again(() => {
      runs++;
      return Promise.reject(new Error('no'));
    }, OPTIONS);
    await again.start();
    await vi.advanceTimersByTimeAsync(1000);
    again.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    await again.now();
    expect(runs).toBe(2);
    expect(again.nextAt).toBe(undefined);
  });

  test('is put off while nobody wants it', async () => {
    let isWanted = false;
    const { at, work } = recorded(false);
    const again = new Again(work, { ...OPTIONS, isWanted: () => isWanted });
    await again.start();
    await vi.advanceTimersByTimeAsync(2500);
    isWanted = true;
    await vi.advanceTimersByTimeAsync(1000);
    expect(at).toEqual([0, 3000]);
  });

  test('tells when an attempt begins and ends', async () => {
    const { work } = recorded(false);
    const again = new Again(work, OPTIONS);
    const seen: boolean[] = [];
    again.addEventListener('change', () => seen.push(again.isTrying));
    await again.start();
    expect(seen).toEqual([true, false]);
  });
});
