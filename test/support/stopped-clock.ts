import { onTestFinished, vi } from 'vitest';
import { nextTurn } from '../../src/base/shared/turn.ts';

export interface StoppedClock {
  /** Milliseconds that `performance.now()` returns. */
  now: number;
}

/** Stops the clock at 0 until the test ends, in a turn that nobody has held yet. */
export async function stopClock(): Promise<StoppedClock> {
  await nextTurn();
  await nextTurn();
  const clock = { now: 0 };
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => clock.now);
  onTestFinished(() => spy.mockRestore());
  return clock;
}
