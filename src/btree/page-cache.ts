/**
 * What a file's pages were last read as, bounded by bytes. Owns no truth: whatever is in here can be read again.
 */

/** What is given up first stands first. */
const EVICTION_ORDER = ['body', 'leaf', 'inner'] as const;

export type CacheRank = (typeof EVICTION_ORDER)[number];

interface CacheEntry {
  readonly page: number;
  readonly value: unknown;
  readonly bytes: number;
  readonly rank: CacheRank;
  /** Read since it was last considered for eviction. */
  used: boolean;
}

/**
 * Bounded by the bytes that its users state. Bodies go before leaves, leaves before inner nodes; within a rank the clock
 * algorithm decides (first in, first out, with another round for what was read meanwhile), so that `get` costs one
 * look-up and a scan does not drive out what is in use. What was just set always stays, unless it alone is too large.
 */
export class PageCache {
  readonly maxBytes: number;
  readonly #entries = new Map<number, CacheEntry>();
  readonly #queues: Readonly<Record<CacheRank, Map<number, CacheEntry>>> = {
    body: new Map(),
    leaf: new Map(),
    inner: new Map(),
  };
  #bytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Sum of what its entries were said to take. Never above `maxBytes`. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The value under this page number, or undefined. The caller knows what kind of value it put there. */
  get(page: number): unknown {
    const entry = this.#entries.get(page);
    if (entry === undefined) return undefined;
    entry.used = true;
    return entry.value;
  }

  /** Puts a value in, in place of an earlier one. One that is larger than the whole cache is not kept. */
  set(page: number, value: unknown, bytes: number, rank: CacheRank): void {
    this.delete(page);
    if (bytes > this.maxBytes) return;
    this.#makeRoom(this.maxBytes - bytes);
    const entry = { page, value, bytes, rank, used: false };
    this.#entries.set(page, entry);
    this.#queues[rank].set(page, entry);
    this.#bytes += bytes;
  }

  delete(page: number): void {
    const entry = this.#entries.get(page);
    if (entry !== undefined) this.#remove(entry);
  }

  clear(): void {
    this.#entries.clear();
    for (const rank of EVICTION_ORDER) this.#queues[rank].clear();
    this.#bytes = 0;
  }

  #remove(entry: CacheEntry): void {
    this.#entries.delete(entry.page);
    this.#queues[entry.rank].delete(entry.page);
    this.#bytes -= entry.bytes;
  }

  #makeRoom(target: number): void {
    for (const rank of EVICTION_ORDER) {
      if (this.#bytes <= target) return;
      this.#evictFrom(this.#queues[rank], target);
    }
  }

  /** Ends: an entry that gets another round is no longer marked as used when it comes up again. */
  #evictFrom(queue: Map<number, CacheEntry>, target: number): void {
    for (const entry of queue.values()) {
      if (this.#bytes <= target) return;
      if (!entry.used) {
        this.#remove(entry);
        continue;
      }
      entry.used = false;
      queue.delete(entry.page);
      queue.set(entry.page, entry);
    }
  }
}
