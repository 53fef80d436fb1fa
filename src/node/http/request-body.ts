import type { IncomingMessage } from 'node:http';
import { DatabaseError } from '../../errors/database-error.ts';
import type { ByteStream, PlainHeaders } from '../../shared/message.ts';
import { toPlainHeaders } from './plain-headers.ts';

/** A body of at most this many bytes is collected before the request is handled; a larger one is streamed. */
const collectedBytes = 1024 * 1024;

/** A request fails when nothing of its body arrives for this long. */
const silenceMs = 120_000;

/**
 * The body of a request: null where it has none, one piece where it is small, else a stream with back-pressure. A
 * client that goes away before the end makes the promise, or the next pull, reject with `cancelled`.
 */
export function readBody(incoming: IncomingMessage): null | Promise<Uint8Array> | ByteStream {
  const declared = incoming.headers['content-length'];
  if (declared === undefined) {
    return incoming.headers['transfer-encoding'] === undefined ? null : new IncomingStream(incoming);
  }
  const length = Number(declared);
  if (length === 0) return null;
  return length <= collectedBytes ? collect(incoming, length) : new IncomingStream(incoming, length);
}

/** Resolves when the last byte arrives, without waiting for the stream's `end`. */
function collect(incoming: IncomingMessage, length: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let collected: Uint8Array | undefined;
    let filled = 0;
    const silence = endWhenSilent(incoming);
    incoming.on('data', (chunk: Buffer) => {
      if (chunk.length === length) collected = toBytes(chunk);
      else {
        collected ??= new Uint8Array(length);
        collected.set(chunk, filled);
      }
      filled += chunk.length;
      if (filled < length) return void silence.refresh();
      clearTimeout(silence);
      resolve(collected);
    });
    incoming.on('error', (error) => reject(interrupted(filled, error)));
    // `close` comes after a complete body as well, and creating an error is slow.
    incoming.on('close', () => {
      clearTimeout(silence);
      if (filled < length) reject(interrupted(filled));
    });
  });
}

function endWhenSilent(incoming: IncomingMessage): NodeJS.Timeout {
  return setTimeout(() => incoming.destroy(new Error(`nothing came for ${silenceMs / 1000} seconds`)), silenceMs);
}

/** Reads in paused mode: more is read from the socket only while a `pull` waits. */
class IncomingStream implements ByteStream {
  readonly length?: number;
  readonly #incoming: IncomingMessage;
  #received = 0;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(incoming: IncomingMessage, length?: number) {
    this.#incoming = incoming;
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
        return toBytes(chunk);
      }
      if (this.#incoming.readableEnded) return undefined;
      await this.#readable();
    }
  }

  get trailers(): PlainHeaders {
    return toPlainHeaders(this.#incoming.trailers);
  }

  async cancel(): Promise<void> {
    this.#failure ??= new DatabaseError('cancelled', 'The request body was not read to its end: its reader gave up.');
    this.#wakeUp();
    // The rest is read and dropped, because some clients read the answer only when they have sent everything.
    this.#incoming.resume();
  }

  #readable(): Promise<void> {
    return new Promise((resolve) => {
      const timer = endWhenSilent(this.#incoming);
      const wake = () => {
        clearTimeout(timer);
        this.#incoming.off('readable', wake);
        this.#wake = undefined;
        resolve();
      };
      this.#wake = wake;
      this.#incoming.on('readable', wake);
    });
  }

  #fail(cause?: Error): void {
    if (!this.#incoming.readableEnded) this.#failure ??= interrupted(this.#received, cause);
    this.#wakeUp();
  }

  #wakeUp(): void {
    this.#wake?.();
  }
}

/** The same bytes as a plain `Uint8Array`: its `slice` copies, while that of a Buffer does not. */
function toBytes(chunk: Buffer): Uint8Array {
  return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length);
}

function interrupted(received: number, cause?: Error): DatabaseError {
  const why = cause ? ` (${cause.message})` : '';
  return new DatabaseError('cancelled', `The request body ended after ${received} bytes, before its end${why}.`, {
    cause,
  });
}
