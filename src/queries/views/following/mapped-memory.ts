import type { FollowedIndex } from './followed-index.ts';

/** Bounds the memory of what followed indexes have mapped. When it is used up, the indexes that mapped least recently give up theirs. */
export class MappedMemory {
  readonly #maxBytes: number;
  /** In the order of their last update. */
  readonly #bytes = new Map<FollowedIndex, number>();
  #total = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Notes how many bytes an index takes now. */
  note(index: FollowedIndex, bytes: number): void {
    this.forget(index);
    if (bytes > 0) this.#bytes.set(index, bytes);
    this.#total += bytes;
    for (const oldest of this.#bytes.keys()) {
      if (this.#total <= this.#maxBytes || oldest === index) return;
      this.forget(oldest);
      void oldest.forgetMapped();
    }
  }

  forget(index: FollowedIndex): void {
    this.#total -= this.#bytes.get(index) ?? 0;
    this.#bytes.delete(index);
  }
}
