import { nextTurn } from '../shared/turn.ts';

/**
 * Lets others have a turn during long work: after each piece of work `rest` is asked, which gives way once some milliseconds have
 * passed since the last time.
 */
export class Pace {
  readonly #limitMs: number;
  #since = performance.now();

  constructor(limitMs = 6) {
    this.#limitMs = limitMs;
  }

  get isDue(): boolean {
    return performance.now() - this.#since >= this.#limitMs;
  }

  /** Resolves at once where it is not due. Callers on a hot path ask `isDue` before. */
  async rest(): Promise<void> {
    if (!this.isDue) return;
    await nextTurn();
    this.#since = performance.now();
  }
}
