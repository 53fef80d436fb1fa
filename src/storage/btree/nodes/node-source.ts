import { must } from '../../../base/shared/assert.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { type NodeCache, type NodePages, type NodeReader, pageNumbers, type TreeSpec } from '../contract.ts';
import { corruptNode } from './corrupt-node.ts';
import { INNER_HEADER, Inner, type Link, type TreeNode } from './inner.ts';
import { LEAF_HEADER, Leaf } from './leaf.ts';

/** What a node takes in memory once it is in use, as an approximate multiple of its text. */
const LEAF_MEMORY = 1.1;
const INNER_MEMORY = 4;
/** Nodes that a walk over all of them reads ahead. */
const SLOTS_AHEAD = 64;

/**
 * Finds the nodes of one kind of tree that links lead to: in the link itself, in the cache, or by reading. Keeps what it
 * read in the cache.
 */
export class NodeSource<K, R> {
  readonly spec: TreeSpec<K, R>;
  readonly #reader: NodeReader;
  readonly #cache: NodeCache;

  constructor(spec: TreeSpec<K, R>, reader: NodeReader, cache: NodeCache) {
    this.spec = spec;
    this.#reader = reader;
    this.#cache = cache;
  }

  /**
   * Releases a node that left the tree. Readers of an earlier tree read it again; if kept, such nodes would take the
   * place of those in use, most of all the inner ones.
   */
  forget(link: Link<K, R>): void {
    if (link.page !== undefined) this.#cache.delete(link.page);
  }

  /** Returns the node if it is in memory. */
  peek(link: Link<K, R>): TreeNode<K, R> | undefined {
    if (link.node !== undefined) return link.node;
    const cached = this.#cache.get(must(link.page));
    return cached instanceof Leaf || cached instanceof Inner ? cached : undefined;
  }

  resolve(link: Link<K, R>): MaybePromise<TreeNode<K, R>> {
    return this.peek(link) ?? this.#read({ page: must(link.page), pages: link.place.pages });
  }

  /** Whether it takes less time to read nodes together, before each is needed. */
  get readsAhead(): boolean {
    return this.#reader.readAhead !== undefined;
  }

  /** Says that these nodes will probably be needed next. */
  readAhead(links: readonly Link<K, R>[]): void {
    const missing = links.filter((link) => this.peek(link) === undefined);
    if (missing.length > 0) this.#reader.readAhead?.(missing.flatMap(({ place }) => pageNumbers(place)));
  }

  /** For a walk over all slots of a node, before it reads slot `index`: says which ones come next. */
  readSlotsAhead(slots: Inner<K, R>['slots'], index: number): void {
    if (!this.readsAhead || index % (SLOTS_AHEAD / 2) !== 0) return;
    const links: Link<K, R>[] = [];
    for (let at = index; at < Math.min(index + SLOTS_AHEAD, slots.length); at += 1) links.push(slots.link(at));
    this.readAhead(links);
  }

  /** Returns the nodes of many links, in order. Those that are not in memory are read at the same time. */
  resolveAll(links: readonly Link<K, R>[]): MaybePromise<TreeNode<K, R>[]> {
    const nodes: TreeNode<K, R>[] = [];
    const missing: Promise<void>[] = [];
    for (let index = 0; index < links.length; index += 1) {
      const node = this.#tryToResolve(must(links[index]), missing.length > 0);
      if (node instanceof Promise) missing.push(putInto(nodes, index, node));
      else nodes[index] = node;
    }
    return missing.length === 0 ? nodes : Promise.all(missing).then(() => nodes);
  }

  /** While other reads are under way, a failure must be a rejection: otherwise no one would handle theirs. */
  #tryToResolve(link: Link<K, R>, isReading: boolean): MaybePromise<TreeNode<K, R>> {
    try {
      return this.resolve(link);
    } catch (error) {
      if (isReading) return Promise.reject(error);
      throw error;
    }
  }

  #read({ page, pages }: NodePages): MaybePromise<TreeNode<K, R>> {
    const text = this.#reader.readNode(page, pages);
    return typeof text === 'string' ? this.#parse(page, text) : text.then((late) => this.#parse(page, late));
  }

  #parse(page: number, text: string): TreeNode<K, R> {
    const node = parseNode<K, R>(text);
    this.#keep(page, node, text.length);
    return node;
  }

  #keep(page: number, node: TreeNode<K, R>, textLength: number): void {
    if (node instanceof Leaf) this.#cache.set(page, node, textLength * LEAF_MEMORY, 'leaf');
    else this.#cache.set(page, node, textLength * INNER_MEMORY, 'inner');
  }

  /**
   * Releases a node that was just stored: from now on its pages identify it. An inner node is made again from the
   * stored text, since its slots keep the texts of all the nodes that they came from in memory.
   */
  settle(link: Link<K, R>, { page, pages }: NodePages, text: string): void {
    const node = link.node instanceof Leaf ? link.node : parseNode<K, R>(text);
    link.place.page = page;
    link.place.pages = pages;
    link.node = undefined;
    this.#keep(page, node, text.length);
  }
}

function parseNode<K, R>(text: string): TreeNode<K, R> {
  if (text.startsWith(`${LEAF_HEADER}\n`)) return new Leaf(text);
  if (text.startsWith(`${INNER_HEADER}\n`)) return Inner.fromText(text);
  throw corruptNode('it is neither a leaf nor an inner node of a known format', text);
}

/** Puts an awaited value into its place in an array. */
async function putInto<T>(target: T[], index: number, value: Promise<T>): Promise<void> {
  target[index] = await value;
}

/** The nodes that make up a whole tree. */
export interface TreeNodes<K, R> {
  readonly source: NodeSource<K, R>;
  readonly root: Link<K, R>;
}

/** What walks that are not methods of the tree need from it. */
export interface WholeTree<K, R> {
  /** Returns undefined if the tree is empty. */
  nodes(): Promise<TreeNodes<K, R> | undefined>;
}
