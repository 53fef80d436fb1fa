/** Bytes that are reserved at a time. */
const CHUNK_BYTES = 64 * 1024;

/** Maximum bytes of a UTF-16 unit in UTF-8. */
const MAX_UNIT_BYTES = 3;

/**
 * Encodes many short texts as UTF-8 into few buffers: a separate buffer for each document of a batch would cost more
 * than encoding it. A text's bytes keep their shared buffer in memory.
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

  /** Releases the reserved buffer, for a database that may be idle from now on. */
  release(): void {
    this.#free = new Uint8Array(0);
  }
}
