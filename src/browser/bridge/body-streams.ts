/**
 * The two sides of a body that crosses a thread, with flow control by credit: the sender sends as many chunks as the reader has granted, and no
 * more.
 *
 * The sender reads its stream to the end or cancels it, whatever happens: when the reader cancels, when its pipe ends, or when the reader is
 * silent for 30 s. The reader grants credit for a few chunks beyond what was read, from the first read on. A body that is shorter or
 * longer than its length, or whose sender vanishes, fails; it never ends as if it were whole.
 */

import type { ByteStream } from '../../base/shared/message.ts';
import type { BodyStep } from './wire.ts';

/**
 * Carries the steps of one body between its two sides, in order: a MessagePort, or a name on a BroadcastChannel. A side that receives or sends
 * `end`, `fail` or `cancel` closes.
 */
export interface StepPipe {
  /** `isMovable`: no one else uses the bytes of a chunk (`ByteStream`). */
  send(step: BodyStep, isMovable?: boolean): void;
  /** Called with every step of the other side, from the moment it is set; earlier steps are kept for it. */
  listen(listener: (step: BodyStep) => void): void;
  close(): void;
}

/** From this size on, moving bytes costs less than having them copied. */
const MOVED_BYTES = 16_384;

/**
 * The step with the buffers to transfer with it. Bytes that are posted stay with the message event until the receiver's garbage is
 * collected, and the sender's own stay until its garbage is, which Chromium does rarely: 64 MB of a long body in each thread. Bytes
 * that are moved go with the chunk. A copy is moved if the sender's bytes may be part of a larger buffer.
 */
export function toMovable(
  step: BodyStep,
  isMovable: boolean,
): { readonly step: BodyStep; readonly transfer: ArrayBuffer[] } {
  if (step.step !== 'chunk' || step.bytes.length < MOVED_BYTES) return { step, transfer: [] };
  const { bytes } = step;
  if (isMovable && isWhole(bytes)) return { step, transfer: [bytes.buffer] };
  const copy = new Uint8Array(bytes);
  return { step: { step: 'chunk', bytes: copy }, transfer: [copy.buffer] };
}

function isWhole(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer && bytes.length === bytes.buffer.byteLength;
}

// ——— the reader ———

const encoder = new TextEncoder();

/** Chunks that are granted, on their way, or waiting to be read. */
const WINDOW = 4;
/** More chunks are granted when at most this many are left, so that not every chunk costs a message. */
const LOW = WINDOW / 2;
/** The sender gives a sign of life every third of this. */
const SILENCE_MS = 30_000;

export interface ReaderOptions {
  /** Fails the body when its sender is silent for 30 s: for senders on channels, which vanish without a sign. */
  readonly isWatched?: boolean;
}

/** `length` in bytes, if it is known in advance. */
export function readBody(pipe: StepPipe, length?: number, options: ReaderOptions = {}): ByteStream {
  return new BodyReader(pipe, length, options.isWatched === true);
}

interface Waiting {
  resolve(chunk: Uint8Array | undefined): void;
  reject(reason: Error): void;
}

class BodyReader implements ByteStream {
  readonly length?: number;
  /** They came in a message. */
  readonly isMovable = true;
  readonly #pipe: StepPipe;
  readonly #timer: ReturnType<typeof setInterval> | undefined;
  readonly #chunks: Uint8Array[] = [];
  #credit = 0;
  #received = 0;
  #heard = true;
  #isOver = false;
  #failure: Error | undefined;
  #waiting: Waiting | undefined;

