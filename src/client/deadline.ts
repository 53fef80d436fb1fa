/** Long enough for a service worker that has to be started first or lets bodies end, and for a worker whose script has been loaded. */
const ANSWER_MS = 10_000;

/** Gives what comes of the work, or undefined when that takes longer than ten seconds. */
export function withinDeadline<T>(work: Promise<T>): Promise<T | undefined> {
  return Promise.race([work, new Promise<undefined>((resolve) => setTimeout(resolve, ANSWER_MS))]);
}
