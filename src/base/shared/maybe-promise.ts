/**
 * A value where it is at hand (in a cache, or from storage that reads synchronously), else a promise of it. A function that gives one may
 * throw or give a promise that rejects; with `await` in an async function, and with the functions below, both are the same.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with the value: in the same turn where it is there at once. */
export function whenReady<T, R>(value: MaybePromise<T>, use: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** All the values, in their order: in the same turn where all of them are there at once. */
export function allReady<T>(values: readonly MaybePromise<T>[]): MaybePromise<T[]> {
  const ready: T[] = [];
  for (const value of values) {
    if (value instanceof Promise) return Promise.all(values);
    ready.push(value);
  }
  return ready;
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
