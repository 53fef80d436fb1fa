import { must } from '../../../base/shared/assert.ts';
import type { EntryList, TreeSpec } from '../contract.ts';
import { corruptNode } from './corrupt-node.ts';

/** First line of a leaf's text: node kind and format version. */
export const LEAF_HEADER = 'l1';

/** Where the first entry's line of a leaf's text starts. */
export const FIRST_LINE = LEAF_HEADER.length + 1;

/** A text longer than this many units belongs to one entry that is larger than any leaf should be. */
const LONG_TEXT = 1_048_576;

/**
 * A leaf: entries in ascending order of their keys, as text: after the header, lines `key TAB value`. Immutable. It keeps
 * nothing but the text; keys and values are cut out on demand. A binary search of the text finds an entry, so
 * that one lookup or edit needs no list of lines; only counting entries makes one.
 */
export class Leaf {
  readonly text: string;
  /** Where each line starts, and where one after the last would start. */
  #starts: readonly number[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** Makes a leaf of chunks, each of one or more whole lines without the last line end. */
  static fromChunks(chunks: readonly string[]): Leaf {
    const [only = ''] = chunks;
    // Copying megabytes of text holds the thread: the first look at the text flattens it, in its own turn.
    if (chunks.length === 1 && only.length > LONG_TEXT) return new Leaf(`${LEAF_HEADER}\n${only}`);
    // Unlike `+`, `join` makes a flat string, which keeps none of its parts (nor what they were cut from) in memory.
    return new Leaf([LEAF_HEADER, ...chunks].join('\n'));
  }

  /** Makes a leaf of one line. If it is long, nothing searches it for more lines: looking at its text would flatten it. */
  static ofLine(line: string): Leaf {
    const leaf = Leaf.fromChunks([line]);
    if (leaf.isLong) leaf.#starts = [FIRST_LINE, leaf.end];
    return leaf;
  }

  /** Whether copying or flattening its text holds the thread. */
  get isLong(): boolean {
    return this.text.length > LONG_TEXT;
  }

  get #lineStarts(): readonly number[] {
    this.#starts ??= findLineStarts(this.text);
    return this.#starts;
  }

  /** Number of entries. */
  get length(): number {
    return this.#lineStarts.length - 1;
  }

  /** Length of its text. */
  get size(): number {
    return this.text.length;
  }

  /** Length of its entries' lines, each with one line end: `TreeRoot.bytes` is the sum of these. */
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
    return this.#tabWithin(start, must(this.#lineStarts[index + 1]) - 1);
  }

  #tabWithin(start: number, end: number): number {
    const tab = this.text.indexOf('\t', start);
    if (tab < 0 || tab >= end) throw corruptNode('a line of it has no tab', this.text.slice(start, end));
    return tab;
  }

  /** Where one more line would start. */
  get end(): number {
    return this.text.length + 1;
  }

  /** Returns the lines that start from `from` up to `to`, at least one, without the last line end. */
  linesBetween(from: number, to: number): string {
    return this.text.slice(from, to - 1);
  }

  /** Returns where the line that starts at `start` ends: at its line end, or at the text's. */
  lineEnd(start: number): number {
    const end = this.text.indexOf('\n', start);
    return end < 0 ? this.text.length : end;
  }

  /** Returns the value of the line that starts at `start`. */
  valueAt(start: number): string {
    const end = this.lineEnd(start);
    return this.text.slice(this.#tabWithin(start, end) + 1, end);
  }

  /**
   * Returns where the key's line starts; if there is none, the complement (`~`) of where it would start. No line
   * before `from` has a key that is not below it.
   */
  search<K>(spec: TreeSpec<K, unknown>, key: K, from = FIRST_LINE): number {
    let low = from;
    let high = this.end;
    // No line starts between `limit` and `high`.
    let limit = high;
    while (low < high) {
      // A binary search of a line of megabytes would look at its text again and again.
      const isOneLine = limit - low > LONG_TEXT && this.lineEnd(low) >= limit - 1;
      const middle = isOneLine ? low : (low + limit) >>> 1;
      const start = middle === low ? low : this.text.indexOf('\n', middle) + 1;
      if (start === 0 || start >= high) {
        limit = middle;
        continue;
      }
      const end = this.lineEnd(start);
      const order = spec.compare(spec.decodeKey(this.text.slice(start, this.#tabWithin(start, end))), key);
      if (order === 0) return start;
      if (order < 0) {
        low = end + 1;
      } else {
        high = start;
        limit = middle;
      }
    }
    return ~low;
  }

  /** Returns the lines from `from` up to `to`, at least one, without the last line end. */
  lines(from: number, to: number): string {
    return this.linesBetween(must(this.#lineStarts[from]), must(this.#lineStarts[to]));
  }

  /** Returns the length of a line with its line end. */
  lineSize(index: number): number {
    return must(this.#lineStarts[index + 1]) - must(this.#lineStarts[index]);
  }

  /** Returns how many entries have keys below `key`, or with `after` keys not above it. */
  countBefore<K>(spec: TreeSpec<K, unknown>, key: K, after: boolean): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = spec.compare(this.key(middle, spec), key);
      if (order < 0 || (after && order === 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Returns the key's value. */
  find<K>(spec: TreeSpec<K, unknown>, key: K): string | undefined {
    const start = this.search(spec, key);
    return start < 0 ? undefined : this.valueAt(start);
  }
}

/** Returns the text of the key of a chunk's first line. */
export function firstKey(chunk: string): string {
  return keyFrom(chunk, 0);
}

export function lastKey(chunk: string): string {
  return keyFrom(chunk, chunk.lastIndexOf('\n') + 1);
}

function keyFrom(chunk: string, start: number): string {
  const tab = chunk.indexOf('\t', start);
  if (tab < 0) throw corruptNode('a line of it has no tab', chunk.slice(start));
  return chunk.slice(start, tab);
}

/** Returns the number of lines in a chunk of whole lines without the last line end. */
export function lineCount(chunk: string): number {
  let count = 1;
  for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', end + 1)) count += 1;
  return count;
}

function findLineStarts(text: string): number[] {
  const starts: number[] = [];
  let start = FIRST_LINE;
  while (start <= text.length) {
    starts.push(start);
    const end = text.indexOf('\n', start);
    start = end < 0 ? text.length + 1 : end + 1;
  }
  starts.push(text.length + 1);
  return starts;
}

/** The entries of a leaf from `from` up to `to`, in the form that a spec's `reduce` takes. */
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
