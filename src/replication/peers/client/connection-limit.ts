/** Limits the concurrent requests to a peer: fewer while the peer reports that there are too many. */

/** Successes after which a peer that had reported so gets one more request at a time. */
const SUCCESSES_FOR_MORE = 20;

export class ConnectionLimit {
  readonly #most: number;
  #limit: number;
  #active = 0;
  #successes = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#most = Math.max(1, most);
    this.#limit = this.#most;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Waits until the request may be sent; `release` has to be called when it is over. */
  async acquire(): Promise<void> {
    if (this.#active < this.#limit) this.#active++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    this.#active--;
    while (this.#active < this.#limit) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#active++;
      next();
    }
  }

  succeeded(): void {
    if (this.#limit >= this.#most) return;
    this.#successes++;
    if (this.#successes < SUCCESSES_FOR_MORE) return;
    this.#successes = 0;
    this.#limit++;
  }

  /** The peer is overloaded. */
  slowDown(): void {
    this.#successes = 0;
    this.#limit = Math.max(1, Math.floor(this.#limit / 2));
  }
}
