/** A client that moves fewer bytes than this, in a second of its turns, is slow. */
const SLOW_BYTES_PER_MS = 16.384;
/** How many bytes a client may be behind when measuring begins, and ahead later. */
const BEHIND_BYTES = 8_192;
const AHEAD_BYTES = 32_768;
/** The share of what it was given last that it may be behind in addition, since no one sees how much of that has arrived. */
const UNSEEN = 1 / 16;

/** Determines whether a client is slow, by the time that passes during its turn to send or receive. */
export class ClientSpeed {
  readonly #now: () => number;
  /** When the client's turn began. */
  #turnedAt: number | undefined;
  #given = 0;
  /** How many bytes it is ahead of a slow client. */
  #ahead = BEHIND_BYTES;

  /** `now` in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  get isTheirTurn(): boolean {
    return this.#turnedAt !== undefined;
  }

  /** Starts the client's turn to send, or to receive what it was given. */
  theirTurn(given: number): void {
    this.#given = given;
    this.#ahead = Math.min(this.#ahead + given, Math.max(AHEAD_BYTES, given));
    this.#turnedAt ??= this.#now();
  }

  /** Ends the client's turn. It sent this many bytes meanwhile. */
  ownTurn(sent: number): void {
    this.#charge();
    this.#turnedAt = undefined;
    this.#ahead = Math.min(this.#ahead + sent, AHEAD_BYTES);
  }

  /** Returns whether it was slow since the last call. */
  takeSlowness(): boolean {
    this.#charge();
    const isSlow = this.#ahead < 0;
    // Slowness before this call is forgotten.
    this.#ahead = Math.max(this.#ahead, 0);
    return isSlow;
  }

  judgeAnew(): void {
    this.#charge();
    this.#ahead = BEHIND_BYTES + Math.min(this.#given * UNSEEN, 2 * AHEAD_BYTES);
  }

  #charge(): void {
    if (this.#turnedAt === undefined) return;
    const now = this.#now();
    this.#ahead -= (now - this.#turnedAt) * SLOW_BYTES_PER_MS;
    this.#turnedAt = now;
  }
}
