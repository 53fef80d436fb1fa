/**
 * Takes part in the election of who owns the storage of an instance. At most one worker at a time holds the owner's lock. A tab's worker
 * queues for it from the start; a service worker takes it only if no one else holds it or waits for it.
 *
 *     tab's worker:    queued ── granted ──► owner ── stolen / asked ──► queued …
 *                        └── the failure detector finds the owner failed ──► steals the lock ──► owner
 *     service worker:  idle ── takeIfFree ──► owner ── asked (also by itself, when it has nothing to do) ──► idle …
 *
 * A frozen owner whose lock was stolen does not know yet that it is no longer the owner. The fence in the storage makes it harmless
 * (docs/internals.md#the-browser-host).
 */
import { type Clock, pause, systemClock } from '../../../base/shared/clock.ts';
import type { Instance } from '../contract.ts';
import { aliveLock, channelName, ownerLock } from '../instance.ts';
import { type ParticipantKind, type Payload, PROTOCOL, type ToAll } from '../wire.ts';
import { asToAll } from '../wire-codec.ts';
import { FailureDetector } from './failure-detector.ts';
import { type HeldLock, holdLock } from './held-lock.ts';
import { type LeaveReason, Ownership } from './ownership.ts';

export interface ElectionOptions {
  readonly instance: Instance;
  readonly locks: LockManager;
  /** A tab's worker queues for the storage from the start; a service worker takes it when asked to, and gives it up when a tab asks. */
  readonly kind: ParticipantKind;
  /** Starts to listen to requests, which then wait for `become`. Called before others can learn of the owner. */
  listen(ownerId: string): void;
  /** Opens the storage. If it fails it is called again after a pause, with the same id. */
  become(ownerId: string): Promise<void>;
  /**
   * Releases the storage, and stops listening; the locks are released when it resolves. Called once for each ownership, even if
   * `become` has not succeeded or is still in progress. After `stolen` nothing more may be written or answered.
   */
  leave(why: LeaveReason): Promise<void>;
  /** Called with each failure of `become`. */
  readonly onOutage?: ((error: unknown) => void) | undefined;
  /** Called if an owner reports that its storage was closed by force. */
  readonly onCleared?: (() => void) | undefined;
  readonly clock?: Clock | undefined;
  /** The protocol that this worker speaks. Default: `PROTOCOL`; tests set another. */
  readonly protocol?: number | undefined;
  /** Milliseconds that a suspected owner has for each of three pings before the storage is taken from it. Default: 250. */
  readonly pingMs?: number | undefined;
}

export interface Election {
  /** Defined from the grant of the lock on; undefined while this worker is not the owner. */
  readonly ownership: Ownership | undefined;
  /**
   * Takes the storage if no one holds it or waits for it. Resolves to true once it is open; to false if another worker holds it, or
   * requested it at once. For service workers.
   */
  takeIfFree(): Promise<boolean>;
  /** Asks all others not to take this owner for dead while it has work that leaves it no time for pings. */
  announceWork(forMs: number): void;
  /** Tells all others that the browser has closed this owner's storage by force. */
  announceCleared(): void;
  /** Ends the ownership in order, if there is one; a tab's worker then queues again. */
  giveWay(): void;
  /** Stops taking part. Resolves when the storage was released and the lock is free. */
  close(): Promise<void>;
}

const DEFAULT_PING_MS = 250;

/** The pause before the lock is requested again after requesting it, or releasing the storage, failed. */
const TROUBLE_PAUSE_MS = 500;

type Announcement = Payload<Extract<ToAll, { kind: 'owner' | 'wanted' | 'busy' | 'cleared' }>>;

export function createElection(options: ElectionOptions): Election {
  return new LockElection(options);
}

class LockElection implements Election {
  readonly #options: ElectionOptions;
  readonly #protocol: number;
  readonly #clock: Clock;
  readonly #all: BroadcastChannel;
  readonly #id: string = crypto.randomUUID();
  readonly #failures: FailureDetector;
  readonly #closing = new AbortController();
  #taking: Promise<void> = Promise.resolve();
  /** Aborting it takes this worker out of the queue for the lock. */
  #queued = new AbortController();
  #stealsNext = false;
  #ownership: Ownership | undefined;

  constructor(options: ElectionOptions) {
    const { instance, locks, kind, clock = systemClock, protocol = PROTOCOL, pingMs = DEFAULT_PING_MS } = options;
    this.#options = options;
    this.#protocol = protocol;
    this.#clock = clock;
    this.#failures = new FailureDetector({ instance, locks, clock, pingMs });
    this.#all = new BroadcastChannel(channelName(instance));
    this.#all.onmessage = ({ data }: MessageEvent<unknown>) => this.#receive(asToAll(data));
    if (kind === 'tab') this.#taking = this.#queueAgainAndAgain();
  }

  get ownership(): Ownership | undefined {
    return this.#ownership;
  }

