import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  atOnce,
  type CooperativeTask,
  LONG_STEP,
  nextTurn,
  ready,
  runCooperatively,
  TimeSlice,
} from '../../../../src/base/shared/turn.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** Counts `count` steps, each of which holds the thread for as long as the clock is told. */
function* work(count: number, stepMs = 0): CooperativeTask<string> {
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
    // Asked at once: later ones may be the test runner's.
    expect(timers).not.toHaveBeenCalled();
    for (let hop = 0; hop < 100; hop++) await undefined;
    expect(isSettled).toBe(false);
    await turn;
  });
});

describe('a time slice', () => {
  // Each test begins in a turn of its own, which nobody has held yet.
  beforeEach(async () => {
    await nextTurn();
    await nextTurn();
  });

  test('is due after the thread was held long enough, and again after the next interval', async () => {
    stopClock();
    const timeSlice = new TimeSlice(10);
    now = 9;
    expect(timeSlice.isDue).toBe(false);
    now = 10;
    expect(timeSlice.isDue).toBe(true);
    await timeSlice.rest();
    expect(timeSlice.isDue).toBe(false);
    now = 20;
    expect(timeSlice.isDue).toBe(true);
  });

  test('counts what other work held the thread for in the same turn', async () => {
    stopClock();
    new TimeSlice();
    now = 9;
    const second = new TimeSlice();
    expect(second.isDue).toBe(false);
    now = 10;
    expect(second.isDue).toBe(true);
    // What has just begun is small, as far as anyone knows.
    const third = new TimeSlice();
    expect(third.isDue).toBe(false);
    now = 11;
    expect(third.isDue).toBe(true);
  });

  test('is due at once in a turn that has lasted too long', async () => {
    stopClock();
    new TimeSlice();
    now = 14;
    expect(new TimeSlice().isDue).toBe(false);
    now = 15;
    expect(new TimeSlice().isDue).toBe(true);
  });

  test('starts over in each turn', async () => {
    stopClock();
    const timeSlice = new TimeSlice();
    now = 9;
    await nextTurn();
    await nextTurn();
    now = 18;
    expect(timeSlice.isDue).toBe(false);
    now = 28;
    expect(timeSlice.isDue).toBe(true);
  });

  test('resumes many in order, each in its own turn', async () => {
    stopClock();
    const order: string[] = [];
    let turn = 0;
    let isOver = false;
    const count = () => {
      turn += 1;
      if (!isOver) setImmediate(count);
    };
    const read = async (name: string) => {
      const timeSlice = new TimeSlice();
      const turns: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        now += 10;
        await timeSlice.rest();
        order.push(name);
        turns.push(turn);
      }
      return turns;
    };
    setImmediate(count);
    const readers = await Promise.all([read('a'), read('b'), read('c')]);
    isOver = true;
    expect(order.join('')).toBe('abcabcabc');
    expect(new Set(readers.flat()).size).toBe(9);
  });
});

describe('work in turns', () => {
  test('is done at once if it is short', () => {
    stopClock();
    expect(runCooperatively(work(1000))).toBe('done');
    expect(runCooperatively(work(4, 1))).toBe('done');
  });

  test('lets other work have a turn every 5 ms if it is long', async () => {
    await nextTurn();
    await nextTurn();
    stopClock();
    const turns: number[] = [];
    let isOver = false;
    const note = () => {
      if (turns.at(-1) !== now) turns.push(now);
      if (!isOver) setImmediate(note);
    };
    const done = runCooperatively(work(50, 1));
    note();
    expect(await done).toBe('done');
    isOver = true;
    // The first step is done before the clock is looked at.
    expect(turns).toEqual([6, 11, 16, 21, 26, 31, 36, 41, 46]);
  });

  test('has a turn to itself for a step that is long by itself', async () => {
    await nextTurn();
    await nextTurn();
    stopClock();
    function* withLongStep(): CooperativeTask<string> {
      yield* work(3, 1);
      yield LONG_STEP;
      now += 30;
      yield;
      return yield* work(3, 1);
    }
    const turns: number[] = [];
    let isOver = false;
    const note = () => {
      turns.push(now);
      if (!isOver) setImmediate(note);
    };
    const done = runCooperatively(withLongStep());
    note();
    expect(await done).toBe('done');
    isOver = true;
    expect([...new Set(turns)]).toEqual([3, 33]);
    expect(atOnce(withLongStep())).toBe('done');
  });

  test('can fail at once or later', async () => {
    stopClock();
    function* failing(stepMs: number): CooperativeTask<never> {
      yield* work(3, stepMs);
      throw new Error('no');
    }
    expect(() => runCooperatively(failing(0))).toThrow('no');
    await expect(runCooperatively(failing(30))).rejects.toThrow('no');
  });

  test('can also be run synchronously', () => {
    stopClock();
    expect(atOnce(work(100, 10))).toBe('done');
  });

  test('continues before work that already had more turns', async () => {
    stopClock();
    const long = Array.from({ length: 100 }, () => runCooperatively(work(100, 10)));
    for (let turn = 0; turn < 1_000; turn += 1) await nextTurn();
    const ended: string[] = [];
    const waits = Promise.all(long).then(() => ended.push('long'));
    const began = now;
    await runCooperatively(work(5, 10));
    // Alone it takes 50 ms; after each of the hundred it would be five seconds.
    expect(now - began).toBeLessThan(500);
    expect(ended).toEqual([]);
    await waits;
  });
});

describe('steps that wait', () => {
  function* sum(values: readonly (number | Promise<number>)[]): CooperativeTask<number> {
    let total = 0;
    for (const value of values) total += yield* ready(value);
    return total;
  }

  test('are done at once if every value is available, else when it is', async () => {
    expect(runCooperatively(sum([1, 2, 3]))).toBe(6);
    const late = runCooperatively(sum([1, Promise.resolve(2), 3, Promise.resolve(4)]));
    expect(late).toBeInstanceOf(Promise);
    expect(await late).toBe(10);
  });

  test('fail where they wait, and can catch that failure and continue', async () => {
    const failing = () => Promise.reject<number>(new Error('no'));
    await expect(runCooperatively(sum([1, failing()]))).rejects.toThrow('no');
    function* recovering(): CooperativeTask<string> {
      try {
        yield* ready(failing());
      } catch (error) {
        yield LONG_STEP;
        return `${error} ${yield* ready(Promise.resolve('later'))}`;
      }
      return 'never';
    }
    expect(await runCooperatively(recovering())).toBe('Error: no later');
  });

  test("can't be run synchronously", () => {
    expect(atOnce(sum([1, 2]))).toBe(3);
    expect(() => atOnce(sum([Promise.resolve(1)]))).toThrow('may not wait');
  });
});
