/** Notices a worker whose thread is stuck: in a call of the browser that does not come back it answers nothing any more, and never ends. */
import { pause } from '../shared/clock.ts';
import { withinDeadline } from './deadline.ts';

/** What has no answer after so long may be stuck. */
const QUIET_MS = 5_000;

/**
 * Resolves with false when nothing waits for the worker any more, and with true when it gave no sign for twenty seconds: the core never
 * holds its thread for more than a fraction of one.
 */
export async function untilStuck(isWaiting: () => boolean, askForSign: () => Promise<unknown>): Promise<boolean> {
  for (;;) {
    await pause(QUIET_MS);
    if (!isWaiting()) return false;
    const sign = askForSign().catch(() => 'refused');
    // In two steps: where page and worker were frozen meanwhile, the sign has the second one to come.
    if (!(await withinDeadline(sign)) && !(await withinDeadline(sign))) return isWaiting();
  }
}
