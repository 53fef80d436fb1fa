/** Sharing the thread: how long work is done in pieces, so that timers, input and other requests get their turns between them. */
import { assert, must } from './assert.ts';
import type { MaybePromise } from './maybe-promise.ts';

/**
 * Resolves in a later turn of the event loop, after whatever else waits for one: timers, input, other tasks. Promises
 * alone never let those run. Not by a timer: browsers make nested ones wait 4 ms.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    // Node's own; there a channel would keep the process alive, and cost more.
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

/** Kept for all turns: to make a channel for one takes longer than the turn does (33 µs instead of 14 in Chromium). */
class TurnChannel {
  readonly #post: () => void;
  readonly #waiting: (() => void)[] = [];

  constructor() {
    const { port1, port2 } = new MessageChannel();
    const onmessage = () => this.#waiting.shift()?.();
    // A handler that is set also starts the port. Node's types know none.
    Object.assign(port1, { onmessage });
    this.#post = () => port2.postMessage(undefined);
  }

  /** Each has a turn of its own. */
  wait(resolve: () => void): void {
    this.#waiting.push(resolve);
    this.#post();
  }
}

/** How long the thread is held in one go by work that can wait. A turn costs a thousandth of it. */
const HOLD_MS = 5;
/** Work that had fewer turns of its own goes on before what had more: by so many, and by so many. */
const FEW_TURNS = 8;
const SOME_TURNS = 64;
/** But one turn of so many is for the others. */
const OTHERS_TURN = 4;
/** Work that has just begun goes on for so long in a turn that others have used up, so that what is small need not wait for them. */
const LEAST_MS = 1;
/** But a turn that has lasted this long has room for nothing more: a thousand small pieces of work, a millisecond each, would hold the thread for a second. */
const LONGEST_TURN_MS = 15;

/**
 * What all long work on this thread shares: since when the present turn holds the thread, and who waits for a turn of its own. One
 * waiter goes on in each turn, with input and output in between: so ten of them hold up others no longer than one does. Those that had few turns
 * go first, each kind in the order in which they came: a small write does not wait for a thousand answers that are being made. It knows the thread alone, which nobody can pass in, and keeps nothing of the work.
 */
class ThreadTurns {
  #heldSince: number | undefined;
  /** Those that had few turns, some, and many. */
  #waiting: readonly (() => void)[][] = [[], [], []];
  #turns = 0;
  #isEndDue = false;

  /** When this turn began, as far as long work was asked about it. */
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

/** For how many milliseconds the present turn has held the thread, as far as long work asked about it. */
export function heldMs(): number {
  const now = performance.now();
  return now - thread.heldSince(now);
}

/** Whether the present turn has held the thread for long enough. */
export function isThreadUsedUp(): boolean {
  return heldMs() >= HOLD_MS;
}

/** Whether long work waits for its next turn, which it may get before anything else that waits for one. */
export function isThreadWanted(): boolean {
  return thread.hasWaiting;
}

/** Tells when the thread has been held for long enough. Where work has many small pieces, ask after some of them only. */
export class TimeSlice {
  readonly #holdMs: number;
  #turns = 0;
  #since = performance.now();

  /** `holdMs`: for work that leaves the thread to others sooner than it has to. */
  constructor(holdMs = HOLD_MS) {
    this.#holdMs = holdMs;
    thread.heldSince(this.#since);
  }

  /** Whether this work has held the thread for long enough, or has come to a turn that other long work has used up. */
  get isDue(): boolean {
    const now = performance.now();
    const held = now - thread.heldSince(now);
    return held >= this.#holdMs && (now - this.#since >= LEAST_MS || held >= LONGEST_TURN_MS);
  }

  /** Lets others have a turn if it is due. Callers on a hot path ask `isDue` before. */
  async rest(): Promise<void> {
    if (this.isDue) await this.endTurn();
  }

  /** Lets others have a turn. */
  async endTurn(): Promise<void> {
    await thread.ownTurn(this.#turns);
    this.#turns += 1;
    this.#since = performance.now();
  }
}

/** Where this turn has lasted for too long, waits for another one: for many pieces of work that come to go on in the same turn. */
export function roomInTurn(): MaybePromise<void> {
  const timeSlice = new TimeSlice();
  return timeSlice.isDue ? timeSlice.endTurn() : undefined;
}

/** Yielded before a step that can't be divided and takes longer than a turn should: it gets a turn to itself. */
export const LONG_STEP = Symbol('long step');

/**
 * Work that can be left, and gone on with later, wherever it yields. What it yields says when: in a later turn if this one has lasted long
 * enough (undefined), in a turn of its own (`LONG_STEP`), or when a promise has settled (`ready`).
 */
export type CooperativeTask<T> = Generator<typeof LONG_STEP | Promise<unknown> | undefined, T, void>;

/** The value: at once where it is at hand. For use in steps, as `await` is in an async function. */
export function* ready<T>(value: MaybePromise<T>): CooperativeTask<T> {
  if (!(value instanceof Promise)) return value;
  let settled: { readonly value: T } | undefined;
  yield value.then((late) => {
    settled = { value: late };
  });
  return must(settled, 'steps went on before what they wait for').value;
}

/** Does all the work, with turns for others in between. What takes no longer than a turn, and waits for nothing, is done at once. */
export function runCooperatively<T>(steps: CooperativeTask<T>): MaybePromise<T> {
  // Most work has one step: no clock is needed for that.
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
    // A promise is waited for at once, or its failure would be no one's.
    if (reason === LONG_STEP && !(step.value instanceof Promise)) await timeSlice.endTurn();
    reason = step.value;
  }
}

type Step<T> = ReturnType<CooperativeTask<T>['next']>;

/** Where the promise rejects the work fails at the place where it waits. */
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

/** Items converted between two looks at the clock. */
const ITEMS_PER_STEP = 256;

/** What `convert` makes of each item, some at a time. */
export function* mapInSteps<T, R>(items: Iterable<T>, convert: (item: T, index: number) => R): CooperativeTask<R[]> {
  const converted: R[] = [];
  yield* eachInSteps(items, (item, index) => {
    converted.push(convert(item, index));
  });
  return converted;
}

/** The texts of the items with commas between them. It is put together in each step, so that nobody has to do it in one go later. */
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

/** Those of the items of which `test` is true, some at a time. */
export function* filterInSteps<T>(items: Iterable<T>, test: (item: T, index: number) => boolean): CooperativeTask<T[]> {
  const found: T[] = [];
  yield* eachInSteps(items, (item, index) => {
    if (test(item, index)) found.push(item);
  });
  return found;
}

/** Whether `test` is true of any of the items, some at a time. */
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

/** Does all the work in one go. It may wait for nothing. */
export function atOnce<T>(steps: CooperativeTask<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    assert(!(value instanceof Promise), 'work that is done in one go may not wait');
  }
}
