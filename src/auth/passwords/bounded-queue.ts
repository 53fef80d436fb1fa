/** Work of which few pieces are done at a time, and few wait. */
import { DatabaseError } from '../../errors/database-error.ts';

export class BoundedQueue {
  readonly #atOnce: number;
  readonly #mostWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(atOnce: number, mostWaiting: number) {
    this.#atOnce = atOnce;
    this.#mostWaiting = mostWaiting;
  }

  /** Does it when its turn comes, in the order of coming. Fails with `too_busy` where too many wait already. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) await this.#turn();
    else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  /** The place of whoever has just ended is handed over. */
  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#mostWaiting) {
      throw new DatabaseError('too_busy', 'Too many log-ins are under way at this moment. Try again in some seconds.');
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
