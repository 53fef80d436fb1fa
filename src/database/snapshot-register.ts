import type { Clock } from '../shared/clock.ts';

/** A reader's hold on one state. `revoked` once it was taken back because it grew too old. */
export interface SnapshotTicket {
  readonly version: number;
  readonly revoked: boolean;
  release(): void;
}

interface Held {
  readonly version: number;
  /** In the clock's monotonic milliseconds. */
  readonly until: number;
  revoked: boolean;
}

/**
 * Which states readers hold on to, so that pages they may still need are not dropped. A hold ends by itself after
 * `maxAgeMs`: a slow reader can't keep garbage for ever.
 */
export class SnapshotRegister {
  readonly #held = new Set<Held>();
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  readonly #onRelease: () => void;

  constructor(clock: Clock, maxAgeMs: number, onRelease: () => void) {
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
    this.#onRelease = onRelease;
  }

  /** `maxAgeMs` is for those that can't go on with another state. */
  take(version: number, maxAgeMs = this.#maxAgeMs): SnapshotTicket {
    const held: Held = { version, until: this.#clock.monotonic() + maxAgeMs, revoked: false };
    this.#held.add(held);
    const release = () => {
      if (this.#held.delete(held)) this.#onRelease();
    };
    return {
      version,
      get revoked() {
        return held.revoked;
      },
      release,
    };
  }

  /** The oldest version that a reader may still look at; Infinity where nobody reads. */
  get oldestVersion(): number {
    const now = this.#clock.monotonic();
    let oldest = Number.POSITIVE_INFINITY;
    for (const held of this.#held) {
      if (held.until < now) {
        held.revoked = true;
        this.#held.delete(held);
      } else if (held.version < oldest) oldest = held.version;
    }
    return oldest;
  }
}
