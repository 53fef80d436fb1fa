/**
 * Bounds the memory that many users take together. Who comes when it is used up waits; the owner who holds least is served first, then who
 * wants least, then who came first. Who is slow gives way to those who wait: see `ByteLease.theirTurn`.
 */
import { ClientSpeed } from './client-speed.ts';
import { type MaybePromise, whenReady } from './maybe-promise.ts';
import { roomInTurn } from './turn.ts';

interface Wish {
  readonly bytes: number;
  /** Bytes that are there already, and are counted only when they are granted. */
  readonly uncounted: number;
  /** Whether the lease grows no more then: it keeps the bytes until its client has taken them. */
  readonly isLast: boolean;
}

interface Waiter extends Wish {
  readonly lease: ByteLease;
  readonly since: number;
  /** Told whether the bytes were granted. */
  readonly settle: (isGranted: boolean) => void;
}

/** So long a request waits at most while others have all the bytes that may be in flight. */
export const LONGEST_WAIT_MS = 30_000;

/** So much of each body, and of an answer, does not wait: small ones always come through. */
export const FREE_BYTES = 65_536;

/** While somebody waits, or more is held than may be, it is looked so often who is slow. */
const LOOK_MS = 1_000;
/**
 * Who waits over a network holds what is there already: what has come of a body, up to 64 KB, or the beginning of an answer. Beyond so many bytes, whoever
 * would be served last is refused at once; but nobody of this process.
 */
const MOST_UNCOUNTED_BYTES = 50_331_648;
/** The part of the budget that is made free when slow ones give way: bodies ask for their memory piece by piece. */
const ROOM = 1 / 8;

export class ByteBudget {
  #limit: number;
  readonly #maxWaitMs: number;
  readonly now: () => number;
  #used = 0;
  /** By owner. */
  readonly #held = new Map<string, number>();
  /** Those that have bytes. */
  readonly #holding = new Set<ByteLease>();
  /** Those of them that may ask for more, from the oldest on. */
  readonly #growing = new Set<ByteLease>();
  #waiting: Waiter[] = [];
  /** Of those that wait. */
  #uncounted = 0;
  #looking: ReturnType<typeof setTimeout> | undefined;

  /** `maxWaitMs`: nobody waits longer, and nobody may keep others waiting for longer. `now` in milliseconds. */
  constructor(limit: number, maxWaitMs: number, now = () => performance.now()) {
    this.#limit = limit;
    this.#maxWaitMs = maxWaitMs;
    this.now = now;
  }

  /** How many bytes may be taken in all. */
  get limit(): number {
    return this.#limit;
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

  /** Whether it would have to wait who takes so many bytes. */
  isShortOf(bytes: number): boolean {
    return this.#waiting.length > 0 || this.#used + bytes > this.#limit;
  }

  /** `owner`: who gets one share, however many leases: the address of a client. */
  open(owner = ''): ByteLease {
    return new ByteLease(this, owner);
  }

  take(lease: ByteLease, wish: Wish): MaybePromise<boolean> {
    const isRetryable = this.#waiting.length === 0 || this.#isOldest(lease);
    if (!isRetryable || !this.#fits(lease, wish)) return this.#wait(lease, wish);
    this.#grant(lease, wish);
    return true;
  }

  /** So many bytes of an answer are counted at most: where there is next to no memory, some come through at a time. */
  get mostOfAnswer(): number {
    return Math.ceil(this.#limit / 8);
  }

  /** Counts bytes that are there already. */
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

  /** The oldest one may always grow: one comes to its end then, however large it is, and not all wait for each other. An answer waits for those that are read. */
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
        // That it had to wait makes nobody slow.
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
    // Hundreds may be served at once, when what others held comes free: together they would hold the thread.
    return granted.then((isGranted) => isGranted && whenReady(roomInTurn(), () => true));
  }

  /** Who is served now: who has the least share, or, where there is no room for that one, the oldest, which may always grow. */
  #next(): Waiter | undefined {
    let next: Waiter | undefined;
    for (const waiter of this.#waiting) if (next === undefined || this.#isBefore(waiter, next)) next = waiter;
    if (next === undefined || this.#fits(next.lease, next)) return next;
    return this.#waiting.find(({ lease }) => this.#isOldest(lease));
  }

  #refuseLast(): void {
    while (this.#uncounted > MOST_UNCOUNTED_BYTES && this.#waiting.length > 0) {
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

  /** False where it waits no more. */
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

  /** Has slow ones give way until all who wait are served, with room for what they will ask for next: first those of the owner who holds most, and of these those who hold most. */
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
   * Those of whom nobody knows how much they want may come to wait for each other with a part each, while only the oldest goes on. Where they hold
   * most of the budget, and somebody has waited for a third of the longest time, the newest are refused.
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

  /** An answer may be long; a body that comes for longer than others may wait keeps them from being served. */
  #isLong(lease: ByteLease): boolean {
    return lease.mayEnd && this.#growing.has(lease) && this.now() - lease.since > this.#maxWaitMs;
  }
}

/** What one user of a budget has of it. */
export class ByteLease {
  /** Changed by the budget alone, as is `since`. */
  bytes = 0;
  /** When it began to hold bytes, in milliseconds; later by what it has waited since. */
  since = 0;
  /** Called where it has to end, since it is slow and others wait; its bytes were given back already. Without it, it never has to. */
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

  /** How many bytes it takes in all, as far as that is known. */
  get wants(): number {
    return this.#wants;
  }

  /** Of a body that begins to come. */
  expect(bytes = Number.POSITIVE_INFINITY): void {
    this.#wants = bytes;
    this.#isReserved = false;
  }

  /**
   * Counts bytes of a body that have come, each of which takes `factor` bytes. What is small does not wait. Beyond that all that is expected is taken
   * at once, so that few wait with half a body; a sender who goes on slowly then gives way. False as for `take`.
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

  /** It was too slow: it gets no more bytes. */
  get hasGivenWay(): boolean {
    return this.#hasGivenWay;
  }

  /**
   * Takes more bytes, as soon as they are there. False: they were not within the longest time to wait, or it gave way. `uncounted`: how many of
   * them are in memory already; too many of those don't wait, but are refused.
   */
  take(bytes: number, uncounted = FREE_BYTES): MaybePromise<boolean> {
    return this.#hasGivenWay ? false : this.#budget.take(this, { bytes, uncounted, isLast: false });
  }

  /** As `take`, for an answer that is kept until its client has taken it. */
  takeForAnswer(bytes: number, uncounted: number): MaybePromise<boolean> {
    if (this.#hasGivenWay) return false;
    return this.#budget.take(this, { bytes: Math.min(bytes, this.#budget.mostOfAnswer), uncounted, isLast: true });
  }

  /** Whether others wait, or would have to for so many bytes. */
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

  /** Tells that no more bytes will be taken; those that were stay until `release`. */
  settle(): void {
    this.#budget.settled(this);
  }

  /** Gives all back. May be called more than once. */
  release(): void {
    if (this.bytes !== 0) this.#budget.release(this);
  }

  /** From now on it is for the client to send, or to take what it was given: the time passes at its charge. */
  theirTurn(given = 0): void {
    this.#speed.theirTurn(given);
  }

  /** Until now it was. It has sent so many bytes meanwhile. */
  ownTurn(sent = 0): void {
    this.#speed.ownTurn(sent);
  }

  /** Whether its client has its turn, and it can be ended. For the budget alone, as are those behind it. */
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
