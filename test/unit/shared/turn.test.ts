import { afterEach, describe, expect, test, vi } from 'vitest';
import { inTurns, nextTurn, Pace, type Steps } from '../../../src/shared/turn.ts';
import { atOnce } from '../../support/at-once.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** Counts `count` steps, each of which holds the thread for as long as the clock is told. */
function* work(count: number, stepMs = 0): Steps<string> {
  for (let step = 0; step < count; step++) {
    now += stepMs;
    yield;
  }
  return 'done';
}

let now = 0;

function stopClock(): void {
  now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
}

describe('the next turn', () => {
  test('comes after a timer that is due', async () => {
    let ticks = 0;
    setTimeout(() => ticks++, 0);
    for (const end = performance.now() + 2; performance.now() < end; );
    await nextTurn();
    await nextTurn();
    expect(ticks).toBe(1);
  });

  test('comes by a message where there is no setImmediate, as in browsers', async () => {
    vi.stubGlobal('setImmediate', undefined);
    const timers = vi.spyOn(globalThis, 'setTimeout');
    let isSettled = false;
    const turn = nextTurn().then(() => {
      isSettled = true;
    });
    for (let hop = 0; hop < 100; hop++) await undefined;
    expect(isSettled).toBe(false);
    await turn;
    expect(timers).not.toHaveBeenCalled();
  });
});

describe('a pace', () => {
  test('is due once the thread was held for long enough, and then anew', async () => {
    stopClock();
    const pace = new Pace(10);
    now = 9;
    expect(pace.isDue).toBe(false);
    now = 10;
    expect(pace.isDue).toBe(true);
    await pace.rest();
    expect(pace.isDue).toBe(false);
    now = 20;
    expect(pace.isDue).toBe(true);
  });
});

describe('work in turns', () => {
  test('that is short is done at once', () => {
    stopClock();
    expect(inTurns(work(1000))).toBe('done');
    expect(inTurns(work(29, 1))).toBe('done');
  });

  test('that is long lets others have a turn every 30 ms', async () => {
    stopClock();
    const turns = vi.spyOn(globalThis, 'setImmediate');
    expect(await inTurns(work(100, 10))).toBe('done');
    expect(turns).toHaveBeenCalledTimes(33);
  });

  test('fails at once, or later', async () => {
    stopClock();
    function* failing(stepMs: number): Steps<never> {
      yield* work(3, stepMs);
      throw new Error('no');
    }
    expect(() => inTurns(failing(0))).toThrow('no');
    await expect(inTurns(failing(30))).rejects.toThrow('no');
  });

  test('can be done in one go all the same', () => {
    stopClock();
    expect(atOnce(work(100, 10))).toBe('done');
  });
});
