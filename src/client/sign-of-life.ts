/** Enough for a service worker that has to be started first, or drains, and for a worker that has begun. */
const ANSWER_MS = 10_000;

/** Undefined when it takes too long. */
export function soon<T>(work: Promise<T>): Promise<T | undefined> {
  return Promise.race([work, new Promise<undefined>((resolve) => setTimeout(resolve, ANSWER_MS))]);
}
