/** Bounds the memory that many users take together: who comes when it is used up waits, in the order of coming. */
import type { MaybePromise } from './maybe-promise.ts';

interface Waiter {
  readonly lease: ByteLease;
  readonly bytes: number;
  /** Told whether the bytes were granted. */
  readonly settle: (isGranted: boolean) => void;
}

export class ByteBudget {
  #limit: number;
  readonly #maxWaitMs: number;
  #used = 0;
  /** Those that have bytes and may ask for more, from the oldest on. */
  readonly #growing = new Set<ByteLease>();
  #waiting: Waiter[] = [];

  /** `maxWaitMs`: nobody waits longer. */
  constructor(limit: number, maxWaitMs: number) {
    this.#limit = limit;
    this.#maxWaitMs = maxWaitMs;
  }

  /** Whoever waits and has room now is served. What was granted stays granted. */
  resize(limit: number): void {
    this.#limit = limit;
    this.#serve();
  }

  /** Bytes that were taken and not given back. */
  get used(): number {
    return this.#used;
  }

  open(): ByteLease {
    return new ByteLease(this);
  }

  take(lease: ByteLease, bytes: number): MaybePromise<boolean> {
    const mayPass = this.#waiting.length === 0 || this.#isOldest(lease);
    if (mayPass && this.#fits(lease, bytes)) {
      this.#grant(lease, bytes);
      return true;
    }
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#giveUp(waiter), this.#maxWaitMs);
      const settle = (isGranted: boolean) => {
        clearTimeout(timer);
        resolve(isGranted);
      };
      const waiter: Waiter = { lease, bytes, settle };
      this.#waiting.push(waiter);
    });
  }

  /** Counts bytes that are there already. */
  add(bytes: number): void {
    this.#used += bytes;
  }

  release(lease: ByteLease): void {
    this.#used -= lease.bytes;
    this.settled(lease);
  }

  /** The lease keeps its bytes and takes no more. */
  settled(lease: ByteLease): void {
    this.#growing.delete(lease);
    this.#serve();
  }

  /** The oldest one may always grow: one comes to its end then, however large it is, and not all wait for each other. */
  #fits(lease: ByteLease, bytes: number): boolean {
    return this.#used + bytes <= this.#limit || this.#growing.size === 0 || this.#isOldest(lease);
  }

  #isOldest(lease: ByteLease): boolean {
    const [oldest] = this.#growing;
    return oldest === lease;
  }

  #grant(lease: ByteLease, bytes: number): void {
    this.#used += bytes;
    lease.bytes += bytes;
    this.#growing.add(lease);
  }

  #serve(): void {
    for (;;) {
      const oldest = this.#waiting.findIndex(({ lease }) => this.#isOldest(lease));
      const next = Math.max(0, oldest);
      const waiter = this.#waiting[next];
      if (waiter === undefined || !this.#fits(waiter.lease, waiter.bytes)) return;
      this.#waiting.splice(next, 1);
      this.#grant(waiter.lease, waiter.bytes);
      waiter.settle(true);
    }
  }

  #giveUp(waiter: Waiter): void {
    const at = this.#waiting.indexOf(waiter);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    waiter.settle(false);
    this.#serve();
  }
}

/** What one user of a budget has of it. */
export class ByteLease {
  bytes = 0;
  readonly #budget: ByteBudget;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** Takes more bytes, as soon as they are there. False: they were not within the longest time to wait. */
  take(bytes: number): MaybePromise<boolean> {
    return this.#budget.take(this, bytes);
  }

  /** Counts bytes without waiting for them. */
  add(bytes: number): void {
    this.bytes += bytes;
    this.#budget.add(bytes);
  }

  /** Tells that no more bytes will be taken; those that were stay until `release`. */
  settle(): void {
    this.#budget.settled(this);
  }

  /** Gives all back. May be called more than once. */
  release(): void {
    const { bytes } = this;
    if (bytes === 0) return;
    this.#budget.release(this);
    this.bytes = 0;
  }
}
