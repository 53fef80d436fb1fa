/** Puts chunks together, up to a limit that protects the memory. */
import { DatabaseError } from '../../errors/database-error.ts';

export class ByteCollector {
  readonly #limit: number;
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  /** `limit` in bytes. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get length(): number {
    return this.#length;
  }

  /** Keeps the chunk, which must not change afterwards. Fails with `too_large`. */
  add(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (this.#length > this.#limit) throw tooLarge();
    this.#chunks.push(chunk);
  }

  whole(): Uint8Array<ArrayBuffer> {
    const whole = new Uint8Array(this.#length);
    let offset = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, offset);
      offset += chunk.length;
    }
    return whole;
  }
}

/** docs/http.md#request-bodies */
export function tooLarge(): DatabaseError {
  return new DatabaseError('too_large', 'the request entity is too large');
}
