/** Milliseconds that writing one slice should take: a request that comes meanwhile waits until the slice is written. */
const AIM_MS = 20;
/** Share of the maximum that a first slice writes, and share that every slice may write, however slow the medium. */
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

  /** Notes that writing a slice of this many bytes took `ms`. Ignores small ones: they measure only the cost of a commit. */
  noteWritten(bytes: number, ms: number): void {
    if (bytes < this.#most * LEAST) return;
    const fitting = ms > 0 ? (bytes * AIM_MS) / ms : this.#most;
    // Halfway, since other work may have affected a single measurement.
    this.#bytes = Math.min(this.#most, Math.max(this.#most * LEAST, (this.#bytes + fitting) / 2));
  }
}
