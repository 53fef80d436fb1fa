import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { DatabaseUser, DocumentWrite } from '../contract.ts';

/** With this many waiting documents, or characters of their text, they are written automatically. */
const FLUSH_FROM: Amount = { documents: 1_000, characters: 4 * 1024 * 1024 };
/** How long the first of them waits. */
const MAX_WAIT_MS = 1_000;
/** With this much accepted and not written yet, clients that send more must wait. */
const FULL_FROM: Amount = { documents: 10_000, characters: 16 * 1024 * 1024 };

interface Amount {
  documents: number;
  characters: number;
}

/** The writes of one user. */
interface Portion {
  readonly user: DatabaseUser | undefined;
  readonly writes: DocumentWrite[];
}

interface DelayedWritesOptions {
  write(writes: readonly DocumentWrite[], user: DatabaseUser | undefined): Promise<unknown>;
  /** Called with the reason why writes failed as a whole. */
  onError(error: unknown): void;
  /** Throws once nothing more may be accepted. */
  mustBeOpen(): void;
}

/**
 * Documents that a client sent with `batch=ok`. They were answered with 202 and nothing is promised: they are
 * written within a second, when a thousand (or 4 MB of text) wait, or at the next flush; a conflict drops them silently. If storage
 * does not keep up, the response waits: memory holds no more than `FULL_FROM` and the last addition.
 */
export class DelayedWrites {
  readonly #options: DelayedWritesOptions;
  /** By user, since the writes are validated as that user's. */
  #waiting = new Map<string, Portion>();
  #waitingAmount: Amount = { documents: 0, characters: 0 };
  /** What waits and what is being written. */
  readonly #held: Amount = { documents: 0, characters: 0 };
  #timer: ReturnType<typeof setTimeout> | undefined;
  #roomWaiters: (() => void)[] = [];
  /** Flushes that are not complete yet: their writes may be validated before the write queue gets them. */
  readonly #writing = new Set<Promise<void>>();

  constructor(options: DelayedWritesOptions) {
    this.#options = options;
  }

  /** Adds writes; waits while there is no room. Fails as `mustBeOpen` does if the wait ends before there was any. */
  add(writes: readonly DocumentWrite[], user: DatabaseUser | undefined): MaybePromise<void> {
    if (reaches(this.#held, FULL_FROM)) return this.#addWhenThereIsRoom(writes, user);
    this.#take(writes, user);
  }

  async #addWhenThereIsRoom(writes: readonly DocumentWrite[], user: DatabaseUser | undefined): Promise<void> {
    while (reaches(this.#held, FULL_FROM)) {
      await new Promise<void>((resolve) => this.#roomWaiters.push(resolve));
      this.#options.mustBeOpen();
    }
    this.#take(writes, user);
  }

  #take(writes: readonly DocumentWrite[], user: DatabaseUser | undefined): void {
    const who = JSON.stringify([user]);
    const portion = this.#waiting.get(who) ?? { user, writes: [] };
    this.#waiting.set(who, portion);
    for (const write of writes) portion.writes.push(write);
    const characters = charactersOf(writes);
    for (const amount of [this.#waitingAmount, this.#held]) {
      amount.documents += writes.length;
      amount.characters += characters;
    }
    if (reaches(this.#waitingAmount, FLUSH_FROM)) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), MAX_WAIT_MS);
  }

  /** Whether anything was accepted that is not written yet. */
  get hasUnwritten(): boolean {
    return this.#waiting.size > 0 || this.#writing.size > 0;
  }

  /** Discards the waiting writes. */
  discard(): void {
    for (const { writes } of this.#takeWaiting()) this.#release(writes);
  }

  /** Writes what waits. Resolves when that and everything already being written is written. Never rejects: failures go to `onError`. */
  async flush(): Promise<void> {
    for (const portion of this.#takeWaiting()) {
      const written: Promise<void> = this.#write(portion).finally(() => this.#writing.delete(written));
      this.#writing.add(written);
    }
    await Promise.all(this.#writing);
  }

  async #write({ writes, user }: Portion): Promise<void> {
    try {
      await this.#options.write(writes, user);
    } catch (error) {
      this.#options.onError(error);
    } finally {
      this.#release(writes);
    }
  }

  #takeWaiting(): Iterable<Portion> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const portions = this.#waiting.values();
    this.#waiting = new Map();
    this.#waitingAmount = { documents: 0, characters: 0 };
    return portions;
  }

  /** Wakes the callers that wait for room; they check whether there is any, or nothing to wait for. */
  #release(writes: readonly DocumentWrite[]): void {
    this.#held.documents -= writes.length;
    this.#held.characters -= charactersOf(writes);
    for (const resume of this.#roomWaiters.splice(0)) resume();
  }
}

function charactersOf(writes: readonly DocumentWrite[]): number {
  let characters = 0;
  for (const { body } of writes) characters += body.length;
  return characters;
}

function reaches(amount: Amount, limit: Amount): boolean {
  return amount.documents >= limit.documents || amount.characters >= limit.characters;
}
