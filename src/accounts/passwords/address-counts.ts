/** Counts costly operations by address, and slows down addresses with many: a number of them is free, then one more each second. */
import { RetryLaterError } from '../../base/errors/database-error.ts';
import type { Clock } from '../../base/shared/clock.ts';

const MS_PER_ONE = 1_000;
/** Addresses that are remembered; the least recently counted ones are dropped first. */
const MAX_REMEMBERED = 10_000;

interface Count {
  count: number;
  /** When it was last counted, by the monotonic clock. */
  at: number;
}

export class AddressCounts {
  readonly #clock: Clock;
  readonly #free: number;
  readonly #counts = new Map<string, Count>();

  constructor(clock: Clock, free: number) {
    this.#clock = clock;
    this.#free = free;
  }

  get size(): number {
    return this.#counts.size;
  }

  /** Returns the milliseconds until one more is permitted; 0 or less: now. `network`: see `base/system/network-of.ts`. */
  wait(network: string): number {
    return Math.ceil((this.#current(network).count + 1 - this.#free) * MS_PER_ONE);
  }

  /** Counts one. Returns a function that takes it back. */
  add(network: string): () => void {
    const current = this.#current(network);
    current.count += 1;
    remember(this.#counts, network, current, MAX_REMEMBERED);
    return () => {
      current.count -= 1;
    };
  }

  #current(network: string): Count {
    const now = this.#clock.monotonic();
    const known = this.#counts.get(network) ?? { count: 0, at: now };
    known.count = Math.max(0, known.count - (now - known.at) / MS_PER_ONE);
    known.at = now;
    return known;
  }
}

/** Adds an entry as the last one, and drops the first if there are more than `most`. */
export function remember<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

export function tooMany(what: string, waitMs: number): RetryLaterError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new RetryLaterError('too_many_requests', `${what} Try again in ${seconds} s.`, seconds);
}
