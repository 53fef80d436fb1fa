/**
 * Wakes replications that wait for a host that could not be reached: as soon as another replication gets a response from that host, all
 * of them continue, without waiting for their timers.
 */
export class Reachability {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** `origin`: the scheme, host and port that responded, as URLs write them. */
  noteResponse(origin: string): void {
    const waiting = this.#waiting.get(origin);
    if (waiting === undefined) return;
    this.#waiting.delete(origin);
    for (const goOn of waiting) goOn();
  }

  /** Calls back once, with the next response from that origin. Returns a function that ends the wait. */
  next(origin: string, goOn: () => void): () => void {
    const waiting = this.#waiting.get(origin) ?? new Set();
    this.#waiting.set(origin, waiting);
    // Each call has its own entry, even with the same function.
    const entry = () => goOn();
    waiting.add(entry);
    return () => {
      waiting.delete(entry);
      if (waiting.size === 0 && this.#waiting.get(origin) === waiting) this.#waiting.delete(origin);
    };
  }
}
