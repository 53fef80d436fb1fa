import { must } from '../shared/assert.ts';

/** Number of maps that share the keys. Each grows by itself, so that an engine copies a small part of them at a time. */
const PARTS = 256;
/** Number of keys above which several maps share them. */
const MANY = 65_536;
const PART_BITS = 8;

/** A map of millions of texts: the maps of engines are copied as a whole when they grow, which then takes half a second. */
export class PartedMap<V> {
  #few: Map<string, V> | undefined = new Map();
  #parts: Map<string, V>[] = [];
  /** Prevents anyone from choosing keys that all fall into one part. */
  readonly #seed: number;
  #size = 0;

  constructor(seed = Math.floor(Math.random() * 2 ** 32)) {
    this.#seed = seed;
  }

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    return this.#mapOf(key).get(key);
  }

  set(key: string, value: V): void {
    const map = this.#mapOf(key);
    const before = map.size;
    map.set(key, value);
    this.#size += map.size - before;
    if (this.#few !== undefined && this.#size > MANY) this.#share(this.#few);
  }

  #share(few: ReadonlyMap<string, V>): void {
    this.#parts = Array.from({ length: PARTS }, () => new Map());
    this.#few = undefined;
    for (const [key, value] of few) this.#mapOf(key).set(key, value);
  }

  #mapOf(key: string): Map<string, V> {
    return this.#few ?? must(this.#parts[this.#partOf(key)]);
  }

  #partOf(key: string): number {
    let hash = this.#seed;
    for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x0100_0193);
    return (hash ^ (hash >>> 15)) >>> (32 - PART_BITS);
  }
}
