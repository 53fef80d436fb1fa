/**
 * Takes part in who owns the storage of an instance (docs/internals.md#the-browser-host). At most one worker at a time holds the lock; what
 * makes a stale one harmless, where the lock was stolen from it while it was frozen, is the fence in the storage.
 */
import { type Clock, systemClock } from '../../shared/clock.ts';
import type { Instance } from '../contract.ts';
import { aliveLock, channelName, ownerLock } from '../instance.ts';
import { type Carrier, type Payload, PROTOCOL, type ToAll } from '../wire/wire.ts';
import { asToAll } from '../wire/wire-decoding.ts';
import { isSilent } from './failure-detector.ts';
import { type HeldLock, holdLock } from './held-lock.ts';
import { type LeaveReason, OwnerTerm, pause } from './leadership.ts';

export type { LeaveReason };

export interface OwnershipOptions {
  readonly instance: Instance;
  readonly locks: LockManager;
  /** A tab's worker queues for the storage from the start; a service worker takes it when told to, and gives it up when a tab asks. */
  readonly kind: Carrier;
  /** Begins to listen to requests, which then wait for `become`. Called before anybody can learn of the owner. */
  listen(ownerId: string): void;
  /** Takes hold of the storage. When it fails it is called again after a pause, with the same id. */
  become(ownerId: string): Promise<void>;
  /**
   * Lets go of the storage, and stops listening; the locks are released when it resolves. Called once for each term, also where `become` has not
   * succeeded or is still under way. After `stolen` nothing may be written or answered any more.
   */
  leave(why: LeaveReason): Promise<void>;
  /** Called with each failure of `become`. */
  readonly onTrouble?: ((error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  /** The protocol that this worker speaks; `PROTOCOL` but in tests. */
  readonly protocol?: number | undefined;
  /** Milliseconds that a suspected owner has for each of three pings before the storage is taken from it. Default: 250. */
  readonly pingMs?: number | undefined;
}

export interface Ownership {
  /** The term under way, from the grant of the lock on; undefined while this worker is not the owner. */
  readonly term: OwnerTerm | undefined;
  /**
   * Takes the storage where nobody holds it or waits for it. Resolves to true once it is taken hold of; to false where somebody else has
   * it, or it was asked for at once. For service workers.
   */
  takeIfFree(): Promise<boolean>;
  /** Asks all others not to take this owner for dead while it has work that leaves it no time for pings. */
  announceWork(forMs: number): void;
  /** Ends the term under way in order, if there is one; a tab's worker then queues again. */
  giveWay(): void;
  /** Takes no part any more. Resolves when the storage was let go and the lock is free. */
  close(): Promise<void>;
}

const DEFAULT_PING_MS = 250;

/** An owner that is silent for longer counts as dead, whatever it said. */
const MOST_BUSY_MS = 20_000;

/** Before the lock is asked for again where asking, or letting go of the storage, failed. */
const TROUBLE_PAUSE_MS = 500;

type Announcement = Payload<Extract<ToAll, { kind: 'owner' | 'wanted' | 'busy' }>>;

export function createOwnership(options: OwnershipOptions): Ownership {
  return new LockOwnership(options);
}

class LockOwnership implements Ownership {
  readonly #options: OwnershipOptions;
  readonly #protocol: number;
  readonly #clock: Clock;
  readonly #all: BroadcastChannel;
  readonly #id: string = crypto.randomUUID();
  /** Owners that are being looked into. */
  readonly #suspects = new Set<string>();
  /** Until when owners said that they may be silent, in the clock's monotonic milliseconds. */
  readonly #busyUntil = new Map<string, number>();
  readonly #closing = new AbortController();
  #campaign: Promise<void> = Promise.resolve();
  /** Takes this worker out of the queue. */
  #queued = new AbortController();
  #stealsNext = false;
  #term: OwnerTerm | undefined;

  constructor(options: OwnershipOptions) {
    this.#options = options;
    this.#protocol = options.protocol ?? PROTOCOL;
    this.#clock = options.clock ?? systemClock;
    this.#all = new BroadcastChannel(channelName(options.instance));
    this.#all.onmessage = ({ data }: MessageEvent<unknown>) => this.#hear(asToAll(data));
    if (options.kind === 'tab') this.#campaign = this.#contend();
  }

  get term(): OwnerTerm | undefined {
    return this.#term;
  }

  async takeIfFree(): Promise<boolean> {
    if (this.#isClosed) return false;
    if (this.#term !== undefined) return !this.#term.isEnded;
    const { locks, instance } = this.#options;
    const lock = await holdLock(locks, ownerLock(instance), { ifAvailable: true });
    if (lock === undefined) return false;
    return new Promise((resolve) => {
      this.#campaign = this.#serve(lock, () => resolve(true))
        .catch((error: unknown) => this.#options.onTrouble?.(error))
        .finally(() => resolve(false));
    });
  }

  announceWork(forMs: number): void {
    if (this.#term !== undefined) this.#announce({ kind: 'busy', forMs }, this.#term.ownerId);
  }

  giveWay(): void {
    this.#term?.end('asked');
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#queued.abort();
    this.#term?.end('closing');
    await this.#campaign;
    this.#all.close();
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** One term after the other, for as long as this worker takes part. */
  async #contend(): Promise<void> {
    while (!this.#isClosed) {
      try {
        const lock = await this.#ownerLock();
        if (lock !== undefined) await this.#serve(lock, () => {});
      } catch (error) {
        this.#options.onTrouble?.(error);
        await pause(TROUBLE_PAUSE_MS);
      }
    }
  }

  /** Waits for the lock, or takes it by force where that was found to be due. */
  #ownerLock(): Promise<HeldLock | undefined> {
    const { locks, instance } = this.#options;
    const steal = this.#stealsNext;
    this.#stealsNext = false;
    this.#queued = new AbortController();
    const options = steal ? { steal } : { signal: this.#queued.signal };
    const lock = holdLock(locks, ownerLock(instance), options);
    // Told after the request is in the queue, so that whoever gives way gives it to those who wait.
    this.#announce({ kind: 'wanted' });
    return lock;
  }

  async #serve(lock: HeldLock, onReady: () => void): Promise<void> {
    const { instance, locks, listen, become, leave, onTrouble } = this.#options;
    const term = new OwnerTerm({
      instance,
      locks,
      clock: this.#clock,
      listen,
      become,
      leave,
      // Not only when the storage is open: requests are on their way meanwhile.
      onRisen: () => this.#announce({ kind: 'owner' }, term.ownerId),
      onReady: () => {
        onReady();
        void this.#yieldToWaiting();
      },
      onTrouble: (error) => onTrouble?.(error),
    });
    this.#term = term;
    if (this.#isClosed) term.end('closing');
    try {
      await term.run(lock);
    } finally {
      this.#term = undefined;
      lock.release();
    }
  }

  /** A tab's worker may have asked before this one listened. */
  async #yieldToWaiting(): Promise<void> {
    if (this.#options.kind === 'tab') return;
    const { pending = [] } = await this.#options.locks.query();
    if (pending.some(({ name }) => name === ownerLock(this.#options.instance))) this.giveWay();
  }

  #hear(message: ToAll | undefined): void {
    if (message === undefined) return;
    if (message.kind === 'wanted') this.#hearWish(message.protocol);
    else if (message.kind === 'owner') this.#hearOwner(message.protocol);
    else if (message.kind === 'busy') this.#hearWork(message.from, message.forMs);
    else if (message.kind === 'suspect') void this.#lookInto(message.owner);
  }

  #hearWish(protocol: number): void {
    if (this.#options.kind === 'service-worker' || protocol > this.#protocol) this.giveWay();
  }

  /** An owner of an older protocol can't serve this worker; the one before it may have been asked already. */
  #hearOwner(protocol: number): void {
    this.#busyUntil.clear();
    if (this.#options.kind === 'tab' && protocol < this.#protocol) this.#announce({ kind: 'wanted' });
  }

  #hearWork(ownerId: string, forMs: number): void {
    const until = this.#clock.monotonic() + Math.min(forMs, MOST_BUSY_MS);
    this.#busyUntil.set(ownerId, Math.max(until, this.#busyUntil.get(ownerId) ?? 0));
  }

  #isBusy(ownerId: string): boolean {
    return (this.#busyUntil.get(ownerId) ?? 0) > this.#clock.monotonic();
  }

  async #lookInto(ownerId: string): Promise<void> {
    if (this.#options.kind !== 'tab' || this.#term !== undefined || this.#suspects.has(ownerId)) return;
    if (this.#isBusy(ownerId)) return;
    this.#suspects.add(ownerId);
    try {
      const { instance, locks, pingMs = DEFAULT_PING_MS } = this.#options;
      if (await isSilent({ instance, locks, pingMs }, ownerId)) await this.#stealFrom(ownerId);
    } finally {
      this.#suspects.delete(ownerId);
    }
  }

  /**
   * The lock of the owner's life goes first: those who wait for its answers learn that none will come, and the owner, should it wake,
   * finds out by one question whether it still is one.
   */
  async #stealFrom(ownerId: string): Promise<void> {
    if (this.#isClosed || this.#term !== undefined) return;
    const { instance, locks } = this.#options;
    await locks.request(aliveLock(instance, ownerId), { steal: true }, () => undefined);
    if (this.#isClosed || this.#term !== undefined) return;
    this.#stealsNext = true;
    this.#queued.abort();
  }

  #announce(message: Announcement, from = this.#id): void {
    if (!this.#isClosed) this.#all.postMessage({ protocol: this.#protocol, from, ...message });
  }
}
