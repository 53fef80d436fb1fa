/** Batches are processed concurrently, a limited number at a time, and end in any order. */
import type { Sequence } from '../contract.ts';

/** Runs work concurrently, a bounded number of pieces at a time. The first failure ends all. */
export class Workers {
  readonly #most: number;
  readonly #onFailure: (failure: unknown) => void;
  readonly #active = new Set<Promise<void>>();

  constructor(most: number, onFailure: (failure: unknown) => void) {
    this.#most = Math.max(1, most);
    this.#onFailure = onFailure;
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

/** Knows what was reached without a gap: a checkpoint may say no more. */
export class BatchOrder {
  /** Everything up to here is written. */
  reached: Sequence;
  readonly #ends: { readonly seq: Sequence; isDone: boolean }[] = [];

  constructor(since: Sequence) {
    this.reached = since;
  }

  /** Whether all batches that began have ended. */
  get isEmpty(): boolean {
    return this.#ends.length === 0;
  }

  /** Begins the next batch, which goes up to `seq`. Returns a function to call when all of it is written. */
  begin(seq: Sequence): () => void {
    const end = { seq, isDone: false };
    this.#ends.push(end);
    return () => {
      end.isDone = true;
      for (let first = this.#ends[0]; first?.isDone === true; first = this.#ends[0]) {
        this.reached = first.seq;
        this.#ends.shift();
      }
    };
  }
}
