/** How long a page waits for the responses of its workers, and how it notices one that will never answer. */
import { pause } from '../../base/shared/clock.ts';

/** Long enough for a service worker that must be started first or that lets bodies end, and for a worker whose script has been loaded. */
const ANSWER_MS = 10_000;

/** Resolves with the result of the work, or with undefined when that takes longer than ten seconds. */
export function withinDeadline<T>(work: Promise<T>): Promise<T | undefined> {
  return Promise.race([work, new Promise<undefined>((resolve) => setTimeout(resolve, ANSWER_MS))]);
}

/** A call without a response after this time may be stuck. */
const QUIET_MS = 5_000;

/**
 * Notices a worker whose thread is stuck in a browser call that never returns. Resolves with false when nothing waits for the worker any
 * more, and with true when it gave no sign for twenty seconds: the core never holds its thread for more than a fraction of a second.
 */
export async function untilStuck(isWaiting: () => boolean, askForSign: () => Promise<unknown>): Promise<boolean> {
  for (;;) {
    await pause(QUIET_MS);
    if (!isWaiting()) return false;
    const sign = askForSign().catch(() => 'refused');
    // In two steps: if page and worker were frozen meanwhile, the sign has the second step to arrive.
    if (!(await withinDeadline(sign)) && !(await withinDeadline(sign))) return isWaiting();
  }
}
