/** Bytes that are reserved at once. */
const CHUNK_BYTES = 64 * 1024;

/** Bytes that a UTF-16 unit takes at most in UTF-8. */
const MAX_UNIT_BYTES = 3;

/**
 * Encodes many short texts as UTF-8 into few buffers: a buffer of its own for each document of a batch would cost more
 * than encoding it. A text's bytes keep the buffer that they share in memory.
 */
export class TextArena {
  readonly #encoder = new TextEncoder();
  #free = new Uint8Array(0);

  encode(text: string): Uint8Array {
    const most = text.length * MAX_UNIT_BYTES;
    if (most > CHUNK_BYTES) return this.#encoder.encode(text);
    if (most > this.#free.length) this.#free = new Uint8Array(CHUNK_BYTES);
    const { written } = this.#encoder.encodeInto(text, this.#free);
    const bytes = this.#free.subarray(0, written);
    this.#free = this.#free.subarray(written);
    return bytes;
  }

  /** Lets go of what is reserved, for a database that may be idle from now on. */
  release(): void {
    this.#free = new Uint8Array(0);
  }
}
