import { must } from './assert.ts';

/** One bound on the bytes of several caches: how much they hold together, and what is given up first. */

/** Something that a cache keeps. */
export interface BudgetedEntry {
  readonly bytes: number;
  /** A whole number from 0 up. Lower ranks are given up first. */
  readonly rank: number;
  /** Whether it was read since it was last considered for eviction. Set by its cache, unset here. */
  isUsed: boolean;
  /** Tells its cache that it is evicted. */
  evict(): void;
}

/** Once in this many times that room is made, the higher ranks are checked, too. */
const AGED_EVERY = 16;

/**
 * Room for entries of any number of caches, shared by use: the cache that is read most keeps most, and a cache that no one reads
 * any more loses all it has. Lower ranks go before higher ones; within a rank the clock algorithm decides (first in, first
 * out, with another round for what was read meanwhile), so that reading costs its cache one look-up and a scan does not
 * drive out what is in use. Now and then the oldest entry of each higher rank is checked, too, and goes if no one has read
 * it since the last time: otherwise an idle cache would keep its high ranks forever.
 */
export class CacheBudget {
  #maxBytes: number;
  /** By rank; the oldest first. */
  readonly #queues: Set<BudgetedEntry>[] = [];
  #bytes = 0;
  #timesMadeRoom = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Changes how much the entries may take together; if that is less than they take now, some are evicted at once. */
  resize(maxBytes: number): void {
    this.#maxBytes = maxBytes;
    if (this.#bytes > maxBytes) this.#makeRoom(maxBytes);
  }

  get maxBytes(): number {
    return this.#maxBytes;
  }

  /** Sum of what the entries were said to take. Never above `maxBytes`. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Takes an entry in, at the expense of others if there is no room for it. Returns false, and does nothing, if it
   * alone is larger than the whole budget.
   */
  admit(entry: BudgetedEntry): boolean {
    if (entry.bytes > this.#maxBytes) return false;
    const target = this.#maxBytes - entry.bytes;
    if (this.#bytes > target) this.#makeRoom(target);
    this.#queue(entry.rank).add(entry);
    this.#bytes += entry.bytes;
    return true;
  }

  /** Gives back the room of an entry that its cache forgets; does nothing if it has none. */
  release(entry: BudgetedEntry): void {
    if (this.#queue(entry.rank).delete(entry)) this.#bytes -= entry.bytes;
  }

  #queue(rank: number): Set<BudgetedEntry> {
    while (this.#queues.length <= rank) this.#queues.push(new Set());
    return must(this.#queues[rank]);
  }

  #makeRoom(target: number): void {
    this.#timesMadeRoom += 1;
    if (this.#timesMadeRoom % AGED_EVERY === 0) this.#age();
    for (const queue of this.#queues) {
      if (this.#bytes <= target) return;
      this.#evictFrom(queue, target);
    }
  }

  #age(): void {
    for (const queue of this.#queues.slice(1)) {
      const [oldest] = queue;
      if (oldest !== undefined) this.#askAgain(oldest, queue);
    }
  }

  /** Terminates: an entry that gets another round is no longer marked as used when it comes up again. */
  #evictFrom(queue: Set<BudgetedEntry>, target: number): void {
    for (const entry of queue) {
      if (this.#bytes <= target) return;
      this.#askAgain(entry, queue);
    }
  }

  #askAgain(entry: BudgetedEntry, queue: Set<BudgetedEntry>): void {
    queue.delete(entry);
    if (entry.isUsed) {
      entry.isUsed = false;
      queue.add(entry);
      return;
    }
    this.#bytes -= entry.bytes;
    entry.evict();
  }
}
