/** Tells those who listen what happened, in the order in which they came. */
export class Notifier<T> {
  readonly #listeners = new Set<(what: T) => void>();

  notify(what: T): void {
    for (const listener of this.#listeners) listener(what);
  }

  /** Gives the function that ends it. */
  listen(listener: (what: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
