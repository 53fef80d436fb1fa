/**
 * Makes the ids that the service assigns to documents or returns to clients, by the four algorithms of the
 * interface (docs/http/server.md#uuids). Each instance has its own state, so two of them never share a counter.
 *
 * Guarantee: an instance never returns an id twice. `utc_random` and `utc_id` ids always rise, even when the machine's clock is
 * set back; `sequential` ones rise as long as they have the same first 26 digits, which is about 8,000 ids.
 */
import type { Clock, RandomBytes } from '../shared/clock.ts';
import { choiceSetting, UUID_ALGORITHMS } from './config.ts';
import type { Config } from './contract.ts';

/**
 * Returns random hexadecimal digits out of a buffer that is filled many bytes at a time: a call to the platform costs about a
 * microsecond, whatever the number of bytes.
 */
const BUFFER_BYTES = 1024;

class RandomDigits {
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

/** Random digits before a `sequential` id's counter: 26. */
const PREFIX_BYTES = 13;
/** From here on the counter might exceed its 6 digits, so a new prefix begins. */
const COUNTER_END = 0xfff000;
/** Largest step of the counter. Steps are random, so that no one can guess the next id. */
const MAX_STEP = 0xffe;
/** Number of digits of a time in microseconds. */
const TIME_DIGITS = 14;
const MICROSECONDS = 1000;

export class Uuids {
  readonly #config: Config;
  readonly #clock: Clock;
  readonly #digits: RandomDigits;
  #prefix = '';
  #counter = COUNTER_END;
  /** Microseconds since the epoch of the last id that holds a time. */
  #lastTime = 0;

  constructor(config: Config, clock: Clock, random: RandomBytes) {
    this.#config = config;
    this.#clock = clock;
    this.#digits = new RandomDigits(random);
  }

  /** Returns an id by the algorithm that is configured now. */
  next(): string {
    switch (choiceSetting(this.#config, 'uuids', 'algorithm', UUID_ALGORITHMS)) {
      case 'sequential':
        return this.#sequential();
      case 'random':
        return this.random();
      case 'utc_random':
        return this.#time() + this.#digits.hex(9);
      case 'utc_id':
        return this.#time() + (this.#config.get('uuids', 'utc_id_suffix') ?? '');
    }
  }

  /** Returns 32 random digits, whatever is configured. */
  random(): string {
    return this.#digits.hex(16);
  }

  #sequential(): string {
    if (this.#counter >= COUNTER_END) {
      this.#prefix = this.#digits.hex(PREFIX_BYTES);
      this.#counter = this.#step();
    } else {
      this.#counter += this.#step();
    }
    return this.#prefix + this.#counter.toString(16).padStart(6, '0');
  }

  /** Returns 1 to MAX_STEP. */
  #step(): number {
    return 1 + (((this.#digits.byte() << 8) | this.#digits.byte()) % MAX_STEP);
  }

  #time(): string {
    this.#lastTime = Math.max(this.#lastTime + 1, Math.floor(this.#clock.now() * MICROSECONDS));
    return this.#lastTime.toString(16).padStart(TIME_DIGITS, '0');
  }
}
