/**
 * Runs password computations, few at a time and with a bounded queue. Checks and new hashes have separate queues and take
 * turns, so that neither blocks the other; within each queue the callers take turns, so that a caller with many requests delays only itself.
 */
import { DatabaseError, RetryLaterError } from '../../base/errors/database-error.ts';

/** Whether a password is checked, or is hashed to be stored. */
export type PasswordWork = 'check' | 'hash';

interface Share {
  readonly waiting: Map<string, (() => void)[]>;
  count: number;
}

interface QueueBounds {
  readonly atOnce: number;
  /** In each queue. */
  readonly mostWaiting: number;
  /** Of one caller, in each queue. */
  readonly mostOfOne: number;
}

export class PasswordQueue {
  readonly #bounds: QueueBounds;
  readonly #shares: Readonly<Record<PasswordWork, Share>> = { check: emptyShare(), hash: emptyShare() };
  #last: PasswordWork = 'hash';
  #running = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  /**
   * Runs the work when its turn comes. `asker`: identifies the caller, such as an address. Fails with `too_many_requests` if that caller has too many
   * waiting, and with `too_busy` if all callers together have.
   */
  async run<T>(kind: PasswordWork, asker: string, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#bounds.atOnce) await this.#turn(this.#shares[kind], asker);
    else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#next();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  /** Waits for a place, which work that has ended hands over. */
  #turn(share: Share, asker: string): Promise<void> {
    const own = share.waiting.get(asker) ?? [];
    if (own.length >= this.#bounds.mostOfOne) throw tooMany();
    if (share.count >= this.#bounds.mostWaiting) throw tooBusy();
    share.waiting.set(asker, own);
    share.count += 1;
    return new Promise((resolve) => own.push(resolve));
  }

  #next(): (() => void) | undefined {
    const other: PasswordWork = this.#last === 'check' ? 'hash' : 'check';
    const kind = this.#shares[other].count > 0 ? other : this.#last;
    const share = this.#shares[kind];
    const [first] = share.waiting;
    if (first === undefined) return undefined;
    const [asker, own] = first;
    const next = own.shift();
    // After all other callers.
    share.waiting.delete(asker);
    if (own.length > 0) share.waiting.set(asker, own);
    share.count -= 1;
    this.#last = kind;
    return next;
  }
}

function emptyShare(): Share {
  return { waiting: new Map(), count: 0 };
}

function tooBusy(): DatabaseError {
  return new DatabaseError(
    'too_busy',
    'Too many passwords are being hashed at the moment. Try again in a few seconds.',
  );
}

function tooMany(): RetryLaterError {
  const reason = 'Too many passwords from this address are waiting to be hashed. Try again in a few seconds.';
  return new RetryLaterError('too_many_requests', reason, 5);
}
