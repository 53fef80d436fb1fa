/** Sharing the thread: long work is done in pieces, so that timers, input and other requests get their turns between them. */
import { assert, must } from './assert.ts';
import type { MaybePromise } from './maybe-promise.ts';

/**
 * Resolves in a later turn of the event loop, after everything else that waits for one: timers, input, other tasks. Promises
 * alone never let these run. Not by a timer: browsers make nested ones wait 4 ms.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    // Node's own: on Node a channel would keep the process alive, and cost more.
    const setImmediate: unknown = Reflect.get(globalThis, 'setImmediate');
    if (typeof setImmediate === 'function') {
      Reflect.apply(setImmediate, undefined, [resolve]);
      return;
    }
    channel ??= new TurnChannel();
    channel.wait(resolve);
  });
}

let channel: TurnChannel | undefined;

/** Kept for all turns: making a channel for each takes longer than the turn does (33 µs instead of 14 in Chromium). */
class TurnChannel {
  readonly #post: () => void;
  readonly #waiting: (() => void)[] = [];

  constructor() {
    const { port1, port2 } = new MessageChannel();
    const onmessage = () => this.#waiting.shift()?.();
    // A handler that is set also starts the port. Node's types do not declare it.
    Object.assign(port1, { onmessage });
    this.#post = () => port2.postMessage(undefined);
  }

  /** Each waiter gets its own turn. */
  wait(resolve: () => void): void {
    this.#waiting.push(resolve);
    this.#post();
  }
}

/** How long work that can wait holds the thread at a time. A turn costs a thousandth of it. */
const HOLD_MS = 5;
/** Work that had fewer turns of its own runs before work that had more: the two limits between the groups. */
const FEW_TURNS = 8;
const SOME_TURNS = 64;
/** One turn in this many is for the others. */
const OTHERS_TURN = 4;
/** Work that has just begun runs this long in a turn that others have used up, so that small work need not wait for them. */
const MIN_MS = 1;
/** A turn that has lasted this long has no room for more: a thousand small pieces of work, a millisecond each, would hold the thread for a second. */
const MAX_TURN_MS = 15;

/**
 * State that all long work on this thread shares: since when the current turn has held the thread, and who waits for a separate turn. One
 * waiter runs in each turn, with input and output in between: so ten of them delay others no longer than one does. Those with few turns
 * go first, each kind in order of arrival: small writes overtake a thousand responses. Global: no one can pass in a thread. It stores no work.
 */
class ThreadTurns {
  #heldSince: number | undefined;
  /** Waiters that had few, some, and many turns. */
  #waiting: readonly (() => void)[][] = [[], [], []];
  #turns = 0;
  #isEndDue = false;

  /** Returns when this turn began: the first time that long work asked in it. */
  heldSince(now: number): number {
    if (this.#heldSince === undefined || this.#heldSince > now) this.#heldSince = now;
    this.#watchEnd();
    return this.#heldSince;
  }

  get hasWaiting(): boolean {
    return this.#waiting.some(({ length }) => length > 0);
  }

  /** Resolves in a turn that no other waiter has. `had`: how many such turns the same work had before. */
  ownTurn(had: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting[had < FEW_TURNS ? 0 : had < SOME_TURNS ? 1 : 2]?.push(resolve);
      this.#watchEnd();
    });
  }

  #watchEnd(): void {
    if (this.#isEndDue) return;
    this.#isEndDue = true;
    void nextTurn().then(() => {
      this.#isEndDue = false;
      this.#beginTurn();
    });
  }

  #next(): (() => void) | undefined {
    this.#turns += 1;
    const [few, some, many] = this.#waiting;
    if (this.#turns % OTHERS_TURN !== 0) return few?.shift() ?? some?.shift() ?? many?.shift();
    if (this.#turns % (2 * OTHERS_TURN) === 0) return many?.shift() ?? some?.shift() ?? few?.shift();
    return some?.shift() ?? many?.shift() ?? few?.shift();
  }

  #beginTurn(): void {
    this.#heldSince = undefined;
    const next = this.#next();
    if (next === undefined) return;
    this.heldSince(performance.now());
    next();
  }
}

const thread = new ThreadTurns();

/** Returns for how many milliseconds the current turn has held the thread, counted from when long work first asked. */
export function heldMs(): number {
  const now = performance.now();
  return now - thread.heldSince(now);
}

/** Returns whether the current turn has held the thread for long enough. */
export function isThreadUsedUp(): boolean {
  return heldMs() >= HOLD_MS;
}

/** Returns whether long work waits for its next turn, which it may get before any other waiter. */
export function isThreadWanted(): boolean {
  return thread.hasWaiting;
}

/** Tells when the thread has been held for long enough. If work has many small pieces, ask only after some of them. */
export class TimeSlice {
  readonly #holdMs: number;
  #turns = 0;
  #since = performance.now();

