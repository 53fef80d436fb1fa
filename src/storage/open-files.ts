/** The life of open files, which is the same in all backends. */

import type { DatabaseError } from '../base/errors/database-error.ts';
import { storageClosed } from './storage-errors.ts';

interface OpenFile {
  readonly name: string;
  close(): Promise<void>;
}

/** The files that a store has open or is opening, so that it can close them all and find those of one name. */
export class OpenFiles<F extends OpenFile> {
  readonly #files = new Set<F>();
  readonly #opening = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  get size(): number {
    return this.#files.size;
  }

  mustBeOpen(): void {
    if (this.#closing !== undefined) throw storageClosed('The storage');
  }

  /** Keeps what `load` opens. If the store was closed meanwhile, the file is closed again and the call fails. */
  async open<T extends F>(load: () => Promise<T>): Promise<T> {
    this.mustBeOpen();
    const loading = load();
    this.#opening.add(loading);
    try {
      const file = await loading;
      this.#files.add(file);
    } finally {
      this.#opening.delete(loading);
    }
    if (this.#closing !== undefined) {
      await this.#closing;
      throw storageClosed('The storage');
    }
    return loading;
  }

  named(name: string): F[] {
    return [...this.#files].filter((file) => file.name === name);
  }

  forget(file: F): void {
    this.#files.delete(file);
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    await Promise.allSettled(this.#opening);
    // One more turn, so that `open` has put what it opened among the files.
    await Promise.resolve();
    const results = await Promise.allSettled([...this.#files].map((file) => file.close()));
    this.#files.clear();
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, 'Several files failed to close');
  }
}

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
