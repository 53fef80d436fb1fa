/**
 * A value if it is available (in a cache, or from storage that reads synchronously), otherwise a promise of it. A function that returns one may
 * throw or return a promise that rejects; with `await` in an async function, and with the functions below, both are the same.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Continues with the value: in the same turn if it is available immediately. */
export function whenReady<T, R>(value: MaybePromise<T>, use: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** Returns all the values, in their order: in the same turn if all of them are available immediately. */
export function allReady<T>(values: readonly MaybePromise<T>[]): MaybePromise<T[]> {
  const ready: T[] = [];
  for (const value of values) {
    if (value instanceof Promise) return Promise.all(values);
    ready.push(value);
  }
  return ready;
}

/** Does the work, and something else if it fails, whether it throws or rejects. */
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
  if (value instanceof Promise) {
    // `finally` makes four promises.
    return value.then(
      (result) => {
        end();
        return result;
      },
      (failure: unknown) => {
        end();
        throw failure;
      },
    );
  }
  end();
  return value;
}
