import type { ByteStream, PlainHeaders } from '../../base/shared/message.ts';

/**
 * The body of a request that may have to be sent on after it was read. What its reader takes is kept until `end` is called, so it has to be a reader that
 * bounds what it takes.
 */
export class RepeatableStream implements ByteStream {
  readonly length?: number;
  readonly #stream: ByteStream;
  #kept: Uint8Array[] = [];
  #hasEnded = false;
  /** Whether it was given up before its end: the rest is needed only if it is sent on. */
  #isGivenUp = false;
  #isKept = true;

  constructor(stream: ByteStream) {
    this.#stream = stream;
    if (stream.length !== undefined) this.length = stream.length;
  }

  async pull(): Promise<Uint8Array | undefined> {
    const chunk = await this.#stream.pull();
    if (chunk === undefined) this.#hasEnded = true;
    else if (this.#isKept) this.#kept.push(chunk);
    return chunk;
  }

  get trailers(): PlainHeaders | undefined {
    return this.#stream.trailers;
  }

  /** With a reason, the sender is refused. Otherwise it may go on until it is known whether someone else reads the rest. */
  async cancel(reason?: unknown): Promise<void> {
    if (reason !== undefined || !this.#isKept) await this.#stream.cancel(reason);
    else this.#isGivenUp = true;
  }

  /** It is not sent on. */
  end(): void {
    this.#isKept = false;
    this.#kept = [];
    if (this.#isGivenUp && !this.#hasEnded) void this.#stream.cancel().catch(() => {});
  }

  /** Returns the whole body from its beginning, once. This one must not be read any more. */
  again(): ByteStream {
    const [stream, kept] = [this.#stream, this.#kept];
    const pull = async () => kept.shift() ?? (this.#hasEnded ? undefined : this.pull());
    this.#isKept = false;
    return {
      ...(this.length !== undefined && { length: this.length }),
      pull,
      cancel: (reason) => stream.cancel(reason),
      get trailers() {
        return stream.trailers;
      },
    };
  }
}