  async takeIfFree(): Promise<boolean> {
    if (this.#isClosed) return false;
    if (this.#ownership !== undefined) return !this.#ownership.isEnded;
    const { locks, instance } = this.#options;
    const lock = await holdLock(locks, ownerLock(instance), { ifAvailable: true });
    if (lock === undefined) return false;
    return new Promise((resolve) => {
      this.#taking = this.#lead(lock, () => resolve(true))
        .catch((error: unknown) => this.#options.onOutage?.(error))
        .finally(() => resolve(false));
    });
  }

  announceWork(forMs: number): void {
    if (this.#ownership !== undefined) this.#announce({ kind: 'busy', forMs }, this.#ownership.ownerId);
  }

  announceCleared(): void {
    this.#announce({ kind: 'cleared' });
  }

  giveWay(): void {
    this.#ownership?.end('asked');
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#queued.abort();
    this.#ownership?.end('closing');
    await this.#taking;
    this.#all.close();
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** One period of ownership after another, for as long as this worker takes part. */
  async #queueAgainAndAgain(): Promise<void> {
    while (!this.#isClosed) {
      try {
        const lock = await this.#ownerLock();
        if (lock !== undefined) await this.#lead(lock, () => {});
      } catch (error) {
        this.#options.onOutage?.(error);
        await pause(TROUBLE_PAUSE_MS);
      }
    }
  }

  /** Waits for the lock, or takes it by force if the owner was found to have failed. */
  #ownerLock(): Promise<HeldLock | undefined> {
    const { locks, instance } = this.#options;
    const steal = this.#stealsNext;
    this.#stealsNext = false;
    this.#queued = new AbortController();
    const options = steal ? { steal } : { signal: this.#queued.signal };
    const lock = holdLock(locks, ownerLock(instance), options);
    // Announced after the request is in the queue, so that an owner that gives way passes the lock to a waiting worker.
    this.#announce({ kind: 'wanted' });
    return lock;
  }

  async #lead(lock: HeldLock, onReady: () => void): Promise<void> {
    const { instance, locks, listen, become, leave, onOutage } = this.#options;
    const ownership = new Ownership({
      instance,
      locks,
      clock: this.#clock,
      listen,
      become,
      leave,
      // Before the storage is open, so that requests travel meanwhile.
      onAnnounceable: () => this.#announce({ kind: 'owner' }, ownership.ownerId),
      onReady: () => {
        onReady();
        void this.#yieldToWaiting();
      },
      onOutage: (error) => onOutage?.(error),
    });
    this.#ownership = ownership;
    if (this.#isClosed) ownership.end('closing');
    try {
      await ownership.run(lock);
    } finally {
      this.#ownership = undefined;
      lock.release();
    }
  }

  /** A tab's worker may have requested the storage before this service worker listened. */
  async #yieldToWaiting(): Promise<void> {
    if (this.#options.kind === 'tab') return;
    const { pending = [] } = await this.#options.locks.query();
    if (pending.some(({ name }) => name === ownerLock(this.#options.instance))) this.giveWay();
  }

  #receive(message: ToAll | undefined): void {
    if (message === undefined) return;
    if (message.kind === 'wanted') this.#onWanted(message.protocol);
    else if (message.kind === 'owner') this.#onNewOwner(message.protocol);
    else if (message.kind === 'busy') this.#failures.noteBusy(message.from, message.forMs);
    else if (message.kind === 'cleared') this.#options.onCleared?.();
    else if (message.kind === 'suspect') void this.#onSuspicion(message.owner);
  }

  #onWanted(protocol: number): void {
    if (this.#options.kind === 'service-worker' || protocol > this.#protocol) this.giveWay();
  }

  /** An owner of an older protocol can't serve this worker; this worker's earlier announcement reached only the owner before it. */
  #onNewOwner(protocol: number): void {
    this.#failures.forgetBusy();
    if (this.#options.kind === 'tab' && protocol < this.#protocol) this.#announce({ kind: 'wanted' });
  }

  async #onSuspicion(ownerId: string): Promise<void> {
    if (this.#options.kind !== 'tab' || this.#ownership !== undefined) return;
    if (await this.#failures.hasFailed(ownerId)) await this.#stealFrom(ownerId);
  }

  /**
   * The lock of the owner's life is stolen first: those that wait for its responses learn that none will come, and the owner, should it wake,
   * finds out by one query whether it is still the owner.
   */
  async #stealFrom(ownerId: string): Promise<void> {
    if (this.#isClosed || this.#ownership !== undefined) return;
    const { instance, locks } = this.#options;
    await locks.request(aliveLock(instance, ownerId), { steal: true }, () => undefined);
    if (this.#isClosed || this.#ownership !== undefined) return;
    this.#stealsNext = true;
    this.#queued.abort();
  }

  #announce(message: Announcement, from = this.#id): void {
    if (!this.#isClosed) this.#all.postMessage({ protocol: this.#protocol, from, ...message });
  }
}
