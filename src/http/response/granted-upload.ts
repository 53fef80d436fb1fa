/**
 * A request body in transit: when it has arrived, which may be hours later, its sender must still have the right, and all roles, that the
 * request had when it began. Otherwise reading it fails, before anything is written.
 */
import type { ByteStream, PlainHeaders } from '../../base/shared/message.ts';
import type { Context } from '../request/context.ts';
import { assertKept, isSurelyKept } from '../request/kept-rights.ts';

export class GrantedUpload implements ByteStream {
  readonly length?: number;
  readonly isMovable: boolean;
  readonly #stream: ByteStream;
  readonly #context: Context;

  constructor(stream: ByteStream, context: Context) {
    this.#stream = stream;
    this.#context = context;
    this.isMovable = stream.isMovable === true;
    if (stream.length !== undefined) this.length = stream.length;
  }

  get trailers(): PlainHeaders | undefined {
    return this.#stream.trailers;
  }

  /** Fails with `unauthorized` if the right was lost. */
  async pull(): Promise<Uint8Array | undefined> {
    const chunk = await this.#stream.pull();
    if (!isSurelyKept(this.#context)) await assertKept(this.#context, true);
    return chunk;
  }

  cancel(reason?: unknown): Promise<void> {
    return this.#stream.cancel(reason);
  }
}
