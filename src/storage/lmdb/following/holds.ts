import type { Transaction } from 'lmdb';
import type { Environment } from '../environment.ts';
import type { FileEnvironment } from '../open-environments.ts';

/**
 * Transactions that one follower holds of a file at most. Each takes one of the 250 places of readers in LMDB's lock file
 * (environment.ts), as does each process that reads. So there is room for 14 followers that hold as many as they may.
 */
const MAX_HELD = 16;

interface Held {
  readonly environment: Environment;
  readonly transaction: Transaction;
  readonly letClose: () => void;
  users: number;
}

/**
 * The read transactions that a follower holds: LMDB keeps every page that they can read, and uses no space again that was in use then. What a
 * process that has died held ends when lmdb-js next looks for such processes: when any process opens the data file, and ten minutes after the
 * owner's last look, with its next commit to LMDB.
 */
export class Holds {
  readonly #maxHeld: number;
  /** Oldest first. */
  readonly #held: Held[] = [];

  constructor(maxHeld = MAX_HELD) {
    this.#maxHeld = maxHeld;
  }

  /** Holds what this turn's transaction reads, until the returned function is called, or the hold is given up. */
  hold(file: FileEnvironment): () => void {
    const environment = file.now;
    const transaction = environment.root.useReadTransaction();
    const last = this.#held.at(-1);
    if (last?.transaction === transaction) {
      transaction.done();
      last.users += 1;
      return this.#releaseOf(last);
    }
    const held = { environment, transaction, letClose: file.hold(), users: 1 };
    this.#held.push(held);
    if (this.#held.length > this.#maxHeld) this.giveUpOldest();
    return this.#releaseOf(held);
  }

  /** Calls `read` with each held transaction, from the newest one, until it returns something. */
  find<T>(read: (environment: Environment, transaction: Transaction) => T | undefined): T | undefined {
    for (let at = this.#held.length - 1; at >= 0; at--) {
      const held = this.#held[at];
      const found = held && read(held.environment, held.transaction);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Returns false if there is none. */
  giveUpOldest(): boolean {
    const oldest = this.#held[0];
    if (oldest !== undefined) this.#end(oldest);
    return oldest !== undefined;
  }

  end(): void {
    while (this.giveUpOldest());
  }

  #releaseOf(held: Held): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      held.users -= 1;
      if (held.users === 0) this.#end(held);
    };
  }

  #end(held: Held): void {
    const at = this.#held.indexOf(held);
    // It was given up.
    if (at < 0) return;
    this.#held.splice(at, 1);
    held.transaction.done();
    held.letClose();
  }
}
