/** Batches are dealt with side by side, and come to their ends in any order. A checkpoint may only say what was reached without a gap. */
import type { Sequence } from '../contract.ts';

export class BatchOrder {
  /** All up to here is written. */
  reached: Sequence;
  readonly #ends: { readonly seq: Sequence; isDone: boolean }[] = [];

  constructor(since: Sequence) {
    this.reached = since;
  }

  /** Whether all batches that began have come to their end. */
  get isEmpty(): boolean {
    return this.#ends.length === 0;
  }

  /** Begins the next batch, which goes up to `seq`. Gives what has to be called when all of it is written. */
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
