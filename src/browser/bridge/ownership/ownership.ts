/**
 * One period in which a worker owns the storage, from the grant of the owner's lock to its release:
 *
 *     lock granted ── listen ──► announced ── storage opened ──► ready ── end ──► leaving ── leave ──► over
 *                                    └──────────────── end ─────────────────────────▲
 *
 * It listens to requests before others can learn of it, and lets them wait for the storage. It holds a lock of its own life from before
 * the storage is opened until the storage is released, so that all that wait for a response of this owner learn of its end by that lock.
 */
import { type Clock, pause } from '../../../base/shared/clock.ts';
import type { Instance } from '../contract.ts';
import { aliveLock } from '../instance.ts';
import { type HeldLock, holdLock, isHeld } from './held-lock.ts';

/**
 * Why an owner stops being it: another worker `asked`, another worker took the lock because this owner gave no sign of life
 * (`stolen`: nothing more may be written), or its host is `closing`.
 */
export type LeaveReason = 'asked' | 'stolen' | 'closing';

export interface OwnershipOptions {
  readonly instance: Instance;
  readonly locks: LockManager;
  readonly clock: Clock;
  /** Starts to listen to requests. Called before others can learn of the owner. */
  listen(ownerId: string): void;
  /** Opens the storage. Called again with the same id after it failed. */
  become(ownerId: string): Promise<void>;
  /** Releases the storage, and stops listening. Called once, even if `become` has not succeeded or is still in progress. */
  leave(why: LeaveReason): Promise<void>;
  /** Called when others can learn of the owner: it holds its locks, and listens. */
  onAnnounceable(): void;
  /** Called when the storage was opened. */
  onReady(): void;
  /** Called with each failure of `become`. */
  onOutage(error: unknown): void;
}

/** How often the clock is compared with the time of the last comparison. */
const TICK_MS = 250;

/** After a gap in the clock of this length others may have taken this worker for dead. They take at least three times as long. */
const GAP_MS = 1000;

/** Pauses between attempts to open a storage that another client blocks. */
const RETRY_MS: readonly number[] = [50, 100, 250, 500, 1000];

export class Ownership {
  readonly ownerId: string = crypto.randomUUID();
  readonly #options: OwnershipOptions;
  readonly #ended: Promise<LeaveReason>;
  #end: (why: LeaveReason) => void = () => {};
  #isEnded = false;
  #isReady = false;
  #lastTick = 0;

  constructor(options: OwnershipOptions) {
    this.#options = options;
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Whether the storage was opened, and the end has not come yet. */
  get isReady(): boolean {
    return this.#isReady && !this.#isEnded;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Resolves when the storage was released and the owner's lock may be released. */
  async run(ownerLock: HeldLock): Promise<void> {
    const { instance, locks, clock, listen, leave, onAnnounceable } = this.#options;
    void ownerLock.stolen.then(() => this.end('stolen'));
    this.#lastTick = clock.monotonic();
    listen(this.ownerId);
    const held = holdLock(locks, aliveLock(instance, this.ownerId), {}).catch(() => undefined);
    // Locks are granted in the order of their requests, so the storage can be opened before this one is granted.
    void this.#become();
    const life = await held;
    if (life === undefined) this.end('closing');
    else onAnnounceable();
    void life?.stolen.then(() => this.end('stolen'));
    const ticks = setInterval(() => this.#tick(), TICK_MS);
    try {
      await leave(await this.#ended);
    } finally {
      clearInterval(ticks);
      life?.release();
    }
  }

  /** Only the first reason counts. */
  end(why: LeaveReason): void {
    this.#isEnded = true;
    this.#end(why);
  }

  /**
   * Whether the storage still belongs to this worker. That is certain as long as the clock shows no gap; after one, as after a thaw, the
   * lock manager is asked before anything is answered.
   */
  check(): boolean | Promise<boolean> {
    if (this.#isEnded) return false;
    return this.#options.clock.monotonic() - this.#lastTick < GAP_MS || this.verify();
  }

  /** Like `check`, but always asks the lock manager. */
  async verify(): Promise<boolean> {
    return (await this.holdsLock()) && !this.#isEnded;
  }

  /**
   * Asks the lock manager whether no one else can have the storage, even while this worker releases it. An ownership whose lock is gone
   * ends.
   */
  async holdsLock(): Promise<boolean> {
    const { instance, locks, clock } = this.#options;
    const asked = clock.monotonic();
    // A worker that steals the storage takes this lock first.
    const holds = await isHeld(locks, aliveLock(instance, this.ownerId)).catch(() => undefined);
    if (holds === false) this.end('stolen');
    else if (holds) this.#lastTick = asked;
    // If the manager does not answer, as in a page that is closing, it is unknown who owns the storage.
    return holds === true;
  }

  #tick(): void {
    const now = this.#options.clock.monotonic();
    if (now - this.#lastTick < GAP_MS) this.#lastTick = now;
    else void this.verify();
  }

  async #become(): Promise<void> {
    for (let attempt = 0; !this.#isEnded; attempt++) {
      try {
        await this.#options.become(this.ownerId);
        if (this.#isEnded) return;
        this.#isReady = true;
        this.#options.onReady();
        return;
      } catch (error) {
        if (this.#isEnded) return;
        this.#options.onOutage(error);
        await Promise.race([pause(RETRY_MS[attempt] ?? 1000), this.#ended]);
      }
    }
  }
}
