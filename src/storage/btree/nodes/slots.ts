import { assert, must } from '../../../base/shared/assert.ts';
import type { NodePages, TreeSpec } from '../contract.ts';
import { corruptNode } from './corrupt-node.ts';
import { encodePages, NodeLink } from './link.ts';

/** Approximate length of a slot's page number, count, bytes and tabs; exact only once they are written. */
const RECORD_LENGTH = 32;
/** Assumed length of a reduction's text until it is computed. */
const REDUCTION_LENGTH = 8;

/** The sums of the entries below a node. */
export interface EntrySums {
  readonly count: number;
  readonly bytes: number;
}

export interface Separator<K> {
  readonly keyText: string;
  /** The decoded key, if available. */
  readonly key: K | undefined;
}

/** A slot that is not in a node yet. The separator of a node's first slot has no meaning: the parent's slot decides. */
export interface NodeSlot<K, R, N> extends Separator<K> {
  readonly link: NodeLink<N, R>;
}

/**
 * The slots of an inner node: each a separator (a lower bound of the keys below it, above all keys before it) and a link.
 * A list that is part of a node no longer changes, except that it caches decoded values.
 *
 * A slot that came from a stored node keeps its line and is decoded only when needed, so that copying a node of a few
 * hundred slots costs almost nothing; an added slot's line has only its separator.
 */
export class SlotList<K, R, N> {
  #lines: string[];
  #keys: (K | undefined)[];
  #links: (NodeLink<N, R> | undefined)[];

  constructor(lines: string[] = []) {
    this.#lines = lines;
    this.#keys = new Array<K | undefined>(lines.length).fill(undefined);
    this.#links = new Array<NodeLink<N, R> | undefined>(lines.length).fill(undefined);
  }

  get length(): number {
    return this.#lines.length;
  }

  keyText(index: number): string {
    const line = must(this.#lines[index]);
    return this.isWritten(index) ? line.slice(0, keyLength(line)) : line;
  }

  key(index: number, spec: TreeSpec<K, R>): K {
    const known = this.#keys[index];
    if (known !== undefined) return known;
    const key = spec.decodeKey(this.keyText(index));
    this.#keys[index] = key;
    return key;
  }

  link(index: number): NodeLink<N, R> {
    const known = this.#links[index];
    if (known !== undefined) return known;
    const link = NodeLink.parse<N, R>(must(this.#lines[index]));
    this.#links[index] = link;
    return link;
  }

  /** Returns whether the slot's line is the whole record; otherwise its page is looked up when it is written. */
  isWritten(index: number): boolean {
    return this.#links[index]?.isParsed ?? true;
  }

  /** Appends a slot whose link is new. */
  push({ keyText, key, link }: NodeSlot<K, R, N>): void {
    assertNew(link);
    this.#lines.push(keyText);
    this.#keys.push(key);
    this.#links.push(link);
  }

  /** Appends the slots of another list from `from` up to `to`. */
  append(other: SlotList<K, R, N>, from: number, to: number): void {
    for (let index = from; index < to; index += 1) {
      this.#lines.push(must(other.#lines[index]));
      this.#keys.push(other.#keys[index]);
      this.#links.push(other.#links[index]);
    }
  }

  /** Appends all slots of a right neighbour; `separator`, which preceded it, becomes that of its first slot. */
  appendNeighbour(other: SlotList<K, R, N>, separator: Separator<K>): void {
    const start = this.length;
    this.append(other, 0, other.length);
    const line = must(this.#lines[start]);
    this.#lines[start] = this.isWritten(start) ? separator.keyText + line.slice(keyLength(line)) : separator.keyText;
    this.#keys[start] = separator.key;
  }

  /** Returns the slot's separator, for another slot. */
  separator(index: number): Separator<K> {
    return { keyText: this.keyText(index), key: this.#keys[index] };
  }

  /** Puts `slots` in place of `removed` slots from `at` on; the first takes over the separator that was there. */
  replace(at: number, removed: number, slots: readonly NodeSlot<K, R, N>[]): void {
    const first = this.separator(at);
    const added = slots.map((slot, index) => (index === 0 ? { ...slot, ...first } : slot));
    for (const { link } of added) assertNew(link);
    this.#lines.splice(at, removed, ...added.map(({ keyText }) => keyText));
    this.#keys.splice(at, removed, ...added.map(({ key }) => key));
    this.#links.splice(at, removed, ...added.map(({ link }) => link));
  }

  /** Returns the index of the slot that has this exact link; -1 if none does. */
  indexOf(link: NodeLink<N, R>): number {
    return this.#links.indexOf(link);
  }

  /** Makes a slot lead to a new node; its separator stays. */
  setLink(index: number, link: NodeLink<N, R>): void {
    assertNew(link);
    this.#lines[index] = this.keyText(index);
    this.#links[index] = link;
  }

  slice(from: number, to: number): SlotList<K, R, N> {
    const part = new SlotList<K, R, N>();
    // The engine copies whole lists many times as fast as a loop does.
    part.#lines = this.#lines.slice(from, to);
    part.#keys = this.#keys.slice(from, to);
    part.#links = this.#links.slice(from, to);
    return part;
  }

  /** Returns the length of the slot's line with its line end: exact if it is from a stored node, otherwise estimated. */
  lineSize(index: number): number {
    const { length } = must(this.#lines[index]);
    if (this.isWritten(index)) return length + 1;
    return length + RECORD_LENGTH + (this.#links[index]?.reductionText?.length ?? REDUCTION_LENGTH);
  }

  /** Length of all lines. */
  get textSize(): number {
    let size = 0;
    for (let index = 0; index < this.length; index += 1) size += this.lineSize(index);
    return size;
  }

  /** Returns the sums of all links. */
  sums(): EntrySums {
    let [count, bytes] = [0, 0];
    for (let index = 0; index < this.length; index += 1) {
      const link = this.link(index);
      count += link.count;
      bytes += link.bytes;
    }
    return { count, bytes };
  }

  /** Returns the link if it was used before, or is new. */
  knownLink(index: number): NodeLink<N, R> | undefined {
    return this.#links[index];
  }

  /** Returns the reduction text of a slot from a stored node. */
  reductionText(index: number): string {
    const line = must(this.#lines[index]);
    return line.slice(line.lastIndexOf('\t') + 1);
  }

  /**
   * Returns the slot's line as stored. `pages` is where its node is, or will be by then; it matters only if the slot is
   * not from a stored node.
   */
  line(index: number, pages: NodePages | undefined): string {
    const line = must(this.#lines[index]);
    if (this.isWritten(index)) return index === 0 ? line.slice(keyLength(line)) : line;
    const { count, bytes, reductionText } = this.link(index);
    return `${index === 0 ? '' : line}\t${encodePages(must(pages))}\t${count}\t${bytes}\t${must(reductionText)}`;
  }
}

function assertNew(link: NodeLink<unknown, unknown>): void {
  assert(!link.isParsed, 'a slot that was read is appended with its line');
}

/** Returns where the separator ends in a slot's line. */
function keyLength(line: string): number {
  const length = line.indexOf('\t');
  if (length < 0) throw corruptNode('a line of it has no tab', line);
  return length;
}
