/**
 * Bounds the memory that many users take together. When it is used up, requests wait. The owner that holds least is served first, then the one that
 * wants least, then the first to come. Slow clients give way to those that wait: see `ByteLease.theirTurn`.
 */
import { ClientSpeed } from './client-speed.ts';
import { type MaybePromise, whenReady } from './maybe-promise.ts';
import { roomInTurn } from './turn.ts';

interface Wish {
  readonly bytes: number;
  /** Bytes that are in memory already, and are counted only when they are granted. */
  readonly uncounted: number;
  /** Whether the lease stops growing then: it keeps the bytes until its client has taken them. */
  readonly isLast: boolean;
}

interface Waiter extends Wish {
  readonly lease: ByteLease;
  readonly since: number;
  /** Called with whether the bytes were granted. */
  readonly settle: (isGranted: boolean) => void;
}

/** The longest time that a request waits while others hold all the bytes that may be in flight. */
export const MAX_WAIT_MS = 30_000;

/** This much of each request body, and of a response, does not wait: small ones always get through. */
export const FREE_BYTES = 65_536;

/** The interval of checks for slow clients while someone waits, or more is held than allowed. */
const LOOK_MS = 1_000;
/**
 * Waiting network clients hold what has arrived: up to 64 KB of a body, or the beginning of a response. Beyond this many bytes, the client that
 * would be served last is refused immediately; but no waiter within this process causes that.
 */
const MAX_UNCOUNTED_BYTES = 50_331_648;
/** The share of the budget that is freed when slow clients give way: bodies ask for their memory piece by piece. */
const ROOM = 1 / 8;

export class ByteBudget {
  #limit: number;
  readonly #maxWaitMs: number;
  readonly now: () => number;
  #used = 0;
  /** By owner. */
  readonly #held = new Map<string, number>();
  /** The leases that hold bytes. */
  readonly #holding = new Set<ByteLease>();
  /** The leases that may ask for more, oldest first. */
  readonly #growing = new Set<ByteLease>();
  #waiting: Waiter[] = [];
  /** Uncounted bytes of all waiters. */
  #uncounted = 0;
  #looking: ReturnType<typeof setTimeout> | undefined;

  /** `maxWaitMs`: the longest time that anyone waits or may keep others waiting. `now` in milliseconds. */
  constructor(limit: number, maxWaitMs: number, now = () => performance.now()) {
    this.#limit = limit;
    this.#maxWaitMs = maxWaitMs;
    this.now = now;
  }

  /** The maximum number of bytes that may be taken in all. */
  get limit(): number {
    return this.#limit;
  }

  /** Serves waiters for which there is room now. What was granted stays granted. */
  resize(limit: number): void {
    this.#limit = limit;
    this.#serve();
  }

  /** Bytes that were taken and not given back. */
  get used(): number {
    return this.#used;
  }

  /** Returns whether a request for this many bytes would have to wait. */
  isShortOf(bytes: number): boolean {
    return this.#waiting.length > 0 || this.#used + bytes > this.#limit;
  }

  /** `owner`: gets one share for all its leases, such as the address of a client. */
  open(owner = ''): ByteLease {
    return new ByteLease(this, owner);
  }

