import { pause } from '../../base/shared/clock.ts';

/** This long without a call is quiet. */
const QUIET_MS = 100;
/** A page that is never quiet waits no longer than this. */
const MAX_MS = 2_000;
/** How often it checks while calls are in progress. */
const LOOK_MS = 25;

/** Watches a page's calls, to tell when it has time for work that can wait. */
export class QuietWatch {
  readonly #now: () => number;
  #underWay = 0;
  #lastAt = 0;

  /** `now` in milliseconds. */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  begin(): void {
    this.#underWay++;
  }

  end(): void {
    this.#underWay--;
    this.#lastAt = this.#now();
  }

  /** Resolves when no call has been in progress for 100 ms, counted from now at the earliest, or after two seconds. */
  async quiet(): Promise<void> {
    const begun = this.#now();
    this.#lastAt = Math.max(this.#lastAt, begun);
    for (;;) {
      const now = this.#now();
      const left = QUIET_MS - (now - this.#lastAt);
      const isQuiet = this.#underWay === 0 && left <= 0;
      if (isQuiet || now - begun >= MAX_MS) return;
      await pause(this.#underWay > 0 ? LOOK_MS : Math.max(1, left));
    }
  }
}