  constructor(pipe: StepPipe, length: number | undefined, isWatched: boolean) {
    this.#pipe = pipe;
    if (length !== undefined) this.length = length;
    if (isWatched) this.#timer = setInterval(() => this.#watch(), SILENCE_MS);
    pipe.listen((step) => this.#take(step));
  }

  async pull(): Promise<Uint8Array | undefined> {
    const chunk = this.#chunks.shift();
    if (!this.#isOver) this.#grant();
    if (chunk !== undefined) return chunk;
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#isOver) return undefined;
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  async cancel(reason?: unknown): Promise<void> {
    if (this.#isOver) return;
    this.#chunks.length = 0;
    const why = reason instanceof Error ? reason.message : String(reason ?? 'no one reads it any more');
    this.#breakOff(new Error(`The body was cancelled: ${why}`), why);
  }

  #grant(): void {
    const ahead = this.#credit + this.#chunks.length;
    if (ahead > LOW) return;
    const chunks = WINDOW - ahead;
    this.#credit += chunks;
    this.#pipe.send({ step: 'pull', chunks });
  }

  #take(step: BodyStep): void {
    if (this.#isOver) return;
    this.#heard = true;
    if (step.step === 'chunk') this.#receive(step.bytes);
    else if (step.step === 'text') this.#receive(encoder.encode(step.text));
    else if (step.step === 'ask') this.#pipe.send({ step: 'hold' });
    else if (step.step === 'fail') this.#end(new Error(step.reason));
    else if (step.step === 'end') this.#end(this.#isShort() ? this.#wrongLength() : undefined);
  }

  #receive(bytes: Uint8Array): void {
    this.#credit--;
    this.#received += bytes.byteLength;
    if (this.length !== undefined && this.#received > this.length) {
      this.#breakOff(this.#wrongLength(), 'it is longer than announced');
      return;
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#chunks.push(bytes);
    else waiting.resolve(bytes);
  }

  #isShort(): boolean {
    return this.length !== undefined && this.#received < this.length;
  }

  #wrongLength(): Error {
    return new Error(`The body broke off: ${this.#received} bytes came where ${this.length} were announced`);
  }

  #watch(): void {
    if (!this.#heard) {
      const reason = `its sender was silent for ${SILENCE_MS / 1000} s`;
      this.#breakOff(new Error(`The body broke off: ${reason}`), reason);
    }
    this.#heard = false;
  }

  #breakOff(failure: Error, reason: string): void {
    this.#pipe.send({ step: 'cancel', reason });
    this.#end(failure);
  }

  #end(failure: Error | undefined): void {
    this.#isOver = true;
    this.#failure = failure;
    clearInterval(this.#timer);
    this.#pipe.close();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (failure === undefined) waiting?.resolve(undefined);
    else waiting?.reject(failure);
  }
}

// ——— the sender ———

/** How often the sender asks the reader for a sign of life. */
const ASK_MS = 10_000;
/** A reader that leaves this many of them unanswered loses its lease: after 30 s. */
const ASKS_PER_LEASE = 3;

/** Takes over the stream. */
export function sendBody(stream: ByteStream, pipe: StepPipe): void {
  new BodySender(stream, pipe).listen();
}

class BodySender {
  readonly #stream: ByteStream;
  readonly #pipe: StepPipe;
  readonly #timer: ReturnType<typeof setInterval>;
  #credit = 0;
  #unanswered = 0;
  #isSending = false;
  #isOver = false;

  constructor(stream: ByteStream, pipe: StepPipe) {
    this.#stream = stream;
    this.#pipe = pipe;
    this.#timer = setInterval(() => this.#ask(), ASK_MS);
  }

  listen(): void {
    this.#pipe.listen((step) => this.#take(step));
  }

  #take(step: BodyStep): void {
    if (this.#isOver) return;
    this.#unanswered = 0;
    if (step.step === 'cancel') {
      this.#giveUp(step.reason);
    } else if (step.step === 'pull') {
      this.#credit += step.chunks;
      if (!this.#isSending) void this.#sendGranted();
    }
  }

  async #sendGranted(): Promise<void> {
    this.#isSending = true;
    try {
      while (this.#credit > 0 && !this.#isOver) this.#send(await this.#next());
    } catch (error) {
      this.#fail(error);
    }
    this.#isSending = false;
  }

  #next(): Promise<Uint8Array | string | undefined> {
    const stream = this.#stream;
    return stream.pullText === undefined ? stream.pull() : stream.pullText();
  }

  #send(chunk: Uint8Array | string | undefined): void {
    if (this.#isOver) return;
    if (chunk === undefined) {
      this.#pipe.send({ step: 'end' });
      this.#end();
    } else if (chunk.length > 0) {
      this.#credit--;
      if (typeof chunk === 'string') this.#pipe.send({ step: 'text', text: chunk });
      else this.#pipe.send({ step: 'chunk', bytes: chunk }, this.#stream.isMovable);
    }
  }

  #fail(error: unknown): void {
    if (!this.#isOver) this.#breakOff(error instanceof Error ? error.message : String(error));
  }

  #ask(): void {
    this.#unanswered++;
    if (this.#unanswered < ASKS_PER_LEASE) this.#pipe.send({ step: 'ask' });
    else this.#breakOff(`The body was cancelled: its reader was silent for ${(ASKS_PER_LEASE * ASK_MS) / 1000} s`);
  }

  /** The reader fails with the reason. */
  #breakOff(reason: string): void {
    this.#pipe.send({ step: 'fail', reason });
    this.#giveUp(reason);
  }

  #giveUp(reason: string): void {
    this.#end();
    this.#stream.cancel(reason).catch(() => undefined);
  }

  #end(): void {
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#pipe.close();
  }
}
