import type { DocumentWrite } from './contract.ts';

/** Documents that wait before they are written by themselves, and how long the first of them waits. */
const MAX_WAITING = 1_000;
const MAX_WAIT_MS = 1_000;

/**
 * Documents that a client handed over with `batch=ok`. They were answered with 202 and nothing is promised: they are
 * written within a second, when a thousand wait, or at the next flush; a conflict drops them silently.
 */
export class LaterWrites {
  #waiting: DocumentWrite[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #write: (writes: readonly DocumentWrite[]) => Promise<unknown>;
  readonly #onError: (error: unknown) => void;

  constructor(write: (writes: readonly DocumentWrite[]) => Promise<unknown>, onError: (error: unknown) => void) {
    this.#write = write;
    this.#onError = onError;
  }

  add(writes: readonly DocumentWrite[]): void {
    for (const write of writes) this.#waiting.push(write);
    if (this.#waiting.length >= MAX_WAITING) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), MAX_WAIT_MS);
  }

  /** Forgets what waits. */
  discard(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting = [];
  }

  /** Writes what waits. Never rejects: nobody is left to be told but the log. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const writes = this.#waiting;
    this.#waiting = [];
    if (writes.length === 0) return;
    try {
      await this.#write(writes);
    } catch (error) {
      this.#onError(error);
    }
  }
}
