import { must } from '../shared/assert.ts';
import type { EntryList, TreeSpec } from './contract.ts';
import { corruptNode } from './corrupt-node.ts';

/** First line of a leaf's text: node kind and format version. */
export const LEAF_HEADER = 'l1';

/**
 * A leaf: entries as lines `key TAB value`, ascending by key. Immutable. The lines of a stored leaf are cut from its text
 * when they are first asked for; keys are decoded by whoever compares them.
 */
export class Leaf {
  /** Length of its text. */
  readonly size: number;
  #text: string | undefined;
  #lines: readonly string[] | undefined;

  private constructor(size: number, text: string | undefined, lines: readonly string[] | undefined) {
    this.size = size;
    this.#text = text;
    this.#lines = lines;
  }

  static fromText(text: string): Leaf {
    return new Leaf(text.length, text, undefined);
  }

  /** `entryBytes` is the length of the lines, each with its line end. */
  static fromLines(lines: readonly string[], entryBytes: number): Leaf {
    return new Leaf(LEAF_HEADER.length + entryBytes, undefined, lines);
  }

  get lines(): readonly string[] {
    this.#lines ??= must(this.#text)
      .slice(LEAF_HEADER.length + 1)
      .split('\n');
    return this.#lines;
  }

  get text(): string {
    this.#text ??= `${LEAF_HEADER}\n${this.lines.join('\n')}`;
    return this.#text;
  }

  /** Length of its entries' lines, each with its line end: what `TreeRoot.bytes` sums up. */
  get entryBytes(): number {
    return this.size - LEAF_HEADER.length;
  }
}

/** Where the key ends in a line of a leaf or an inner node. */
export function keyLength(line: string): number {
  const length = line.indexOf('\t');
  if (length < 0) throw corruptNode('a line of it has no tab', line);
  return length;
}

export function decodeLineKey<K>(spec: TreeSpec<K, unknown>, line: string): K {
  return spec.decodeKey(line.slice(0, keyLength(line)));
}

export function lineValue(line: string): string {
  return line.slice(keyLength(line) + 1);
}

/** The lines from `from` up to `to` as a spec's `reduce` takes them. */
export class LineEntries<K> implements EntryList<K> {
  readonly length: number;
  readonly #spec: TreeSpec<K, unknown>;
  readonly #lines: readonly string[];
  readonly #from: number;

  constructor(spec: TreeSpec<K, unknown>, lines: readonly string[], from: number, to: number) {
    this.#spec = spec;
    this.#lines = lines;
    this.#from = from;
    this.length = to - from;
  }

  key(index: number): K {
    return decodeLineKey(this.#spec, must(this.#lines[this.#from + index]));
  }

  value(index: number): string {
    return lineValue(must(this.#lines[this.#from + index]));
  }
}
