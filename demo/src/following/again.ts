/**
 * Work that is tried again until it succeeds: after waits that grow, so that a page that is left open asks a server that is gone only now and
 * then. Fires a `change` event whenever an attempt begins or ends.
 */

export interface AgainOptions {
  /** Milliseconds before the second attempt. Each wait after it is twice as long. */
  readonly firstMs: number;
  /** The longest wait. */
  readonly maxMs: number;
  /** Milliseconds until the work is checked again after a success. Undefined: a success ends it. */
  readonly restMs?: number | undefined;
  /** False: nobody waits for the outcome now, so an attempt that is due is put off. Default: always true. */
  readonly isWanted?: (() => boolean) | undefined;
}

/** How long to wait after so many failures in a row: 1, 2, 4, 8 … times `firstMs`. */
export function waitMs(failures: number, { firstMs, maxMs }: Pick<AgainOptions, 'firstMs' | 'maxMs'>): number {
  return Math.min(maxMs, firstMs * 2 ** Math.max(0, failures - 1));
}

export class Again extends EventTarget {
  readonly #work: () => Promise<boolean>;
  readonly #options: AgainOptions;
  #isStarted = false;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempt: Promise<void> | undefined;
  #nextAt: number | undefined;

  /** `work` resolves to whether it succeeded. If it rejects, that is a failure. */
  constructor(work: () => Promise<boolean>, options: AgainOptions) {
    super();
    this.#work = work;
    this.#options = options;
  }

  /** When the next attempt begins, in milliseconds since the epoch. Undefined after a success, during an attempt and while it is stopped. */
  get nextAt(): number | undefined {
    return this.#failures > 0 ? this.#nextAt : undefined;
  }

  get isTrying(): boolean {
    return this.#attempt !== undefined;
  }

  /** Begins with an attempt at once. Resolves when that attempt has ended. */
  start(): Promise<void> {
    this.#isStarted = true;
    return this.now();
  }

  stop(): void {
    this.#isStarted = false;
    this.#failures = 0;
    this.#wait(undefined);
  }

  /** Tries at once, and begins with short waits again. An attempt that is under way is this one. */
  now(): Promise<void> {
    if (!this.#isStarted) return Promise.resolve();
    this.#failures = 0;
    return this.#try();
  }

  #try(): Promise<void> {
    this.#attempt ??= this.#tryOnce();
    return this.#attempt;
  }

  async #tryOnce(): Promise<void> {
    this.#wait(undefined);
    // The event is fired once `isTrying` is true.
    await Promise.resolve();
    this.dispatchEvent(new Event('change'));
    const isDone = await this.#work().catch(() => false);
    this.#attempt = undefined;
    this.#failures = isDone ? 0 : this.#failures + 1;
    if (this.#isStarted) this.#wait(isDone ? this.#options.restMs : waitMs(this.#failures, this.#options));
    this.dispatchEvent(new Event('change'));
  }

  #wait(ms: number | undefined): void {
    clearTimeout(this.#timer);
    this.#nextAt = ms === undefined ? undefined : Date.now() + ms;
    if (ms !== undefined) this.#timer = setTimeout(() => this.#due(ms), ms);
  }

  #due(ms: number): void {
    if (this.#options.isWanted?.() === false) this.#wait(ms);
    else void this.#try();
  }
}
