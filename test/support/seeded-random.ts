/**
 * Random choices that a seed repeats (mulberry32). The choices of a crash test can be repeated; the exact moment at which the process
 * dies can't.
 */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number; both bounds are possible. */
  between(lowest: number, highest: number): number {
    return lowest + Math.floor(this.fraction() * (highest - lowest + 1));
  }

  /** True in `percent` of a hundred cases. */
  chance(percent: number): boolean {
    return this.fraction() * 100 < percent;
  }

  /** Undefined if there is nothing to choose from. */
  oneOf<T>(choices: readonly T[]): T | undefined {
    return choices[this.between(0, choices.length - 1)];
  }

  hexDigits(count: number): string {
    let digits = '';
    while (digits.length < count) digits += this.between(0, 15).toString(16);
    return digits;
  }
}
