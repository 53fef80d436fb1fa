/** A map that holds a bounded number of entries: the ones that were not asked for the longest go first. */
export class RecentEntries<K, V> {
  readonly #most: () => number;
  readonly #entries = new Map<K, V>();

  /** `most` is asked each time that an entry comes. */
  constructor(most: () => number) {
    this.#most = most;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    const most = this.#most();
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= most) return;
      this.#entries.delete(oldest);
    }
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }
}
