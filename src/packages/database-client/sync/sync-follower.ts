/** Decides when to look at the state of a sync: after changes in the local service, and by a timer. */
import { startBackgroundTimer } from '../../../base/shared/clock.ts';
import type { Ask } from '../requests.ts';

/** Between two looks while something is copied. */
const ACTIVE_MS = 1_000;
/** Between two looks while nothing happens. */
const IDLE_MS = 15_000;
/** From a change to the look: others may follow at once. */
const CHANGE_MS = 200;
/** So long after a change its copy may begin. */
const EFFECT_MS = 3_000;
/** Between two requests of a feed that fails: the first pause, and the longest. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 15_000;

/** What a look found. */
export interface Look {
  /** Something is copied, or will be soon. */
  readonly isActive: boolean;
  /** Milliseconds since the epoch; undefined if no attempt is planned. */
  readonly nextAttempt: number | undefined;
}

export interface FollowerOptions {
  /** For requests at and below the addresses of the two local databases: `_replicator`, and the one that is in sync. */
  readonly feeds: readonly Ask[];
  /** One at a time. Does not reject. */
  readonly look: () => Promise<Look>;
}

export class SyncFollower {
  readonly #options: FollowerOptions;
  readonly #controller = new AbortController();
  #isStarted = false;
  #stopTimer: (() => void) | undefined;
  /** When the timer ends, infinite without one; and until when something may happen. By a clock that nobody sets: `performance.now()`. */
  #dueAt = Number.POSITIVE_INFINITY;
  #activeUntil = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Does nothing if it has started, or is closed. */
  start(): void {
    if (this.#isStarted || this.isClosed) return;
    this.#isStarted = true;
    for (const ask of this.#options.feeds) void this.#follow(ask);
    const { signal } = this.#controller;
    const page: unknown = globalThis;
    if (page instanceof EventTarget) {
      for (const type of ['online', 'offline']) page.addEventListener(type, () => this.#noteChange(), { signal });
    }
    this.#noteChange();
  }

  /** Looks at once, and resolves when it has. */
  async look(): Promise<void> {
    await this.#looking;
    await this.#look();
  }

  close(): void {
    this.#controller.abort();
    this.#stopTimer?.();
  }

  get isClosed(): boolean {
    return this.#controller.signal.aborted;
  }

  #noteChange(): void {
    this.#activeUntil = performance.now() + EFFECT_MS;
    this.#lookIn(CHANGE_MS);
  }

  #lookIn(ms: number): void {
    const at = performance.now() + ms;
    if (this.isClosed || at >= this.#dueAt) return;
    this.#stopTimer?.();
    this.#dueAt = at;
    this.#stopTimer = startBackgroundTimer(ms, () => {
      // The look that is under way, if there is one, sets the next timer.
      this.#dueAt = Number.POSITIVE_INFINITY;
      void this.#look();
    });
  }

  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    this.#stopTimer?.();
    this.#dueAt = Number.POSITIVE_INFINITY;
    if (this.isClosed) return;
    const { isActive, nextAttempt } = await this.#options.look();
    const isLively = isActive || performance.now() < this.#activeUntil;
    // A state that names no time may change at any time.
    const untilAttempt = nextAttempt === undefined ? IDLE_MS : Math.max(nextAttempt - Date.now(), ACTIVE_MS);
    this.#lookIn(isLively ? ACTIVE_MS : Math.min(IDLE_MS, untilAttempt));
  }

  /** Each request ends with the next change of the database, or after a while. Changes between two of them have an effect that the timer finds. */
  async #follow(ask: Ask): Promise<void> {
    const { signal } = this.#controller;
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      try {
        const { results } = await ask<{ readonly results: readonly unknown[] }>('GET', FEED, { signal });
        pauseMs = FIRST_PAUSE_MS;
        if (results.length > 0) this.#noteChange();
        await pause(ACTIVE_MS);
      } catch (error) {
        // The page has closed the service.
        if (error instanceof DOMException && error.name === 'InvalidStateError') return this.close();
        await pause(pauseMs);
        pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
      }
    }
  }
}

const FEED = '/_changes?feed=longpoll&since=now&limit=1';

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void startBackgroundTimer(ms, resolve));
}
