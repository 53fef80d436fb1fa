/**
 * Thrown by a synchronous function that can't return its value in this turn. The value is in preparation: call the function again with the
 * same arguments once `ready` is settled.
 */
export class Pending extends Error {
  /** Never rejects: the next call reports a failure. */
  readonly ready: Promise<void>;

  constructor(ready: Promise<void>) {
    super('a value is not there yet; it has to be asked for again');
    this.name = 'Pending';
    this.ready = ready;
  }
}

/** Repeats the work until nothing that it needs is pending. Each attempt may do a part of it. */
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
