import type { DatabaseError } from '../base/errors/database-error.ts';

/**
 * The life of one open file: whether it still takes operations, why not, and when the last running one has ended.
 * Running operations complete; only new ones are refused.
 */
export class FileLife {
  #refusal: (() => DatabaseError) | undefined;
  #running = 0;
  #idleWaiters: (() => void)[] = [];

  get isOpen(): boolean {
    return this.#refusal === undefined;
  }

  /** Returns the error that new operations get, undefined while the file is open. */
  refusal(): DatabaseError | undefined {
    return this.#refusal?.();
  }

  mustBeOpen(): void {
    if (this.#refusal !== undefined) throw this.#refusal();
  }

  /** Refuses operations from now on. The first reason stays, but a deletion replaces a plain closing. */
  refuse(refusal: () => DatabaseError): void {
    if (this.#refusal === undefined || refusal().code === 'storage_deleted') this.#refusal = refusal;
  }

  beginOperation(): void {
    this.mustBeOpen();
    this.#running += 1;
  }

  endOperation(): void {
    this.#running -= 1;
    if (this.#running > 0) return;
    const waiters = this.#idleWaiters;
    this.#idleWaiters = [];
    for (const resume of waiters) resume();
  }

  /** Resolves when no operation is under way. */
  whenIdle(): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }
}
