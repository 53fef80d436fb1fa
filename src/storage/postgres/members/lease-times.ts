/** Beats in a period: some may fail before the server stops. */
export const BEATS = 6;
/** How often a server looks for the others, in milliseconds: at most this long after the owner has left, one that stands by takes the storage. */
const LOOK_MS = 300;

/** Milliseconds between two looks. A short lease makes them more frequent. */
export function lookEveryMs(leaseMs: number): number {
  return Math.min(LOOK_MS, leaseMs / BEATS);
}

/** A wait that can be ended early, and keeps no process alive. */
export class Pause {
  #end: () => void = () => undefined;

  /** `isOver`: whether it has ended already. */
  begin(ms: number, isOver = false): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      timer.unref();
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
      if (isOver) this.#end();
    });
  }

  end(): void {
    this.#end();
  }
}

/** Two clocks: one never jumps, and the other one goes on while a machine is suspended. */
export interface Times {
  readonly steady: number;
  readonly wall: number;
}

export function times(): Times {
  return { steady: performance.now(), wall: Date.now() };
}

/** How long ago a row was renewed, for the server whose row it is. */
export class LastRenewal {
  readonly #leaseMs: number;
  #at: Times = { steady: 0, wall: 0 };

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  /** To be called when a renewal has succeeded, with the times before it was sent. */
  note(sentAt: Times): void {
    this.#at = sentAt;
  }

  /** In milliseconds, by the clock that shows more. */
  get ageMs(): number {
    return Math.max(performance.now() - this.#at.steady, Date.now() - this.#at.wall);
  }

  /** Whether the lease can't have ended: less than two thirds of it have passed. */
  get isFresh(): boolean {
    return this.ageMs < (this.#leaseMs * 2) / 3;
  }
}
