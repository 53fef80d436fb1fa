/** Sharing the thread: how long work is done in pieces, so that timers, input and other requests get their turns between them. */
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
    const { port1, port2 } = new MessageChannel();
    const onmessage = () => {
      port1.close();
      resolve();
    };
    // A handler that is set also starts the port. Node's types know none.
    Object.assign(port1, { onmessage });
    port2.postMessage(undefined);
  });
}

/** How long the thread is held in one go: others wait about two frames then, and a turn costs a hundredth of it. */
const HOLD_MS = 30;

/** Tells when the thread has been held for long enough. Where work has many small pieces, ask after some of them only. */
export class Pace {
  readonly #holdMs: number;
  #since = performance.now();

  constructor(holdMs = HOLD_MS) {
    this.#holdMs = holdMs;
  }

  get isDue(): boolean {
    return performance.now() - this.#since >= this.#holdMs;
  }

  /** Lets others have a turn if it is due. Callers on a hot path ask `isDue` before. */
  async rest(): Promise<void> {
    if (!this.isDue) return;
    await nextTurn();
    this.#since = performance.now();
  }
}

/** Work that can be left, and gone on with later, wherever it yields. */
export type Steps<T> = Generator<void, T, void>;

/** Does all the work, with turns for others in between. What takes no longer than a turn is done at once. */
export function inTurns<T>(steps: Steps<T>): MaybePromise<T> {
  // Most work has one step: no clock is needed for that.
  let step = steps.next();
  if (step.done === true) return step.value;
  const pace = new Pace();
  for (;;) {
    step = steps.next();
    if (step.done === true) return step.value;
    if (pace.isDue) return goOn(steps, pace);
  }
}

async function goOn<T>(steps: Steps<T>, pace: Pace): Promise<T> {
  for (;;) {
    if (pace.isDue) await pace.rest();
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Items converted between two looks at the clock. */
const ITEMS_PER_STEP = 256;

/** `items.map(convert)`, some at a time. */
export function* mapInSteps<T, R>(items: readonly T[], convert: (item: T) => R): Steps<R[]> {
  const converted: R[] = [];
  for (const item of items) {
    converted.push(convert(item));
    if (converted.length % ITEMS_PER_STEP === 0) yield;
  }
  return converted;
}
