import { type BudgetedEntry, CacheBudget } from '../../base/shared/cache-budget.ts';

/** Entries of a lower number are given up first. */
const RANKS = { body: 0, leaf: 1, inner: 2 } as const;

type CacheRank = keyof typeof RANKS;

class CacheEntry implements BudgetedEntry {
  readonly page: number;
  readonly value: unknown;
  readonly bytes: number;
  readonly rank: number;
  isUsed = false;
  /** The entries of its cache, by page. */
  readonly #siblings: Map<number, CacheEntry>;

  constructor(
    page: number,
    value: unknown,
    size: { bytes: number; rank: CacheRank },
    siblings: Map<number, CacheEntry>,
  ) {
    this.page = page;
    this.value = value;
    // Whole numbers, so that sums stay exact.
    this.bytes = Math.ceil(size.bytes);
    this.rank = RANKS[size.rank];
    this.#siblings = siblings;
  }

  evict(): void {
    this.#siblings.delete(this.page);
  }
}

/**
 * Caches what the pages of one file were read as: bytes of bodies, decoded tree nodes. Everything in it can be read again.
 * Files share a budget. Bodies are given up before leaves and leaves before inner nodes, whichever file they are of; within a rank
 * the budget decides (`CacheBudget`). What was just set always stays, unless it alone is larger than the budget.
 */
export class PageCache {
  readonly #budget: CacheBudget;
  readonly #entries = new Map<number, CacheEntry>();
  #isClosed = false;

  /** `budget`: shared with other files, or the number of bytes for this one alone. */
  constructor(budget: CacheBudget | number) {
    this.#budget = typeof budget === 'number' ? new CacheBudget(budget) : budget;
  }

  /** Returns the value under this page number, or undefined. The caller knows what kind of value it put there. */
  get(page: number): unknown {
    const entry = this.#entries.get(page);
    if (entry === undefined) return undefined;
    entry.isUsed = true;
    return entry.value;
  }

  /** Sets a value, replacing an earlier one. A value that is larger than the whole budget is not kept. */
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

  /** Gives back all of its room. From then on it keeps nothing, not even the results of running reads. */
  close(): void {
    this.#isClosed = true;
    for (const entry of this.#entries.values()) this.#budget.release(entry);
    this.#entries.clear();
  }
}
