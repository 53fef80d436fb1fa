import { DatabaseError } from '../../base/errors/database-error.ts';

/** Where there is no least rate: something comes within this time. */
const SILENCE_MS = 120_000;
/** The least rate is held to over this time, so that a pause is no harm. */
const INTERVAL_MS = 60_000;

/**
 * Watches that a body comes: the bytes that the least rate makes of a minute within each minute, or its end. Only time in which the client is waited for
 * counts.
 */
export class ArrivalWatch {
  readonly #dueBytes: number;
  readonly #dueMs: number;
  readonly #onFailure: (failure: DatabaseError) => void;
  #timer: NodeJS.Timeout | undefined;
  #since = 0;
  #waitedMs = 0;
  #came = 0;
  #received = 0;

  /** `leastRate` in bytes a second; 0: no more than that something comes every two minutes. `onFailure` gets what the request is refused with. */
  constructor(leastRate: number, onFailure: (failure: DatabaseError) => void) {
    this.#dueBytes = leastRate > 0 ? (leastRate * INTERVAL_MS) / 1000 : 1;
    this.#dueMs = leastRate > 0 ? INTERVAL_MS : SILENCE_MS;
    this.#onFailure = onFailure;
  }

  /** The client is waited for. */
  wait(): void {
    if (this.#timer !== undefined) return;
    this.#since = performance.now();
    this.#timer = setTimeout(() => this.#fail(), this.#dueMs - this.#waitedMs);
  }

  /** Bytes came, or nothing is waited for any more. */
  came(bytes: number): void {
    this.#received += bytes;
    this.#came += bytes;
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waitedMs = Math.min(this.#dueMs, this.#waitedMs + performance.now() - this.#since);
    if (this.#came < this.#dueBytes) return;
    this.#came = 0;
    this.#waitedMs = 0;
  }

  #fail(): void {
    this.#timer = undefined;
    const seconds = this.#dueMs / 1000;
    const what =
      this.#dueBytes === 1
        ? `Nothing of the request came for ${seconds} seconds`
        : `Fewer than ${this.#dueBytes} bytes of the request came within ${seconds} seconds (httpd/min_body_rate)`;
    const reason = `${what}, after ${this.#received} bytes of its body. Send it again${this.#dueBytes === 1 ? '' : ' over a faster connection'}.`;
    this.#onFailure(new DatabaseError('request_timeout', reason));
  }
}
