import type { CharacterWeights } from './string-order.ts';

/** Characters of a sort text. */
const LENGTH = 16;
/** Ends a string or an array; below everything that may follow. Sort texts are filled up with it. */
const END = 0;
/** Begins the levels that decide between strings of the same letters. */
const TIE = 1;
/** Keeps weights apart from the two above. */
const WEIGHT_BASE = 2;

/** First codes, in the order of the types. */
const NULL = 2;
const FALSE = 3;
const TRUE = 4;
const NUMBER = 5;
const STRING = 6;
const ARRAY = 7;

/**
 * Gives short texts of one length for keys: where two of them differ, their order by code unit is the `unicode` order of
 * the keys; where they are equal the keys have to be compared. For sorting many rows: such texts are compared in a fraction of the
 * time that keys take. Undefined for keys that begin with an object, or with characters about which only the collator
 * knows.
 */
export class SortTexts {
  readonly #weights: CharacterWeights;
  readonly #number = new DataView(new ArrayBuffer(8));
  /** The codes of the key at hand. */
  readonly #codes = new Array<number>(LENGTH).fill(END);
  #length = 0;

  constructor(weights: CharacterWeights) {
    this.#weights = weights;
  }

  of(key: unknown): string | undefined {
    this.#length = 0;
    if (!this.#add(key)) return undefined;
    while (this.#length < LENGTH) this.#push(END);
    return String.fromCharCode.apply(undefined, this.#codes);
  }

  #push(code: number): void {
    if (this.#length < LENGTH) this.#codes[this.#length++] = code;
  }

  /** False where the key has no sort text. */
  #add(key: unknown): boolean {
    if (typeof key === 'string') return this.#addString(key);
    if (typeof key === 'number') this.#addNumber(key);
    else if (typeof key === 'boolean') this.#push(key ? TRUE : FALSE);
    else if (key === null) this.#push(NULL);
    else return Array.isArray(key) && this.#addArray(key);
    return true;
  }

  #addString(key: string): boolean {
    const { primary, secondary, tertiary } = this.#weights;
    let hasTies = false;
    this.#push(STRING);
    // The character behind the last one that counts is looked at as well: it might combine.
    const end = Math.min(key.length, LENGTH - this.#length + 1);
    for (let index = 0; index < end; index++) {
      const code = key.charCodeAt(index);
      const weight = primary[code] ?? 0;
      if (weight === 0) return false;
      if ((secondary[code] ?? 0) + (tertiary[code] ?? 0) > 0) hasTies = true;
      this.#push(weight + WEIGHT_BASE);
    }
    if (hasTies) {
      this.#addTies(key, secondary);
      this.#addTies(key, tertiary);
    }
    this.#push(END);
    return true;
  }

  #addTies(key: string, weights: Uint8Array): void {
    this.#push(TIE);
    for (let index = 0; index < key.length && this.#length < LENGTH; index++) {
      this.#push((weights[key.charCodeAt(index)] ?? 0) + WEIGHT_BASE);
    }
  }

  /** The bytes of the double: of a negative one all bits turned, else only the sign. */
  #addNumber(key: number): void {
    const view = this.#number;
    view.setFloat64(0, key === 0 ? 0 : key);
    const mask = key < 0 ? 0xff : 0;
    this.#push(NUMBER);
    this.#push(view.getUint8(0) ^ (key < 0 ? 0xff : 0x80));
    for (let at = 1; at < 8; at++) this.#push(view.getUint8(at) ^ mask);
  }

  #addArray(key: readonly unknown[]): boolean {
    this.#push(ARRAY);
    for (const element of key) {
      if (this.#length >= LENGTH) return true;
      if (!this.#add(element)) return false;
    }
    this.#push(END);
    return true;
  }
}
