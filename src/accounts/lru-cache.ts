/** A map that holds a bounded number of entries: the least recently used ones are dropped first. */
export class LruCache<K, V> {
  readonly #most: () => number;
  readonly #entries = new Map<K, V>();
  /** The latest key. A busy client reads it repeatedly; it need not be moved then. */
  #latest: K | undefined;

  /** `most` is called each time an entry is added. */
  constructor(most: () => number) {
    this.#most = most;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined || key === this.#latest) return value;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#latest = key;
    return value;
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#latest = key;
    const most = this.#most();
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= most) return;
      this.#entries.delete(oldest);
    }
  }

  delete(key: K): void {
    if (key === this.#latest) this.#latest = undefined;
    this.#entries.delete(key);
  }

  /** Drops the entries for which the test is false. */
  keepWhere(test: (value: V) => boolean): void {
    for (const [key, value] of this.#entries) if (!test(value)) this.delete(key);
  }
}
