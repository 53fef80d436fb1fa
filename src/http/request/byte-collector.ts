/** Keeps chunks in their order, up to a limit that protects the memory. */
import { type BodyBound, tooLarge } from './body-bounds.ts';

/** Chunks are counted together until they have so many bytes. */
const GROWTH_BYTES = 1_048_576;

export class ByteCollector {
  readonly #bound: BodyBound;
  readonly #grow: ((bytes: number) => Promise<void>) | undefined;
  #chunks: Uint8Array[] = [];
  #length = 0;
  #uncounted = 0;

  /** `grow` counts bytes in portions, and resolves when more may be added. */
  constructor(bound: BodyBound, grow?: (bytes: number) => Promise<void>) {
    this.#bound = bound;
    this.#grow = grow;
  }

  get length(): number {
    return this.#length;
  }

  /** Keeps the chunk, which must not change afterwards. Fails with `too_large`, and as `grow`. */
  async add(chunk: Uint8Array): Promise<void> {
    this.#length += chunk.length;
    if (this.#length > this.#bound.bytes) throw tooLarge(this.#bound);
    this.#chunks.push(chunk);
    this.#uncounted += chunk.length;
    if (this.#grow === undefined || this.#uncounted < GROWTH_BYTES) return;
    const bytes = this.#uncounted;
    this.#uncounted = 0;
    await this.#grow(bytes);
  }

  /** What was added, in its order, which is the caller's then: who goes through it can let go of what is done. */
  take(): Uint8Array[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }
}
