/** Runs work concurrently, a bounded number of pieces at a time. The first failure ends all. */

export class Workers {
  readonly #most: number;
  readonly #onFailure: (failure: unknown) => void;
  readonly #active = new Set<Promise<void>>();

  constructor(most: number, onFailure: (failure: unknown) => void) {
    this.#most = Math.max(1, most);
    this.#onFailure = onFailure;
  }

  get isIdle(): boolean {
    return this.#active.size === 0;
  }

  /** Begins the work; resolves when there is room for more. */
  async begin(work: () => Promise<void>): Promise<void> {
    const running: Promise<void> = work()
      .catch(this.#onFailure)
      .finally(() => this.#active.delete(running));
    this.#active.add(running);
    if (this.#active.size >= this.#most) await Promise.race(this.#active);
  }

  /** Resolves when all work has ended. */
  async end(): Promise<void> {
    await Promise.all(this.#active);
  }
}
