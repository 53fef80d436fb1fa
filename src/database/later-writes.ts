import type { MaybePromise } from '../shared/maybe-promise.ts';
import type { DocumentWrite } from './contract.ts';

/** Documents that wait, and characters of their text, before they are written by themselves. */
const FLUSH_FROM: Amount = { documents: 1_000, characters: 4 * 1024 * 1024 };
/** How long the first of them waits. */
const MAX_WAIT_MS = 1_000;
/** With this much taken in and not written yet, those who bring more have to wait. */
const FULL_FROM: Amount = { documents: 10_000, characters: 16 * 1024 * 1024 };

interface Amount {
  documents: number;
  characters: number;
}

export interface LaterWritesOptions {
  write(writes: readonly DocumentWrite[]): Promise<unknown>;
  /** Told of writes that failed as a whole. */
  onError(error: unknown): void;
  /** Throws once nothing more may be taken in. */
  mustBeOpen(): void;
}

/**
 * Documents that a client handed over with `batch=ok`. They were answered with 202 and nothing is promised: they are
 * written within a second, when a thousand (or 4 MB of text) wait, or at the next flush; a conflict drops them silently. Where storage
 * does not keep up, the answer waits: memory holds no more than `FULL_FROM` and the last that was brought.
 */
export class LaterWrites {
  readonly #options: LaterWritesOptions;
  #waiting: DocumentWrite[] = [];
  /** How much text `#waiting` has. */
  #waitingCharacters = 0;
  /** What waits and what is being written. */
  readonly #held: Amount = { documents: 0, characters: 0 };
  #timer: ReturnType<typeof setTimeout> | undefined;
  #roomWaiters: (() => void)[] = [];
  /** What was handed over and is not written yet: it may be judged before the writer gets it. */
  readonly #writing = new Set<Promise<void>>();

  constructor(options: LaterWritesOptions) {
    this.#options = options;
  }

  /** Waits while there is no room. Fails as `mustBeOpen` does where that ends before there was any. */
  add(writes: readonly DocumentWrite[]): MaybePromise<void> {
    if (reaches(this.#held, FULL_FROM)) return this.#addWhenThereIsRoom(writes);
    this.#take(writes);
  }

  async #addWhenThereIsRoom(writes: readonly DocumentWrite[]): Promise<void> {
    while (reaches(this.#held, FULL_FROM)) {
      await new Promise<void>((resolve) => this.#roomWaiters.push(resolve));
      this.#options.mustBeOpen();
    }
    this.#take(writes);
  }

  #take(writes: readonly DocumentWrite[]): void {
    const characters = charactersOf(writes);
    for (const write of writes) this.#waiting.push(write);
    this.#waitingCharacters += characters;
    this.#held.documents += writes.length;
    this.#held.characters += characters;
    const waiting = { documents: this.#waiting.length, characters: this.#waitingCharacters };
    if (reaches(waiting, FLUSH_FROM)) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), MAX_WAIT_MS);
  }

  /** Whether anything was taken in that is not written yet. */
  get hasUnwritten(): boolean {
    return this.#waiting.length > 0 || this.#writing.size > 0;
  }

  /** Forgets what waits. */
  discard(): void {
    this.#release(this.#takeWaiting());
  }

  /** Writes what waits; resolves when that and all that was being written is. Never rejects: nobody is left to be told but the log. */
  async flush(): Promise<void> {
    const writes = this.#takeWaiting();
    if (writes.length > 0) {
      const written: Promise<void> = this.#write(writes).finally(() => this.#writing.delete(written));
      this.#writing.add(written);
    }
    await Promise.all(this.#writing);
  }

  async #write(writes: readonly DocumentWrite[]): Promise<void> {
    try {
      await this.#options.write(writes);
    } catch (error) {
      this.#options.onError(error);
    } finally {
      this.#release(writes);
    }
  }

  #takeWaiting(): readonly DocumentWrite[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const writes = this.#waiting;
    this.#waiting = [];
    this.#waitingCharacters = 0;
    return writes;
  }

  /** Those who wait for room look for themselves whether there is any, or whether there is nothing to wait for. */
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
