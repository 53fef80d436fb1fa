import { closeSync, openSync, readSync } from 'node:fs';
import type { CooperativeTask } from '../../base/shared/turn.ts';

/**
 * The structure of an LMDB data file, as lmdb-js 3.5 lays it out (data version 2 of its mdb.c; `PAGEBASE` is the size of a
 * page's header). LMDB trusts what it maps: damage in a header or a node may end the process with a signal instead of an error.
 *
 *     page   number (8) | transaction (8) | - (2) | flags (2) | lower (2), upper (2), or pages of an overflow (4) | …
 *     tree   - (6) | depth (2) | branches (8) | leaves (8) | overflows (8) | entries (8) | root (8)
 *     node   size or child, low (4) | flags, or child, high (2) | key's size (2) | key | value
 */
const HEADER_BYTES = 24;
const NODE_BYTES = 8;
const TREE_BYTES = 48;
const OVERFLOW_BYTES = 24;
const BRANCH = 1;
const LEAF = 2;
const OVERFLOW = 4;
const BIG_VALUE = 1;
const SUB_TREE = 2;
const NO_PAGE = 2 ** 64;
/** The first pages are only for the meta pages. */
const META_PAGES = 2;
/** A tree of this depth would hold more than any disk. */
const MAX_DEPTH = 32;

/** The content of a meta page. */
export interface DataFile {
  readonly path: string;
  readonly pageSize: number;
  readonly lastPage: number;
  readonly transaction: number;
  /** Where the meta page describes the two trees that lead to all others. */
  readonly trees: { readonly free: Buffer; readonly main: Buffer };
}

interface TreeInfo {
  readonly name: string;
  readonly depth: number;
  readonly entries: number;
  readonly root: number;
}

interface LeafNode {
  readonly flags: number;
  readonly key: Buffer;
  readonly value: Buffer;
}

/** Damage, as a clause for an error. */
class StructureError extends Error {}

/**
 * Returns what is wrong with the structure of a data file; undefined if nothing is. `state` checks what LMDB itself needs for every
 * transaction, the list of free pages and the list of trees, and the trees of this name; `all` checks everything.
 */
