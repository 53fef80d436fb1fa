/**
 * Returns random hexadecimal digits out of a buffer that is filled many bytes at a time: a call to the platform costs about a
 * microsecond, whatever the number of bytes.
 */
import type { RandomBytes } from '../shared/clock.ts';

const BUFFER_BYTES = 1024;

export class RandomDigits {
  readonly #random: RandomBytes;
  readonly #buffer = new Uint8Array(BUFFER_BYTES);
  #used = BUFFER_BYTES;

  constructor(random: RandomBytes) {
    this.#random = random;
  }

  /** Returns 0 to 255. */
  byte(): number {
    if (this.#used === BUFFER_BYTES) {
      this.#random(this.#buffer);
      this.#used = 0;
    }
    return this.#buffer[this.#used++] ?? 0;
  }

  /** Returns two lower-case digits per byte. */
  hex(bytes: number): string {
    let digits = '';
    for (let count = 0; count < bytes; count++) digits += this.byte().toString(16).padStart(2, '0');
    return digits;
  }
}
