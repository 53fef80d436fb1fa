import type { Clock } from '../../base/shared/clock.ts';

/** Keeps the pages of one state for a reader. `revoked` once it was revoked because it was too old. */
export interface SnapshotTicket {
  readonly version: number;
  readonly revoked: boolean;
  release(): void;
}

/** A class, because an accessor in an object literal costs microseconds. */
class Ticket implements SnapshotTicket {
  readonly version: number;
  /** In the clock's monotonic milliseconds. */
  readonly until: number;
  revoked = false;
  readonly #onRelease: (ticket: Ticket) => void;

  constructor(version: number, until: number, onRelease: (ticket: Ticket) => void) {
    this.version = version;
    this.until = until;
    this.#onRelease = onRelease;
  }

  release(): void {
    this.#onRelease(this);
  }
}

/**
 * Tracks which states readers hold, so that pages that they may still need are not dropped. A ticket is revoked after `maxAgeMs`,
 * since a slow reader must not keep free pages from being dropped forever.
 */
export class SnapshotRegister {
  readonly #held = new Set<Ticket>();
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  readonly #onRelease: () => void;

  constructor(clock: Clock, maxAgeMs: number, onRelease: () => void) {
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
    this.#onRelease = onRelease;
  }

  /** Takes a ticket. `maxAgeMs` is for readers that can't continue with another state. */
  take(version: number, maxAgeMs = this.#maxAgeMs): SnapshotTicket {
    const ticket = new Ticket(version, this.#clock.monotonic() + maxAgeMs, this.#release);
    this.#held.add(ticket);
    return ticket;
  }

  readonly #release = (ticket: Ticket): void => {
    if (this.#held.delete(ticket)) this.#onRelease();
  };

  /** The oldest version that a reader may still use; Infinity if no one reads. */
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
