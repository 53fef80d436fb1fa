import { type BudgetedEntry, CacheBudget } from '../../shared/cache-budget.ts';

/**
 * What a file's pages were last read as, bounded by bytes. Owns no truth: whatever is in here can be read again.
 */

/** What is given up first has the lowest number. */
const RANKS = { body: 0, leaf: 1, inner: 2 } as const;

export type CacheRank = keyof typeof RANKS;

class CacheEntry implements BudgetedEntry {
  readonly page: number;
  readonly value: unknown;
  readonly bytes: number;
  readonly rank: number;
  isUsed = false;
  /** Those of its cache, by page. */
  readonly #siblings: Map<number, CacheEntry>;

  constructor(
    page: number,
    value: unknown,
    size: { bytes: number; rank: CacheRank },
    siblings: Map<number, CacheEntry>,
  ) {
    this.page = page;
    this.value = value;
    // Whole numbers, so that sums stay true.
    this.bytes = Math.ceil(size.bytes);
    this.rank = RANKS[size.rank];
    this.#siblings = siblings;
  }

  evict(): void {
    this.#siblings.delete(this.page);
  }
}

/**
 * One file's part of a budget. Bodies go before leaves, leaves before inner nodes, whichever file of the budget they are
 * of; how else is told is the budget's matter. What was just set always stays, unless it alone is too large.
 */
export class PageCache {
  readonly #budget: CacheBudget;
  readonly #entries = new Map<number, CacheEntry>();
  #isClosed = false;

  /** `budget`: shared with other files, or the number of bytes that this one has for itself. */
  constructor(budget: CacheBudget | number) {
    this.#budget = typeof budget === 'number' ? new CacheBudget(budget) : budget;
  }

  /** What all files of the budget may take. */
  get maxBytes(): number {
    return this.#budget.maxBytes;
  }

  /** Sum of what its entries were said to take; counted when asked for. */
  get bytes(): number {
    let bytes = 0;
    for (const entry of this.#entries.values()) bytes += entry.bytes;
    return bytes;
  }

  /** The value under this page number, or undefined. The caller knows what kind of value it put there. */
  get(page: number): unknown {
    const entry = this.#entries.get(page);
    if (entry === undefined) return undefined;
    entry.isUsed = true;
    return entry.value;
  }

  /** Puts a value in, in place of an earlier one. One that is larger than the whole budget is not kept. */
  set(page: number, value: unknown, bytes: number, rank: CacheRank): void {
    this.delete(page);
    if (this.#isClosed) return;
    const entry = new CacheEntry(page, value, { bytes, rank }, this.#entries);
    if (this.#budget.admit(entry)) this.#entries.set(page, entry);
  }

  delete(page: number): void {
    const entry = this.#entries.get(page);
    if (entry === undefined) return;
    this.#entries.delete(page);
    this.#budget.release(entry);
  }

  clear(): void {
    for (const entry of this.#entries.values()) this.#budget.release(entry);
    this.#entries.clear();
  }

  /** Gives all its room back and keeps nothing any more: reads that still come to an end find nothing in here. */
  close(): void {
    this.#isClosed = true;
    this.clear();
  }
}