export function* findStructuralDamage(
  data: DataFile,
  scope: 'all' | { readonly tree: string },
): CooperativeTask<string | undefined> {
  const descriptor = openSync(data.path, 'r');
  try {
    yield* new Structure(data, descriptor, scope).check();
    return undefined;
  } catch (error) {
    if (error instanceof StructureError) return error.message;
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

class Structure {
  readonly #data: DataFile;
  readonly #descriptor: number;
  readonly #scope: 'all' | { readonly tree: string };
  readonly #used = new Set<number>();
  readonly #free = new Set<number>();

  constructor(data: DataFile, descriptor: number, scope: 'all' | { readonly tree: string }) {
    this.#data = data;
    this.#descriptor = descriptor;
    this.#scope = scope;
  }

  *check(): CooperativeTask<void> {
    const { free, main } = this.#data.trees;
    yield* this.#checkTree(treeOf('free', free), (node) => this.#noteFree(node));
    const subTrees: TreeInfo[] = [];
    yield* this.#checkTree(treeOf('main', main), ({ flags, key, value }) => {
      if (flags & SUB_TREE) subTrees.push(treeOf(key.toString('latin1'), value));
    });
    for (const tree of subTrees) {
      if (this.#scope === 'all' || this.#scope.tree === tree.name) yield* this.#checkTree(tree, () => undefined);
    }
    for (const page of this.#free) if (this.#used.has(page)) fail(`page ${page} is in use and free at once`);
  }

  *#checkTree(tree: TreeInfo, visit: (node: LeafNode) => void): CooperativeTask<void> {
    if (tree.root >= NO_PAGE) {
      if (tree.entries !== 0) fail(`the tree ${tree.name} has lost its root`);
      return;
    }
    if (tree.depth < 1 || tree.depth > MAX_DEPTH) fail(`the tree ${tree.name} has a depth of ${tree.depth}`);
    const entries = yield* this.#checkPage(tree.root, tree.depth, visit);
    if (entries !== tree.entries) fail(`the tree ${tree.name} has ${entries} entries instead of ${tree.entries}`);
  }

  /** Checks a page; returns the number of entries below it. */
  *#checkPage(number: number, depth: number, visit: (node: LeafNode) => void): CooperativeTask<number> {
    const page = this.#readPage(number);
    const isLeaf = depth === 1;
    if (page.readUInt16LE(18) !== (isLeaf ? LEAF : BRANCH)) fail(`page ${number} is not of its kind`);
    yield;
    let entries = 0;
    for (const at of nodesOf(page, number)) {
      if (isLeaf) {
        visit(this.#leafNode(page, number, at));
        entries++;
      } else {
        entries += yield* this.#checkPage(childOf(page, at), depth - 1, visit);
      }
    }
    return entries;
  }

  #leafNode(page: Buffer, number: number, at: number): LeafNode {
    const size = page.readUInt32LE(at);
    const flags = page.readUInt16LE(at + 4);
    const start = at + NODE_BYTES + page.readUInt16LE(at + 6);
    const isBig = flags === BIG_VALUE;
    const end = start + (isBig ? OVERFLOW_BYTES : size);
    const isTree = flags === SUB_TREE && size === TREE_BYTES;
    if (end > page.length || !(flags === 0 || isBig || isTree)) fail(`an entry of page ${number} is damaged`);
    const value = page.subarray(start, end);
    return { flags, key: page.subarray(at + NODE_BYTES, start), value: isBig ? this.#bigValue(value, size) : value };
  }

  #bigValue(place: Buffer, size: number): Buffer {
    const first = Number(place.readBigUInt64LE(0));
    const pages = Number(place.readBigUInt64LE(16));
    // It may have more: a value that became shorter within its transaction keeps its pages, as lists of free pages do.
    if (pages < Math.floor((HEADER_BYTES - 1 + size) / this.#data.pageSize) + 1)
      fail(`page ${first} has a wrong length`);
    const header = this.#readPage(first);
    if (header.readUInt16LE(18) !== OVERFLOW || header.readUInt32LE(20) !== pages) {
      fail(`page ${first} is not of its kind`);
    }
    for (let page = first + 1; page < first + pages; page++) this.#use(page);
    return header.subarray(HEADER_BYTES, HEADER_BYTES + size);
  }

  /** Notes a list of free pages: its number of entries, then pages; a negative one is the number of pages that start at the next one. */
  #noteFree({ key, value }: LeafNode): void {
    const length = value.length < 8 ? -1 : Number(value.readBigInt64LE(0));
    if (key.length !== 8 || Number(key.readBigUInt64LE(0)) > this.#data.transaction || length < 0) {
      fail('the list of free pages is damaged');
    }
    // Only the first page of a long list is checked.
    for (let at = 8; at < Math.min(8 * (length + 1), value.length - 7); at += 8) {
      const entry = Number(value.readBigInt64LE(at));
      if (Math.abs(entry) > this.#data.lastPage || entry === 1) fail(`page ${entry} can't be free`);
      if (entry > 0) this.#free.add(entry);
    }
  }

  #readPage(number: number): Buffer {
    this.#use(number);
    const { pageSize, transaction } = this.#data;
    const page = Buffer.alloc(pageSize);
    if (readSync(this.#descriptor, page, 0, pageSize, number * pageSize) < pageSize) fail(`page ${number} is cut off`);
    if (Number(page.readBigUInt64LE(0)) !== number) fail(`page ${number} has another number`);
    if (Number(page.readBigUInt64LE(8)) > transaction) fail(`page ${number} is of a later transaction`);
    return page;
  }

  #use(number: number): void {
    if (number < META_PAGES || number > this.#data.lastPage) fail(`there is no page ${number}`);
    if (this.#used.has(number)) fail(`page ${number} is used twice`);
    this.#used.add(number);
  }
}

function treeOf(name: string, bytes: Buffer): TreeInfo {
  return {
    name,
    depth: bytes.readUInt16LE(6),
    entries: Number(bytes.readBigUInt64LE(32)),
    root: Number(bytes.readBigUInt64LE(40)),
  };
}

/** Returns where the nodes of a page begin. They fill it from its end, without gaps. */
function nodesOf(page: Buffer, number: number): number[] {
  const [lower, upper] = [page.readUInt16LE(20), page.readUInt16LE(22)];
  const end = page.length - HEADER_BYTES;
  if (lower % 2 !== 0 || lower > upper || upper > end) fail(`the header of page ${number} is damaged`);
  const offsets = Array.from({ length: lower / 2 }, (_unused, index) => page.readUInt16LE(HEADER_BYTES + 2 * index));
  if (Math.min(end, ...offsets) !== upper || offsets.some((offset) => offset + NODE_BYTES > end)) {
    fail(`the header of page ${number} is damaged`);
  }
  return offsets.map((offset) => HEADER_BYTES + offset);
}

function childOf(page: Buffer, at: number): number {
  return page.readUInt32LE(at) + page.readUInt16LE(at + 4) * 2 ** 32;
}

function fail(finding: string): never {
  throw new StructureError(finding);
}
