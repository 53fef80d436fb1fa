import type { IncomingMessage } from 'node:http';
import { DatabaseError } from '../../errors/database-error.ts';
import type { ByteStream, PlainHeaders } from '../../shared/message.ts';
import { toPlainHeaders } from './plain-headers.ts';

/** A body of at most this many bytes is collected before the request is handled; a larger one is streamed. */
const collectedBytes = 1024 * 1024;

/** A request is answered 408 when nothing of its body arrives for this long. */
const silenceMs = 120_000;

/**
 * The body of a request: null where it has none, one piece where it is small, else a stream with back-pressure. A
 * client that goes away before the end makes the promise, or the next pull, reject with `cancelled`; one that is silent for too long,
 * with `request_timeout`. Then `onSilence` is called first: nothing more should be read from the connection.
 */
export function readBody(
  incoming: IncomingMessage,
  onSilence: () => void = () => {},
): null | Promise<Uint8Array> | ByteStream {
  const declared = incoming.headers['content-length'];
  if (declared === undefined) {
    return incoming.headers['transfer-encoding'] === undefined ? null : new IncomingStream(incoming, onSilence);
  }
  const length = Number(declared);
  if (length === 0) return null;
  return length <= collectedBytes
    ? collect(incoming, length, onSilence)
    : new IncomingStream(incoming, onSilence, length);
}

/** Resolves when the last byte arrives, without waiting for the stream's `end`. */
function collect(incoming: IncomingMessage, length: number, onSilence: () => void): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let collected: Uint8Array | undefined;
    let filled = 0;
    const silence = afterSilence(() => {
      onSilence();
      reject(silent(filled));
    });
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

function afterSilence(act: () => void): NodeJS.Timeout {
  return setTimeout(act, silenceMs);
}

/** Reads in paused mode: more is read from the socket only while a `pull` waits. */
class IncomingStream implements ByteStream {
  readonly length?: number;
  readonly #incoming: IncomingMessage;
  readonly #onSilence: () => void;
  #received = 0;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(incoming: IncomingMessage, onSilence: () => void, length?: number) {
    this.#incoming = incoming;
    this.#onSilence = onSilence;
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
      const timer = afterSilence(() => this.#endSilence());
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

  #endSilence(): void {
    this.#onSilence();
    this.#failure ??= silent(this.#received);
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

/** The same bytes as a plain `Uint8Array`: its `slice` copies, while that of a Buffer does not. */
function toBytes(chunk: Buffer): Uint8Array {
  return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length);
}

function silent(received: number): DatabaseError {
  const reason = `Nothing of the request came for ${silenceMs / 1000} seconds, after ${received} bytes of its body. Send it again.`;
  return new DatabaseError('request_timeout', reason);
}

function interrupted(received: number, cause?: Error): DatabaseError {
  const why = cause ? ` (${cause.message})` : '';
  return new DatabaseError('cancelled', `The request body ended after ${received} bytes, before its end${why}.`, {
    cause,
  });
}
