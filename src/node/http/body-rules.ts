/** What holds for every body that arrives over the network: how it is counted, and how fast it has to come. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { ByteLease } from '../../base/shared/byte-budget.ts';

/** Members are called for each body. */
export interface BodyRules {
  /** The minimum rate of a body in bytes per second; 0: no such rate. Default: 0. */
  readonly leastRate?: (() => number) | undefined;
  /** Counts the bytes of a body that have arrived while it is collected. Default: not counted. */
  readonly lease?: (() => ByteLease | undefined) | undefined;
  /** Called before a body is refused in its middle: nothing more should be read from the connection. */
  readonly onSilence?: (() => void) | undefined;
}

/** The same bytes as a plain `Uint8Array`: its `slice` copies, while that of a Buffer does not. */
export function toBytes(chunk: Buffer): Uint8Array {
  return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length);
}

export function interrupted(received: number, cause?: Error): DatabaseError {
  const why = cause ? ` (${cause.message})` : '';
  return new DatabaseError('cancelled', `The request body ended after ${received} bytes, before its end${why}.`, {
    cause,
  });
}

/** Without a minimum rate: some bytes must arrive within this time. */
const SILENCE_MS = 120_000;
/** The minimum rate applies over this time, so that a pause does no harm. */
const INTERVAL_MS = 60_000;

/**
 * Watches that a body arrives: within each minute the bytes that the minimum rate requires per minute, or its end. Only time spent waiting for the
 * client counts.
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

  /** `leastRate` in bytes per second; 0: only requires some bytes every two minutes. `onFailure` gets the reason for refusing the request. */
  constructor(leastRate: number, onFailure: (failure: DatabaseError) => void) {
    this.#dueBytes = leastRate > 0 ? (leastRate * INTERVAL_MS) / 1000 : 1;
    this.#dueMs = leastRate > 0 ? INTERVAL_MS : SILENCE_MS;
    this.#onFailure = onFailure;
  }

  /** The server waits for the client. */
  wait(): void {
    if (this.#timer !== undefined) return;
    this.#since = performance.now();
    this.#timer = setTimeout(() => this.#fail(), this.#dueMs - this.#waitedMs);
  }

  /** Bytes arrived, or the server no longer waits for any. */
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
        ? `No part of the request arrived for ${seconds} seconds`
        : `Fewer than ${this.#dueBytes} bytes of the request arrived within ${seconds} seconds (httpd/min_body_rate)`;
    const reason = `${what}, after ${this.#received} bytes of its body. Send it again${this.#dueBytes === 1 ? '' : ' over a faster connection'}.`;
    this.#onFailure(new DatabaseError('request_timeout', reason));
  }
}
