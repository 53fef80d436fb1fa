/**
 * Thrown by a synchronous function that can't give its value in this turn. The value is being made: call the function again with the
 * same arguments once `ready` is settled.
 */
export class Pending extends Error {
  /** Never rejects: a failure comes of the next call. */
  readonly ready: Promise<void>;

  constructor(ready: Promise<void>) {
    super('a value is not there yet; it has to be asked for again');
    this.name = 'Pending';
    this.ready = ready;
  }
}

/** Does the work again and again until nothing that it takes is pending. It may be done in part each time. */
export async function untilReady<T>(work: () => T | Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Pending)) throw error;
      await error.ready;
    }
  }
}
