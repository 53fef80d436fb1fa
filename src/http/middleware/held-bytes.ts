/**
 * Gives back what a request holds of the bytes in flight: with its answer, or, where that is a stream, when it was read or given up. A stream
 * whose reader loses the right to it breaks off (docs/http.md#rights-that-end).
 */
import { whenReady } from '../../shared/maybe-promise.ts';
import type { ByteStream } from '../../shared/message.ts';
import { isStream } from '../request/bodies.ts';
import type { Context, Handler } from '../request/context.ts';
import { assertKept, isSurelyKept } from '../request/kept-rights.ts';
import { LiveBody } from '../response/live-body.ts';

/** What a stream holds for a reader that is slow, about: the rows that are being made, their text, and its bytes. */
const STREAM_BYTES = 524_288;

/** `next` answers failures, too. */
export function releaseBytes(next: Handler): Handler {
  return (context) =>
    whenReady(next(context), (answer) => {
      if (isStream(answer.body)) return { ...answer, body: new CountedStream(answer.body, context) };
      context.releaseBytes();
      return answer;
    });
}

class CountedStream implements ByteStream {
  readonly length?: number;
  readonly pullText?: () => Promise<string | undefined>;
  readonly #stream: ByteStream;
  readonly #context: Context;

  constructor(stream: ByteStream, context: Context) {
    this.#stream = stream;
    this.#context = context;
    if (stream.length !== undefined) this.length = stream.length;
    if (stream.pullText !== undefined) this.pullText = () => this.#next(() => stream.pullText?.());
    // That one counts itself: it holds next to nothing while it waits.
    context.countStream(stream instanceof LiveBody ? 0 : STREAM_BYTES);
  }

  pull(): Promise<Uint8Array | undefined> {
    return this.#next(() => this.#stream.pull());
  }

  /** Who reads slowly, while others wait for what it holds, gives way to them. */
  onBreak(act: () => void): void {
    this.#stream.onBreak?.(act);
    this.#context.memory.giveWay = act;
  }

  async cancel(reason?: unknown): Promise<void> {
    try {
      await this.#stream.cancel(reason);
    } finally {
      this.#context.releaseBytes();
    }
  }

  async #next<T extends { readonly length: number }>(
    pull: () => Promise<T | undefined> | undefined,
  ): Promise<T | undefined> {
    const { memory } = this.#context;
    memory.ownTurn();
    try {
      if (!isSurelyKept(this.#context)) await this.#assertKept();
      const chunk = await pull();
      if (chunk === undefined) this.#context.releaseBytes();
      else memory.theirTurn(chunk.length);
      return chunk;
    } catch (failure) {
      this.#context.releaseBytes();
      throw failure;
    }
  }

  async #assertKept(): Promise<void> {
    try {
      await assertKept(this.#context);
    } catch (failure) {
      // Nobody may read on.
      await this.#stream.cancel(failure);
      throw failure;
    }
  }
}
