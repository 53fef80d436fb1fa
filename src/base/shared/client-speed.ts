/** A client that moves fewer bytes than this, in a second of its turns, is slow. */
const SLOW_BYTES_PER_MS = 16.384;
/** How many bytes a client may be behind when the judging begins, and ahead later. */
const BEHIND_BYTES = 8_192;
const AHEAD_BYTES = 32_768;
/** The part of what it was given last by which it may be further behind, since nobody sees how far that has come. */
const UNSEEN = 1 / 16;

/** Tells whether a client is slow, by the time that passes while it is for the client to send, or to take. */
export class ClientSpeed {
  readonly #now: () => number;
  /** Since when it is for the client. */
  #turnedAt: number | undefined;
  #given = 0;
  /** By how many bytes it is ahead of a slow one. */
  #ahead = BEHIND_BYTES;

  /** `now` in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  get isTheirTurn(): boolean {
    return this.#turnedAt !== undefined;
  }

  /** From now on it is for the client to send, or to take what it was given. */
  theirTurn(given: number): void {
    this.#given = given;
    this.#ahead = Math.min(this.#ahead + given, Math.max(AHEAD_BYTES, given));
    this.#turnedAt ??= this.#now();
  }

  /** Until now it was. It has sent so many bytes meanwhile. */
  ownTurn(sent: number): void {
    this.#charge();
    this.#turnedAt = undefined;
    this.#ahead = Math.min(this.#ahead + sent, AHEAD_BYTES);
  }

  /** Whether it was slow since it was asked last. */
  takeSlowness(): boolean {
    this.#charge();
    const isSlow = this.#ahead < 0;
    // What was slow before anybody minded is forgotten.
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
