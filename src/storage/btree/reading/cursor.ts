import type { Inner, Link, TreeNode } from '../nodes/inner.ts';
import { Leaf } from '../nodes/leaf.ts';
import type { NodeSource } from '../nodes/node-source.ts';
import type { KeyEdge } from './key-edge.ts';

/** An inner node that the cursor is below. */
interface Frame<K, R> {
  readonly inner: Inner<K, R>;
  /** The slot that the cursor is below; just outside the node until the cursor moves to a slot. */
  index: number;
  /** The bound of the whole node in the direction of the walk. */
  readonly far: K | undefined;
}

/** Returns whether to skip a subtree without reading it. `far` is its bound as in `Span`. */
export type Pass<K, R> = (link: Link<K, R>, far: K | undefined) => boolean;

/** Walks from leaf to leaf in one direction, and skips whole subtrees if the caller says so. */
export class Cursor<K, R> {
  readonly #source: NodeSource<K, R>;
  readonly #descending: boolean;
  readonly #frames: Frame<K, R>[] = [];
  #far: K | undefined;

  constructor(source: NodeSource<K, R>, descending: boolean) {
    this.#source = source;
    this.#descending = descending;
  }

  /** The bound of what the walk has covered so far, as in `Span`. */
  get far(): K | undefined {
    return this.#far;
  }

  /** Goes to the leaf in which the edge lies, or to the first one in the direction of the walk. */
  async seek(root: Link<K, R>, edge: KeyEdge<K> | undefined): Promise<Leaf> {
    let node = this.#source.peek(root) ?? (await this.#source.resolve(root));
    while (!(node instanceof Leaf)) {
      const index = edge === undefined ? this.#firstIndex(node) : node.slotOf(edge.key, this.#source.spec);
      const frame = { inner: node, index, far: this.#far };
      this.#frames.push(frame);
      this.#far = this.#farOf(frame);
      const link = node.slots.link(index);
      node = this.#source.peek(link) ?? (await this.#source.resolve(link));
    }
    return node;
  }

  /** Goes to the next leaf; returns undefined at the tree's edge. */
  async advance(pass?: Pass<K, R>): Promise<Leaf | undefined> {
    for (;;) {
      const link = this.#nextLink(pass);
      if (link === undefined) return undefined;
      const node: TreeNode<K, R> = this.#source.peek(link) ?? (await this.#source.resolve(link));
      if (node instanceof Leaf) return node;
      this.#frames.push({ inner: node, index: this.#descending ? node.length : -1, far: this.#far });
    }
  }

  #nextLink(pass: Pass<K, R> | undefined): Link<K, R> | undefined {
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
      frame.index += this.#descending ? -1 : 1;
      if (frame.index < 0 || frame.index >= frame.inner.length) {
        this.#frames.pop();
        continue;
      }
      const link = frame.inner.slots.link(frame.index);
      this.#far = this.#farOf(frame);
      if (pass === undefined || !pass(link, this.#far)) return link;
    }
    return undefined;
  }

  #firstIndex(inner: Inner<K, R>): number {
    return this.#descending ? inner.length - 1 : 0;
  }

  /** Returns the bound of the slot that the frame is at. */
  #farOf({ inner, index, far }: Frame<K, R>): K | undefined {
    const isOutermost = this.#descending ? index === 0 : index === inner.length - 1;
    return isOutermost ? far : inner.slots.key(this.#descending ? index : index + 1, this.#source.spec);
  }
}
