/**
 * A value that is there at once where the host can give it so (a cache, LMDB), else a promise of it. What gives one may
 * throw at once or reject; whoever awaits it in an async function, or uses the functions below, need not tell apart.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with the value: in the same turn where it is there at once. */
export function whenReady<T, R>(value: MaybePromise<T>, use: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** Does the work, and something else if it fails, be it by throwing or later. */
export function orElse<T>(
  work: () => MaybePromise<T>,
  recover: (failure: unknown) => MaybePromise<T>,
): MaybePromise<T> {
  try {
    const value = work();
    return value instanceof Promise ? value.catch(recover) : value;
  } catch (failure) {
    return recover(failure);
  }
}

/** Does the work, and calls `end` when it is done or has failed. */
export function withEnd<T>(work: () => MaybePromise<T>, end: () => void): MaybePromise<T> {
  let value: MaybePromise<T>;
  try {
    value = work();
  } catch (failure) {
    end();
    throw failure;
  }
  if (value instanceof Promise) return value.finally(end);
  end();
  return value;
}
