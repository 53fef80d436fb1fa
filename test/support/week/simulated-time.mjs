/**
 * Time that a test advances, in a whole process: `Date.now()`, `performance.now()` and timers. It passes as real time does, and `advance` lets
 * hours pass at once, as if the machine had slept: timers that are due run in the next turns, in the order in which they were due. Timeouts that Node itself keeps for
 * sockets are not affected.
 */

/** @param {number} aheadMs of real time, at the beginning */
export function simulateTime(aheadMs = 0) {
  const real = { setTimeout, clearTimeout, setInterval, clearInterval };
  const dateNow = Date.now;
  const monotonicNow = performance.now;
  const monotonic = () => monotonicNow.call(performance) + offset;
  let offset = aheadMs;
  const timers = new Set();

  class SimulatedTimer {
    #work;
    #delayMs;
    #isRepeated;
    #isReferenced = true;
    #handle;
    dueAt = 0;

    constructor(work, ms, isRepeated) {
      this.#work = work;
      // As Node does: a delay that is no number, or too long, is a millisecond.
      this.#delayMs = ms >= 1 && ms <= 2_147_483_647 ? ms : 1;
      this.#isRepeated = isRepeated;
      this.refresh();
    }

    refresh() {
      this.dueAt = monotonic() + this.#delayMs;
      timers.add(this);
      this.schedule();
      return this;
    }

    schedule() {
      real.clearTimeout(this.#handle);
      this.#handle = real.setTimeout(() => this.#run(), Math.max(0, this.dueAt - monotonic()));
      if (!this.#isReferenced) this.#handle.unref();
    }

    close() {
      real.clearTimeout(this.#handle);
      timers.delete(this);
      return this;
    }

    ref() {
      this.#isReferenced = true;
      this.#handle.ref();
      return this;
    }

    unref() {
      this.#isReferenced = false;
      this.#handle.unref();
      return this;
    }

    hasRef() {
      return this.#isReferenced;
    }

    #run() {
      timers.delete(this);
      if (this.#isRepeated) this.refresh();
      this.#work();
    }
  }

  const start = (work, ms, values, isRepeated) => new SimulatedTimer(() => work(...values), ms, isRepeated);
  const stopTimer = (timer, stopReal) => (timer instanceof SimulatedTimer ? timer.close() : stopReal(timer));
  globalThis.setTimeout = (work, ms, ...values) => start(work, ms, values, false);
  globalThis.setInterval = (work, ms, ...values) => start(work, ms, values, true);
  globalThis.clearTimeout = (timer) => void stopTimer(timer, real.clearTimeout);
  globalThis.clearInterval = (timer) => void stopTimer(timer, real.clearInterval);
  Date.now = () => Math.round(dateNow() + offset);
  performance.now = monotonic;

  return {
    /** How far time is ahead of real time, in milliseconds. */
    get aheadMs() {
      return offset;
    },

    /** @param {number} ms */
    advance(ms) {
      offset += ms;
      for (const timer of [...timers].sort((one, other) => one.dueAt - other.dueAt)) timer.schedule();
    },

    /** Timers that were started go on in real time, as far as they have come. */
    restore() {
      Object.assign(globalThis, real);
      Date.now = dateNow;
      performance.now = monotonicNow;
    },
  };
}
