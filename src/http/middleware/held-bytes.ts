/**
 * Releases the memory accounted to a request: with its response or, if that is a stream, when it has been read or cancelled;
 * the sender of a body that is not read stops. A stream whose reader loses the right to it ends
 * (docs/http/accounts.md#rights-that-end).
 */

import { FREE_BYTES } from '../../base/shared/byte-budget.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { ByteStream } from '../../base/shared/message.ts';
import { ChunkStream } from '../../database/attachments/outgoing.ts';
import { isStream } from '../request/bodies.ts';
import type { Answer, Context, Handler } from '../request/context.ts';
import { assertKept, isSurelyKept } from '../request/kept-rights.ts';
import { LiveBody } from '../response/live-body.ts';

/** About what a stream holds for a slow reader: the rows that are being built, their text, its bytes, and the garbage of earlier rows. */
const STREAM_BYTES = 1_048_576;
/** The part of that which exists once the first chunk has been built. */
const FIRST_BYTES = 524_288;
/** What the stream of an attachment holds in addition to what is read ahead. */
const CHUNK_STREAM_BYTES = 131_072;
/** A larger chunk counts separately. */
const CHUNK_BYTES = 262_144;
/** Memory for each byte, or UTF-16 unit, of a whole response: a text, and its bytes. */
const MEMORY_PER_BYTE = 2;

/**
 * Counts responses until their clients have them. A response that is not small waits while the memory is used up, until slow readers are cut
 * off; after that it fails with `too_busy`.
 */
export function accountForResponses(next: Handler): Handler {
  return (context) =>
    whenReady(next(context), (answer) => {
      const { body } = answer;
      if (body === null || (typeof body === 'string' && body.length <= FREE_BYTES)) return answer;
      return isStream(body) ? countStream(context, answer, body) : countWhole(context, answer, body.length);
    });
}

function countWhole(context: Context, answer: Answer, length: number): MaybePromise<Answer> {
  const { memory, request } = context;
  const bytes = length * MEMORY_PER_BYTE;
  if (request.returnsHeld !== true || bytes <= FREE_BYTES) return answer;
  return whenReady(context.holdAnswer(bytes, bytes), () => ({ ...answer, held: memory }));
}

function countStream(context: Context, answer: Answer, stream: ByteStream): MaybePromise<Answer> {
  // A live body counts itself: it holds almost nothing while it waits.
  if (stream instanceof LiveBody) return answer;
  const most = stream instanceof ChunkStream ? CHUNK_STREAM_BYTES : STREAM_BYTES;
  const bytes = stream.length === undefined ? most : Math.min(most, stream.length * MEMORY_PER_BYTE);
  try {
    const held = context.holdAnswer(bytes, Math.min(bytes, FIRST_BYTES));
    return held instanceof Promise ? held.then(() => answer).catch((failure) => refuse(stream, failure)) : answer;
  } catch (failure) {
    return refuse(stream, failure);
  }
}

async function refuse(stream: ByteStream, failure: unknown): Promise<never> {
  await stream.cancel(failure);
  throw failure;
}

/** `next` answers failures, too. */
export function releaseBytes(next: Handler): Handler {
  return (context) =>
    whenReady(next(context), (answer) => {
      if (isStream(answer.body)) return { ...answer, body: new CountedStream(answer.body, context) };
      if (answer.held === undefined || answer.body === null) context.releaseBytes();
      return answer;
    });
}

class CountedStream implements ByteStream {
  readonly length?: number;
  readonly pullText?: () => Promise<string | undefined>;
  readonly #stream: ByteStream;
  readonly #context: Context;
  readonly #isCounted: boolean;
  /** Bytes accounted for the last chunk. */
  #chunkBytes = 0;

  constructor(stream: ByteStream, context: Context) {
    this.#stream = stream;
    this.#context = context;
    if (stream.length !== undefined) this.length = stream.length;
    if (stream.pullText !== undefined) this.pullText = () => this.#next(() => stream.pullText?.());
    this.#isCounted = !(stream instanceof LiveBody);
  }

  pull(): Promise<Uint8Array | undefined> {
    return this.#next(() => this.#stream.pull());
  }

  /** A slow reader is cut off when others wait for the memory that it holds. */
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
      else {
        if (this.#isCounted && chunk.length + this.#chunkBytes > CHUNK_BYTES) await this.#count(chunk.length);
        memory.theirTurn(chunk.length);
      }
      return chunk;
    } catch (failure) {
      this.#context.releaseBytes();
      throw failure;
    }
  }

  /** Counts a large chunk: a document in one piece, or a row, may have any length. */
  async #count(length: number): Promise<void> {
    const bytes = length > CHUNK_BYTES ? length * MEMORY_PER_BYTE : 0;
    const more = bytes - this.#chunkBytes;
    this.#chunkBytes = bytes;
    if (more <= 0) {
      this.#context.countStream(more);
      return;
    }
    try {
      await this.#context.holdAnswer(more, bytes);
    } catch (failure) {
      await this.#stream.cancel(failure);
      throw failure;
    }
  }

  async #assertKept(): Promise<void> {
    try {
      await assertKept(this.#context);
    } catch (failure) {
      // The right is lost: no one may read on.
      await this.#stream.cancel(failure);
      throw failure;
    }
  }
}

/** Cancels a request body if the response was made without reading all of it, so that its sender stops. */
export function cancelUnreadBody(next: Handler): Handler {
  return (context) => {
    const { body } = context.request;
    return isStream(body) ? answerThenCancel(next, context, body) : next(context);
  };
}

async function answerThenCancel(next: Handler, context: Context, body: ByteStream): Promise<Answer> {
  try {
    return await next(context);
  } finally {
    // Cancelling has no effect on a body that was read to its end. If it fails, the response stays the same.
    void body.cancel().catch(() => {});
  }
}
