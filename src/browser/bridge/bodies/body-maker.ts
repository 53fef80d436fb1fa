/**
 * The maker's side of a body that crosses a thread: pulls from the stream as many chunks as the reader has granted, and no more.
 * Whatever happens, the stream is read to its end or cancelled: when the reader cancels, when its pipe ends, or when the reader is silent for 30 s.
 */
import type { ByteStream } from '../../../base/shared/message.ts';
import type { BodyStep } from '../wire/wire.ts';
import type { StepPipe } from './steps.ts';

/** How often the maker asks the reader for a sign of life. */
const ASK_MS = 10_000;
/** A reader that leaves this many of them unanswered loses its lease: after 30 s. */
const ASKS_PER_LEASE = 3;

/** Takes over the stream. */
export function serveBody(stream: ByteStream, pipe: StepPipe): void {
  new BodyMaker(stream, pipe).listen();
}

class BodyMaker {
  readonly #stream: ByteStream;
  readonly #pipe: StepPipe;
  readonly #timer: ReturnType<typeof setInterval>;
  #credit = 0;
  #unanswered = 0;
  #isMaking = false;
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
      if (!this.#isMaking) void this.#make();
    }
  }

  async #make(): Promise<void> {
    this.#isMaking = true;
    try {
      while (this.#credit > 0 && !this.#isOver) this.#send(await this.#next());
    } catch (error) {
      this.#fail(error);
    }
    this.#isMaking = false;
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
    else this.#breakOff(`The body was given up: its reader was silent for ${(ASKS_PER_LEASE * ASK_MS) / 1000} s`);
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
