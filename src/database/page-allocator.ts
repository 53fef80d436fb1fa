import { assert } from '../shared/assert.ts';

/** Page numbers of one owner: epoch · 2^32 + n, so that no two owners of a file give out the same. */
export class PageAllocator {
  #next: number;

  constructor(epoch: number) {
    assert(epoch > 0 && epoch < 2 ** 20, () => `epoch ${epoch} leaves no room for page numbers`);
    this.#next = epoch * 2 ** 32 + 1;
  }

  /** The lowest number that was not given out yet. */
  get next(): number {
    return this.#next;
  }

  /** Gives out `count` consecutive numbers, and the first of them back. */
  allocate(count = 1): number {
    const first = this.#next;
    this.#next += count;
    return first;
  }
}
