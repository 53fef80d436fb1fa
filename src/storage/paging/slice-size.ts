/** Milliseconds that writing one slice should take: a request that comes meanwhile waits until the slice is written. */
const AIM_MS = 20;
/** Part of the most that a first slice writes, and that every slice may write however slow the medium is. */
const FIRST = 1 / 4;
const LEAST = 1 / 32;

/**
 * How many bytes of pages a slice of a checkpoint writes: what this medium, on this machine, stores in the time that
 * requests may wait.
 */
export class SliceSize {
  readonly #most: number;
  #bytes: number;

  constructor(most: number) {
    this.#most = most;
    this.#bytes = most * FIRST;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes in that writing a slice of so many bytes took `ms`. Small ones are left out: they measure only what a commit costs. */
  noteWritten(bytes: number, ms: number): void {
    if (bytes < this.#most * LEAST) return;
    const fitting = ms > 0 ? (bytes * AIM_MS) / ms : this.#most;
    // Halfway, since a single measurement may have met something else.
    this.#bytes = Math.min(this.#most, Math.max(this.#most * LEAST, (this.#bytes + fitting) / 2));
  }
}
