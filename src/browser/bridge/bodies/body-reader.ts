/**
 * The reader's side of a body that crosses a thread. Grants the maker credit for a few chunks beyond what was read, from the
 * first read on. A body that is shorter or longer than its length, or whose maker vanishes, fails; it never ends as if it were whole.
 */
import type { ByteStream } from '../../../base/shared/message.ts';
import type { BodyStep } from '../wire/wire.ts';
import type { StepPipe } from './steps.ts';

const encoder = new TextEncoder();

/** Chunks that are granted, on their way, or waiting to be read. */
const WINDOW = 4;
/** More chunks are granted when at most this many are left, so that not every chunk costs a message. */
const LOW = WINDOW / 2;
/** The maker gives a sign of life every third of this. */
const SILENCE_MS = 30_000;

export interface ReaderOptions {
  /** Fails the body when its maker is silent for 30 s: for makers on channels, which vanish without a sign. */
  readonly isWatched?: boolean;
}

/** `length` in bytes, if it is known in advance. */
export function openBody(pipe: StepPipe, length?: number, options: ReaderOptions = {}): ByteStream {
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
    const why = reason instanceof Error ? reason.message : String(reason ?? 'nobody reads on');
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
      this.#breakOff(this.#wrongLength(), 'it is longer than was announced');
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
      const reason = `its maker was silent for ${SILENCE_MS / 1000} s`;
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
