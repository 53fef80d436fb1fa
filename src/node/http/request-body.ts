/** What the core gets of a request of Node's: its body, and its headers. */
import type { IncomingMessage } from 'node:http';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { assert } from '../../base/shared/assert.ts';
import type { ByteStream, PlainHeaders } from '../../base/shared/message.ts';
import { ArrivalWatch, type BodyRules, interrupted, toBytes } from './body-rules.ts';
import { collectBody } from './small-body.ts';

/** A body of at most this many bytes is collected before the request is handled; a larger one is streamed. */
const collectedBytes = 1024 * 1024;

/**
 * The body of a request: null if it has none, one piece if it is small, else a stream with back-pressure. A
 * client that goes away before the end makes the promise, or the next pull, reject with `cancelled`; one that is silent or too slow,
 * with `request_timeout`; one that waits for memory for too long, or is slow while others do, with `too_busy`.
 */
export function readBody(incoming: IncomingMessage, rules: BodyRules = {}): null | Promise<Uint8Array> | ByteStream {
  const declared = incoming.headers['content-length'];
  if (declared === undefined) {
    return incoming.headers['transfer-encoding'] === undefined ? null : new IncomingStream(incoming, rules);
  }
  const length = Number(declared);
  if (length === 0) return null;
  return length <= collectedBytes ? collectBody(incoming, length, rules) : new IncomingStream(incoming, rules, length);
}

/** Reads in paused mode: more is read from the socket only while a `pull` waits. */
class IncomingStream implements ByteStream {
  readonly length?: number;
  readonly #incoming: IncomingMessage;
  readonly #onSilence: (() => void) | undefined;
  readonly #watch: ArrivalWatch;
  #received = 0;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(incoming: IncomingMessage, { onSilence, leastRate }: BodyRules, length?: number) {
    this.#incoming = incoming;
    this.#onSilence = onSilence;
    this.#watch = new ArrivalWatch(leastRate?.() ?? 0, (failure) => this.#refuse(failure));
    if (length !== undefined) this.length = length;
    incoming.on('error', (error) => this.#fail(error));
    incoming.on('close', () => this.#fail());
    incoming.on('end', () => this.#wakeUp());
  }

  async pull(): Promise<Uint8Array | undefined> {
    for (;;) {
      if (this.#failure) throw this.#failure;
      const chunk: Buffer | null = this.#incoming.read();
      if (chunk !== null) {
        this.#received += chunk.length;
        this.#watch.came(chunk.length);
        return toBytes(chunk);
      }
      if (this.#incoming.readableEnded) return undefined;
      await this.#readable();
    }
  }

  get trailers(): PlainHeaders {
    return toPlainHeaders(this.#incoming.trailers);
  }

  async cancel(reason?: unknown): Promise<void> {
    // It is refused, rather than not needed: its sender may be too slow to wait for.
    if (reason !== undefined) this.#onSilence?.();
    this.#failure ??= new DatabaseError('cancelled', 'The request body was not read to its end: its reader gave up.');
    this.#wakeUp();
    // The rest is read and dropped, because some clients read the response only when they have sent everything.
    this.#incoming.resume();
  }

  #readable(): Promise<void> {
    return new Promise((resolve) => {
      this.#watch.wait();
      const wake = () => {
        this.#watch.came(0);
        this.#incoming.off('readable', wake);
        this.#wake = undefined;
        resolve();
      };
      this.#wake = wake;
      this.#incoming.on('readable', wake);
    });
  }

  #refuse(failure: DatabaseError): void {
    this.#onSilence?.();
    this.#failure ??= failure;
    this.#wakeUp();
  }

  #fail(cause?: Error): void {
    if (!this.#incoming.readableEnded) this.#failure ??= interrupted(this.#received, cause);
    this.#wakeUp();
  }

  #wakeUp(): void {
    this.#wake?.();
  }
}

type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Node has already lower-cased names and joined repeated lines, except for `Set-Cookie`, which no request should have. */
export function toPlainHeaders(headers: IncomingHeaders): PlainHeaders {
  if (isPlain(headers)) return headers;
  const { 'set-cookie': _, ...others } = headers;
  assert(isPlain(others), 'only Set-Cookie has several lines');
  return others;
}

function isPlain(headers: IncomingHeaders): headers is PlainHeaders {
  return headers['set-cookie'] === undefined;
}
