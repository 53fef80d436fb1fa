/** Batches are processed concurrently, and end in any order. A checkpoint may only say what was reached without a gap. */
import type { Sequence } from '../contract.ts';

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