  take(lease: ByteLease, wish: Wish): MaybePromise<boolean> {
    const isRetryable = this.#waiting.length === 0 || this.#isOldest(lease);
    if (!isRetryable || !this.#fits(lease, wish)) return this.#wait(lease, wish);
    this.#grant(lease, wish);
    return true;
  }

  /** The most bytes of a response that are counted: with hardly any memory, a few responses at a time get through. */
  get mostOfAnswer(): number {
    return Math.ceil(this.#limit / 8);
  }

  /** Counts bytes that are in memory already. */
  add(lease: ByteLease, bytes: number): void {
    this.#used += bytes;
    lease.bytes += bytes;
    const held = (this.#held.get(lease.owner) ?? 0) + bytes;
    if (held > 0) this.#held.set(lease.owner, held);
    else this.#held.delete(lease.owner);
    if (lease.bytes > 0) this.#hold(lease);
    else this.#holding.delete(lease);
    if (this.#used > this.#limit && bytes > 0) this.#look();
  }

  giveBack(lease: ByteLease, bytes: number): void {
    this.add(lease, -bytes);
    this.#serve();
  }

  release(lease: ByteLease): void {
    this.add(lease, -lease.bytes);
    this.settled(lease);
  }

  /** The lease keeps its bytes and takes no more. */
  settled(lease: ByteLease): void {
    this.#growing.delete(lease);
    this.#serve();
  }

  /** The oldest lease may always grow: so one completes, however large, and not all wait for each other. Responses wait for bodies being read. */
  #fits(lease: ByteLease, { bytes, isLast }: Wish): boolean {
    if (this.#used + bytes <= this.#limit || this.#isOldest(lease)) return true;
    return isLast ? this.#used === 0 : this.#growing.size === 0;
  }

  #isOldest(lease: ByteLease): boolean {
    return this.#growing.values().next().value === lease;
  }

  #hold(lease: ByteLease): void {
    if (this.#holding.has(lease)) return;
    this.#holding.add(lease);
    lease.since = this.now();
    lease.judgeAnew();
  }

  #grant(lease: ByteLease, { bytes, isLast }: Wish): void {
    this.add(lease, bytes);
    if (isLast) this.#growing.delete(lease);
    else this.#growing.add(lease);
  }

  #wait(lease: ByteLease, wish: Wish): Promise<boolean> {
    const began = this.now();
    const granted = new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => this.#giveUp(waiter), this.#maxWaitMs);
      const settle = (isGranted: boolean) => {
        clearTimeout(timer);
        // Time spent waiting here makes no client slow.
        lease.since += this.now() - began;
        resolve(isGranted);
      };
      const waiter: Waiter = { ...wish, lease, since: began, settle };
      this.#waiting.push(waiter);
      this.#uncounted += wish.uncounted;
      this.#serve();
      this.#look();
      if (lease.owner !== '') this.#refuseLast();
    });
    // Hundreds may be served at once when others free their bytes: together they would hold the thread.
    return granted.then((isGranted) => isGranted && whenReady(roomInTurn(), () => true));
  }

  /** Returns the waiter to serve now: the one with the least share, or, if there is no room for it, the oldest, which may always grow. */
  #next(): Waiter | undefined {
    let next: Waiter | undefined;
    for (const waiter of this.#waiting) if (next === undefined || this.#isBefore(waiter, next)) next = waiter;
    if (next === undefined || this.#fits(next.lease, next)) return next;
    return this.#waiting.find(({ lease }) => this.#isOldest(lease));
  }

  #refuseLast(): void {
    while (this.#uncounted > MAX_UNCOUNTED_BYTES && this.#waiting.length > 0) {
      this.#giveUp(this.#waiting.reduce((last, waiter) => (this.#isBefore(waiter, last) ? last : waiter)));
    }
  }

  #isBefore({ lease: one }: Waiter, { lease: other }: Waiter): boolean {
    const difference = (this.#held.get(one.owner) ?? 0) - (this.#held.get(other.owner) ?? 0);
    return difference < 0 || (difference === 0 && one.wants < other.wants);
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const next = this.#next();
      if (next === undefined) return;
      this.#leave(next);
      this.#grant(next.lease, next);
      next.settle(true);
    }
  }

  #giveUp(waiter: Waiter): void {
    if (!this.#leave(waiter)) return;
    waiter.settle(false);
    this.#serve();
  }

  /** Returns false if it no longer waits. */
  #leave(waiter: Waiter): boolean {
    const at = this.#waiting.indexOf(waiter);
    if (at < 0) return false;
    this.#waiting.splice(at, 1);
    this.#uncounted -= waiter.uncounted;
    return true;
  }

  #look(): void {
    if (this.#looking !== undefined) return;
    for (const lease of this.#holding) lease.judgeAnew();
    this.#lookLater();
  }

  #lookLater(): void {
    this.#looking = setTimeout(() => {
      this.#looking = undefined;
      this.#relieve();
      if (this.#waiting.length > 0 || this.#used > this.#limit) this.#lookLater();
    }, LOOK_MS);
  }

  /** Makes slow leases give way until all waiters are served, with room for their next requests: largest owner first, then largest lease. */
  #relieve(): void {
    const slow = [...this.#holding].filter((lease) => lease.isSlow() || this.#isLong(lease));
    const shares = new Map(this.#held);
    const shareOf = ({ owner }: ByteLease) => shares.get(owner) ?? 0;
    slow.sort((one, other) => shareOf(other) - shareOf(one) || other.bytes - one.bytes);
    for (const lease of slow) {
      if (this.#waiting.length === 0 && this.#used <= this.#limit * (1 - ROOM)) return;
      lease.end();
    }
    this.#shed();
  }

  /**
   * Requests of unknown size may each hold a part and wait for each other, while only the oldest continues. If those that wait hold
   * more than half of the budget, and someone has waited for a third of the longest time, the newest are refused.
   */
  #shed(): void {
    const patient = this.now() - this.#maxWaitMs / 3;
    if (!this.#waiting.some(({ since }) => since <= patient)) return;
    const endless = this.#waiting.filter(({ lease }) => lease.wants === Number.POSITIVE_INFINITY);
    let held = endless.reduce((sum, { lease }) => sum + lease.bytes, 0);
    for (const waiter of endless.reverse()) {
      if (held <= this.#limit / 2) return;
      held -= waiter.lease.bytes;
      waiter.lease.release();
      this.#giveUp(waiter);
    }
  }

  /** A response may take long; a body that takes longer to arrive than others may wait keeps them from being served. */
  #isLong(lease: ByteLease): boolean {
    return lease.mayEnd && this.#growing.has(lease) && this.now() - lease.since > this.#maxWaitMs;
  }
}

/** The share that one user of a budget holds. */
export class ByteLease {
  /** Changed by the budget alone, as is `since`. */
  bytes = 0;
  /** When it began to hold bytes, in milliseconds; moved later by the time it has waited since. */
  since = 0;
  /** Called if the lease must end because it is slow and others wait; its bytes were given back already. Without it, the lease never has to end. */
  giveWay: (() => void) | undefined;
  readonly owner: string;
  readonly #budget: ByteBudget;
  #hasGivenWay = false;
  #wants = Number.POSITIVE_INFINITY;
  #isReserved = false;
  readonly #speed: ClientSpeed;

  constructor(budget: ByteBudget, owner: string) {
    this.#budget = budget;
    this.#speed = new ClientSpeed(budget.now);
    this.owner = owner;
  }

  /** How many bytes it takes in all, or infinity if unknown. */
  get wants(): number {
    return this.#wants;
  }

  /** Sets the expected bytes of a body that begins to arrive. */
  expect(bytes = Number.POSITIVE_INFINITY): void {
    this.#wants = bytes;
    this.#isReserved = false;
  }

  /**
   * Counts bytes of a body that have arrived, each of which takes `factor` bytes. Small bodies do not wait. Beyond that, all expected bytes are taken
   * at once, so that few wait with half a body; a sender that continues slowly then gives way. Returns false like `take`.
   */
  arrive(bytes: number, factor: number): MaybePromise<boolean> {
    if (this.#hasGivenWay) return false;
    if (this.#isReserved) return true;
    if (this.bytes + bytes <= FREE_BYTES) {
      this.add(bytes);
      return true;
    }
    if (this.#wants === Number.POSITIVE_INFINITY) return this.take(bytes * factor);
    this.#isReserved = true;
    return this.take(Math.max(0, this.#wants - this.bytes));
  }

  /** Whether it was too slow: it gets no more bytes. */
  get hasGivenWay(): boolean {
    return this.#hasGivenWay;
  }

  /**
   * Takes more bytes, as soon as they are free. Returns false if that took longer than the longest wait, or it gave way. `uncounted`: how many of
   * them are in memory already; if there are too many of those, they are refused instead of waiting.
   */
  take(bytes: number, uncounted = FREE_BYTES): MaybePromise<boolean> {
    return this.#hasGivenWay ? false : this.#budget.take(this, { bytes, uncounted, isLast: false });
  }

  /** Like `take`, for a response that is kept until its client has received it. */
  takeForAnswer(bytes: number, uncounted: number): MaybePromise<boolean> {
    if (this.#hasGivenWay) return false;
    return this.#budget.take(this, { bytes: Math.min(bytes, this.#budget.mostOfAnswer), uncounted, isLast: true });
  }

  /** Returns whether others wait, or a request for this many bytes would have to. */
  isShortOf(bytes: number): boolean {
    return this.#budget.isShortOf(bytes);
  }

  /** Counts bytes without waiting for them. */
  add(bytes: number): void {
    if (!this.#hasGivenWay) this.#budget.add(this, bytes);
  }

  /** Gives some of them back, and may take more. */
  giveBack(bytes: number): void {
    if (this.#hasGivenWay || bytes <= 0) return;
    this.#budget.giveBack(this, bytes);
  }

  /** Declares that it takes no more bytes; those taken stay until `release`. */
  settle(): void {
    this.#budget.settled(this);
  }

  /** Gives back all bytes. May be called more than once. */
  release(): void {
    if (this.bytes !== 0) this.#budget.release(this);
  }

  /** Starts the client's turn to send, or to receive what it was given: from now on, time counts against it. */
  theirTurn(given = 0): void {
    this.#speed.theirTurn(given);
  }

  /** Ends the client's turn. It sent this many bytes meanwhile. */
  ownTurn(sent = 0): void {
    this.#speed.ownTurn(sent);
  }

  /** Whether it is the client's turn, and the lease can be ended. Only for the budget, like the members after it. */
  get mayEnd(): boolean {
    return this.#speed.isTheirTurn && this.giveWay !== undefined;
  }

  isSlow(): boolean {
    return this.#speed.takeSlowness() && this.mayEnd;
  }

  judgeAnew(): void {
    this.#speed.judgeAnew();
  }

  end(): void {
    const { giveWay } = this;
    this.#hasGivenWay = true;
    this.release();
    giveWay?.();
  }
}
