import { assert } from '../../base/shared/assert.ts';
import { PAGES_PER_EPOCH } from '../page-store.ts';

/** The highest epoch whose page numbers are exact. */
export const LAST_EPOCH = 2 ** 24 - 1;

/**
 * Page numbers of one owner, above all that the file has. They begin at epoch · 2^29, so that two owners never allocate the
 * same, even if they don't know of each other; or higher, if an earlier owner has allocated more than 2^29.
 */
export class PageAllocator {
  #next: number;

  /** `mark`: a number that is above those of all pages that the head leads to. */
  constructor(epoch: number, mark: number) {
    assert(epoch > 0 && epoch <= LAST_EPOCH, () => `epoch ${epoch} leaves no room for page numbers`);
    this.#next = Math.max(epoch * PAGES_PER_EPOCH + 1, mark);
  }

  /** The lowest number that was not allocated yet. */
  get next(): number {
    return this.#next;
  }

  /** Prevents allocating `page`, or one below: the journal names it. */
  skip(page: number): void {
    this.#next = Math.max(this.#next, page + 1);
  }

  /** Allocates `count` consecutive numbers; returns the first. */
  allocate(count = 1): number {
    const first = this.#next;
    this.#next += count;
    return first;
  }
}
