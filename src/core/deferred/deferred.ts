import { DatabaseError } from '../../base/errors/database-error.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';

/** A value that is made once, on first use. If that fails the caller gets the failure, and the next call tries again. */
export class Deferred<T extends object> {
  readonly #make: () => MaybePromise<T>;
  readonly #end: (value: T) => MaybePromise<void>;
  #value: T | undefined;
  #making: Promise<T> | undefined;
  #isClosed = false;

  /** `end` releases the value's resources, when this is closed. */
  constructor(make: () => MaybePromise<T>, end: (value: T) => MaybePromise<void> = () => undefined) {
    this.#make = make;
    this.#end = end;
  }

  /** Synchronous if everything needed is available. Fails with `shutting_down` once this is closed. Can be passed on as a function. */
  readonly get = (): MaybePromise<T> => this.#value ?? this.#making ?? this.#begin();

  /** The value, if it was made. */
  get made(): T | undefined {
    return this.#value;
  }

  /** Calls `goOn` with the value: synchronously if everything needed is available. Fails as `get`. */
  use<R>(goOn: (value: T) => MaybePromise<R>): MaybePromise<R> {
    return whenReady(this.get(), goOn);
  }

  /** Makes nothing any more, and ends what was made. A value still being made is ended as soon as it exists. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const value = this.#value;
    this.#value = undefined;
    if (value !== undefined) await this.#end(value);
  }

  #begin(): MaybePromise<T> {
    if (this.#isClosed) throw closedError();
    const made = this.#make();
    if (!(made instanceof Promise)) return this.#keep(made);
    this.#making = made
      .then((value) => this.#keep(value))
      .finally(() => {
        this.#making = undefined;
      });
    return this.#making;
  }

  #keep(value: T): T {
    if (this.#isClosed) {
      void this.#end(value);
      throw closedError();
    }
    this.#value = value;
    return value;
  }
}

function closedError(): DatabaseError {
  return new DatabaseError('shutting_down', 'The service is closed; start it again.');
}
