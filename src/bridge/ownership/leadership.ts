import type { Clock } from '../../shared/clock.ts';
import type { Instance } from '../contract.ts';
import { aliveLock } from '../instance.ts';
import { type HeldLock, holdLock, isHeld } from './held-lock.ts';

/**
 * Why an owner stops being it: another worker `asked`, somebody took the lock because this one gave no sign of life
 * (`stolen`: nothing may be written any more), or its host is `closing`.
 */
export type LeaveReason = 'asked' | 'stolen' | 'closing';

export interface TermParts {
  readonly instance: Instance;
  readonly locks: LockManager;
  readonly clock: Clock;
  /** Begins to listen to requests. Called before anybody can learn of the owner. */
  listen(ownerId: string): void;
  /** Takes hold of the storage. Called again with the same id after it failed. */
  become(ownerId: string): Promise<void>;
  /** Lets go of the storage, and stops listening. Called once, also where `become` has not succeeded or is still under way. */
  leave(why: LeaveReason): Promise<void>;
  /** Called when others can learn of the owner: it holds its locks, and listens. */
  onRisen(): void;
  /** Called when the storage was taken hold of. */
  onReady(): void;
  /** Called with each failure of `become`. */
  onTrouble(error: unknown): void;
}

/** How often the term looks at the clock. */
const TICK_MS = 250;

/** A gap in the clock from which on this worker may have been presumed dead. Nobody is in less than three times that. */
const GAP_MS = 1000;

/** Pauses between attempts to take hold of a storage that somebody else blocks. */
const RETRY_MS: readonly number[] = [50, 100, 250, 500, 1000];

/**
 * One stretch of ownership, from the grant of the owner's lock to its release. Holds the lock of the owner's own life from before the
 * storage is opened until it was let go, so that whoever waits for an answer of this owner learns of its end.
 */
export class OwnerTerm {
  readonly ownerId: string = crypto.randomUUID();
  readonly #parts: TermParts;
  readonly #ended: Promise<LeaveReason>;
  #end: (why: LeaveReason) => void = () => {};
  #isEnded = false;
  #isReady = false;
  #lastTick = 0;

  constructor(parts: TermParts) {
    this.#parts = parts;
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Whether the storage was taken hold of, and not let go yet. */
  get isReady(): boolean {
    return this.#isReady && !this.#isEnded;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Resolves when the storage was let go and the owner's lock may be released. */
  async run(ownerLock: HeldLock): Promise<void> {
    const { instance, locks, leave } = this.#parts;
    void ownerLock.stolen.then(() => this.end('stolen'));
    this.#lastTick = this.#parts.clock.monotonic();
    this.#parts.listen(this.ownerId);
    const held = holdLock(locks, aliveLock(instance, this.ownerId), {}).catch(() => undefined);
    // Locks are granted in the order in which they were asked for, so the storage need not wait to be told.
    void this.#become();
    const life = await held;
    if (life === undefined) this.end('closing');
    else this.#parts.onRisen();
    void life?.stolen.then(() => this.end('stolen'));
    const ticks = setInterval(() => this.#tick(), TICK_MS);
    try {
      await leave(await this.#ended);
    } finally {
      clearInterval(ticks);
      life?.release();
    }
  }

  /** Ends the term. Only the first reason counts. */
  end(why: LeaveReason): void {
    this.#isEnded = true;
    this.#end(why);
  }

  /**
   * Whether the storage is still this worker's. It is for sure as long as the clock shows no gap; after one, as after a thaw, the
   * lock manager is asked before anything is answered.
   */
  check(): boolean | Promise<boolean> {
    if (this.#isEnded) return false;
    return this.#parts.clock.monotonic() - this.#lastTick < GAP_MS || this.verify();
  }

  /** As `check`, and asks in any case. */
  async verify(): Promise<boolean> {
    return (await this.holds()) && !this.#isEnded;
  }

  /** Asks the lock manager whether nobody else can have the storage, also while it is let go of. A term whose lock is gone ends. */
  async holds(): Promise<boolean> {
    const { instance, locks, clock } = this.#parts;
    const asked = clock.monotonic();
    // Whoever steals the storage takes this lock first.
    const holds = await isHeld(locks, aliveLock(instance, this.ownerId)).catch(() => undefined);
    if (holds === false) this.end('stolen');
    else if (holds) this.#lastTick = asked;
    // A manager that gives no answer, as in a page on its way out, leaves open whose it is.
    return holds === true;
  }

  #tick(): void {
    const now = this.#parts.clock.monotonic();
    if (now - this.#lastTick < GAP_MS) this.#lastTick = now;
    else void this.verify();
  }

  async #become(): Promise<void> {
    for (let attempt = 0; !this.#isEnded; attempt++) {
      try {
        await this.#parts.become(this.ownerId);
        if (this.#isEnded) return;
        this.#isReady = true;
        this.#parts.onReady();
        return;
      } catch (error) {
        if (this.#isEnded) return;
        this.#parts.onTrouble(error);
        await Promise.race([pause(RETRY_MS[attempt] ?? 1000), this.#ended]);
      }
    }
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