  /** `holdMs`: for work that yields the thread sooner than it has to. */
  constructor(holdMs = HOLD_MS) {
    this.#holdMs = holdMs;
    thread.heldSince(this.#since);
  }

  /** Whether this work has held the thread for long enough, or entered a turn that other long work has used up. */
  get isDue(): boolean {
    const now = performance.now();
    const held = now - thread.heldSince(now);
    return held >= this.#holdMs && (now - this.#since >= MIN_MS || held >= MAX_TURN_MS);
  }

  /** Lets other work run if `isDue`. Callers on a hot path check `isDue` first. */
  async rest(): Promise<void> {
    if (this.isDue) await this.endTurn();
  }

  /** Lets other work run. */
  async endTurn(): Promise<void> {
    await thread.ownTurn(this.#turns);
    this.#turns += 1;
    this.#since = performance.now();
  }
}

/** Waits for another turn if this one has lasted too long: for many pieces of work that happen to resume in the same turn. */
export function roomInTurn(): MaybePromise<void> {
  const timeSlice = new TimeSlice();
  return timeSlice.isDue ? timeSlice.endTurn() : undefined;
}

/** Yielded before a step that can't be divided and takes longer than a turn should: the step gets its own turn. */
export const LONG_STEP = Symbol('long step');

/**
 * Work that can pause wherever it yields, and resume later. What it yields says when: in a later turn if this one has lasted long
 * enough (undefined), in a turn of its own (`LONG_STEP`), or when a promise has settled (`ready`).
 */
export type CooperativeTask<T> = Generator<typeof LONG_STEP | Promise<unknown> | undefined, T, void>;

/** Returns the value: immediately if it is available. For use in steps, like `await` in an async function. */
export function* ready<T>(value: MaybePromise<T>): CooperativeTask<T> {
  if (!(value instanceof Promise)) return value;
  let settled: { readonly value: T } | undefined;
  yield value.then((late) => {
    settled = { value: late };
  });
  return must(settled, 'steps went on before what they wait for').value;
}

/** Does all the work, and lets other work run in between. Work that fits into a turn, and waits for nothing, is done immediately. */
export function runCooperatively<T>(steps: CooperativeTask<T>): MaybePromise<T> {
  // Most work has one step: it needs no clock.
  let step = steps.next();
  if (step.done === true) return step.value;
  const timeSlice = new TimeSlice();
  for (;;) {
    if (step.value !== undefined || timeSlice.isDue) return goOn(steps, timeSlice, step.value);
    step = steps.next();
    if (step.done === true) return step.value;
  }
}

async function goOn<T>(
  steps: CooperativeTask<T>,
  timeSlice: TimeSlice,
  first: typeof LONG_STEP | Promise<unknown> | undefined,
): Promise<T> {
  let reason = first;
  for (;;) {
    const step =
      reason instanceof Promise ? await afterPromise(steps, reason) : await afterTurn(steps, timeSlice, reason);
    if (step.done === true) return step.value;
    // A promise is awaited at once: otherwise no one would handle its failure.
    if (reason === LONG_STEP && !(step.value instanceof Promise)) await timeSlice.endTurn();
    reason = step.value;
  }
}

type Step<T> = ReturnType<CooperativeTask<T>['next']>;

/** If the promise rejects, the work fails at the point where it waits. */
function afterPromise<T>(steps: CooperativeTask<T>, promise: Promise<unknown>): Promise<Step<T>> {
  return promise.then(
    () => steps.next(),
    (failure: unknown) => steps.throw(failure),
  );
}

async function afterTurn<T>(
  steps: CooperativeTask<T>,
  timeSlice: TimeSlice,
  reason: typeof LONG_STEP | undefined,
): Promise<Step<T>> {
  if (reason === LONG_STEP) await timeSlice.endTurn();
  else if (timeSlice.isDue) await timeSlice.rest();
  return steps.next();
}

/** Number of items converted between two looks at the clock. */
const ITEMS_PER_STEP = 256;

/** Returns the result of `convert` for each item, some at a time. */
export function* mapInSteps<T, R>(items: Iterable<T>, convert: (item: T, index: number) => R): CooperativeTask<R[]> {
  const converted: R[] = [];
  yield* eachInSteps(items, (item, index) => {
    converted.push(convert(item, index));
  });
  return converted;
}

/** Returns the texts of the items joined by commas. Each step joins its part, so that no later caller has to join all at once. */
export function* joinInSteps<T>(items: readonly T[], textOf: (item: T) => string): CooperativeTask<string> {
  const pieces: string[] = [];
  for (let from = 0; from < items.length; from += ITEMS_PER_STEP) {
    pieces.push(
      items
        .slice(from, from + ITEMS_PER_STEP)
        .map(textOf)
        .join(','),
    );
    yield;
  }
  return pieces.join(',');
}

/** Returns the items for which `test` is true, some at a time. */
export function* filterInSteps<T>(items: Iterable<T>, test: (item: T, index: number) => boolean): CooperativeTask<T[]> {
  const found: T[] = [];
  yield* eachInSteps(items, (item, index) => {
    if (test(item, index)) found.push(item);
  });
  return found;
}

/** Returns whether `test` is true for any of the items, some at a time. */
export function* someInSteps<T>(items: Iterable<T>, test: (item: T) => boolean): CooperativeTask<boolean> {
  let looked = 0;
  for (const item of items) {
    if (test(item)) return true;
    looked += 1;
    if (looked % ITEMS_PER_STEP === 0) yield;
  }
  return false;
}

/** Hands each item to `visit`, some at a time. */
export function* eachInSteps<T>(items: Iterable<T>, visit: (item: T, index: number) => void): CooperativeTask<void> {
  let index = 0;
  for (const item of items) {
    visit(item, index);
    index += 1;
    if (index % ITEMS_PER_STEP === 0) yield;
  }
}

/** Does all the work at once. The work must not wait for anything. */
export function atOnce<T>(steps: CooperativeTask<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    assert(!(value instanceof Promise), 'work that is done in one go may not wait');
  }
}
