/** Keeps chunks in order, up to a limit that protects the memory. */
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { type BodyBound, tooLarge } from './body-bounds.ts';

/** Collects what arrives. */
export interface Collector {
  /** Fails with `too_large` if the limit is exceeded. */
  add(chunk: Uint8Array): Promise<void>;
}

export class ByteCollector implements Collector {
  readonly #bound: BodyBound;
  readonly #grow: ((bytes: number) => MaybePromise<void>) | undefined;
  #chunks: Uint8Array[] = [];
  #length = 0;

  /** `grow` counts bytes, and resolves when more may be added. */
  constructor(bound: BodyBound, grow?: (bytes: number) => MaybePromise<void>) {
    this.#bound = bound;
    this.#grow = grow;
  }

  /** Keeps the chunk, which must not change afterwards. Fails with `too_large`, and as `grow` does. */
  async add(chunk: Uint8Array): Promise<void> {
    this.#length += chunk.length;
    if (this.#length > this.#bound.bytes) throw tooLarge(this.#bound);
    this.#chunks.push(chunk);
    await this.#grow?.(chunk.length);
  }

  /** Returns what was added, in order. The caller owns the list, and may remove the chunks that it has processed. */
  take(): Uint8Array[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }
}
