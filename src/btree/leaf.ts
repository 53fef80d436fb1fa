import { must } from '../shared/assert.ts';
import type { EntryList, TreeSpec } from './contract.ts';
import { corruptNode } from './corrupt-node.ts';

/** First line of a leaf's text: node kind and format version. */
export const LEAF_HEADER = 'l1';

/**
 * A leaf: entries in ascending order of their keys, as text: after the header, lines `key TAB value`. Immutable. It keeps
 * nothing but the text and the places where its lines start; keys and values are cut out when they are asked for.
 */
export class Leaf {
  readonly text: string;
  /** Where each line starts, and where one after the last would. */
  #starts: readonly number[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** Of text that is made of chunks, each of one or more whole lines without the last line end. */
  static fromChunks(chunks: readonly string[]): Leaf {
    // Unlike `+`, `join` makes a flat string, which keeps none of its parts (nor what they were cut from) in memory.
    return new Leaf([LEAF_HEADER, ...chunks].join('\n'));
  }

  get #lineStarts(): readonly number[] {
    this.#starts ??= findLineStarts(this.text);
    return this.#starts;
  }

  /** Entries in it. */
  get length(): number {
    return this.#lineStarts.length - 1;
  }

  /** Length of its text. */
  get size(): number {
    return this.text.length;
  }

  /** Length of its entries' lines, each with one line end: what `TreeRoot.bytes` sums up. */
  get entryBytes(): number {
    return this.text.length - LEAF_HEADER.length;
  }

  key<K>(index: number, spec: TreeSpec<K, unknown>): K {
    const start = must(this.#lineStarts[index]);
    return spec.decodeKey(this.text.slice(start, this.#tabAfter(start, index)));
  }

  value(index: number): string {
    const start = must(this.#lineStarts[index]);
    return this.text.slice(this.#tabAfter(start, index) + 1, must(this.#lineStarts[index + 1]) - 1);
  }

  #tabAfter(start: number, index: number): number {
    const tab = this.text.indexOf('\t', start);
    if (tab < 0 || tab >= must(this.#lineStarts[index + 1])) {
      throw corruptNode('a line of it has no tab', this.lines(index, index + 1));
    }
    return tab;
  }

  /** The lines from `from` up to `to`, at least one, without the last line end. */
  lines(from: number, to: number): string {
    return this.text.slice(must(this.#lineStarts[from]), must(this.#lineStarts[to]) - 1);
  }

  /** Length of a line with its line end. */
  lineSize(index: number): number {
    return must(this.#lineStarts[index + 1]) - must(this.#lineStarts[index]);
  }

  /** How many entries have keys below `key`, or with `after` keys not above it. At least `from` are known to. */
  countBefore<K>(spec: TreeSpec<K, unknown>, key: K, after: boolean, from = 0): number {
    let low = from;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = spec.compare(this.key(middle, spec), key);
      if (order < 0 || (after && order === 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Whether the entry at `index`, if there is one, is the key's. */
  hasKeyAt<K>(spec: TreeSpec<K, unknown>, index: number, key: K): boolean {
    return index < this.length && spec.compare(this.key(index, spec), key) === 0;
  }

  /** The key's value. */
  find<K>(spec: TreeSpec<K, unknown>, key: K): string | undefined {
    const index = this.countBefore(spec, key, false);
    return this.hasKeyAt(spec, index, key) ? this.value(index) : undefined;
  }
}

function findLineStarts(text: string): number[] {
  const starts: number[] = [];
  let start = LEAF_HEADER.length + 1;
  while (start <= text.length) {
    starts.push(start);
    const end = text.indexOf('\n', start);
    start = end < 0 ? text.length + 1 : end + 1;
  }
  starts.push(text.length + 1);
  return starts;
}

/** The entries of a leaf from `from` up to `to`, as a spec's `reduce` takes them. */
export class LeafEntries<K> implements EntryList<K> {
  readonly length: number;
  readonly #spec: TreeSpec<K, unknown>;
  readonly #leaf: Leaf;
  readonly #from: number;

  constructor(spec: TreeSpec<K, unknown>, leaf: Leaf, from: number, to: number) {
    this.#spec = spec;
    this.#leaf = leaf;
    this.#from = from;
    this.length = to - from;
  }

  key(index: number): K {
    return this.#leaf.key(this.#from + index, this.#spec);
  }

  value(index: number): string {
    return this.#leaf.value(this.#from + index);
  }
}
