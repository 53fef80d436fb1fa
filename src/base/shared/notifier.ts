/** Tells the listeners what happened, in the order in which they were added. */
export class Notifier<T> {
  readonly #listeners = new Set<(what: T) => void>();

  notify(what: T): void {
    for (const listener of this.#listeners) listener(what);
  }

  /** Returns the function that removes the listener. */
  listen(listener: (what: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
