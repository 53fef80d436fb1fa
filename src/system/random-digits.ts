/**
 * Gives random hexadecimal digits out of a store that is filled many bytes at a time: asking the platform costs about a
 * microsecond, whatever the number of bytes.
 */
import type { RandomBytes } from '../shared/clock.ts';

const STORE_BYTES = 1024;

export class RandomDigits {
  readonly #random: RandomBytes;
  readonly #store = new Uint8Array(STORE_BYTES);
  #used = STORE_BYTES;

  constructor(random: RandomBytes) {
    this.#random = random;
  }

  /** 0 to 255. */
  byte(): number {
    if (this.#used === STORE_BYTES) {
      this.#random(this.#store);
      this.#used = 0;
    }
    return this.#store[this.#used++] ?? 0;
  }

  /** Two lower-case digits per byte. */
  hex(bytes: number): string {
    let digits = '';
    for (let count = 0; count < bytes; count++) digits += this.byte().toString(16).padStart(2, '0');
    return digits;
  }
}
