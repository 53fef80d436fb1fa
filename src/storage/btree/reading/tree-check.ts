import { messageOf } from '../../../base/errors/database-error.ts';
import { must } from '../../../base/shared/assert.ts';
import type { TreeSpec } from '../contract.ts';
import type { Inner, Link, TreeNode } from '../nodes/inner.ts';
import { Leaf } from '../nodes/leaf.ts';
import type { NodeSource, WholeTree } from '../nodes/node-source.ts';
import { combine, encodeReduction, reduceEntries, reductionTextOf, slotReductions } from '../nodes/reduction.ts';

/** Bounds of the keys below a node: at or above `low`, below `high`; undefined: open. */
interface Bounds<K> {
  readonly low: K | undefined;
  readonly high: K | undefined;
}

/**
 * Checks everything that a tree stores twice, and everything that has to be in order. Reads every node; yields one sentence for each
 * error.
 */
export async function* checkTree<K, R>(tree: WholeTree<K, R>): AsyncGenerator<string> {
  const nodes = await tree.nodes();
  if (nodes !== undefined) yield* new TreeCheck(nodes.source).run(nodes.root);
}

class TreeCheck<K, R> {
  readonly #spec: TreeSpec<K, R>;
  readonly #source: NodeSource<K, R>;
  /** Level of the leaves, where the root is level 0. */
  #leafLevel: number | undefined;

  constructor(source: NodeSource<K, R>) {
    this.#spec = source.spec;
    this.#source = source;
  }

  /** Yields one sentence per finding. */
  async *run(root: Link<K, R>): AsyncGenerator<string> {
    yield* this.#checkNode(root, { low: undefined, high: undefined }, 0);
  }

  async *#checkNode(link: Link<K, R>, bounds: Bounds<K>, level: number): AsyncGenerator<string> {
    const name = link.page === undefined ? 'a tree node that is not stored yet' : `tree page ${link.page}`;
    try {
      const node = await this.#source.resolve(link);
      for (const finding of this.#findings(link, node, bounds, level)) yield `${name}: ${finding}`;
      if (!(node instanceof Leaf)) yield* this.#checkBelow(node, bounds, level);
    } catch (error) {
      yield `${name}: ${messageOf(error)}`;
    }
  }

  async *#checkBelow({ slots }: Inner<K, R>, { low, high }: Bounds<K>, level: number): AsyncGenerator<string> {
    for (let index = 0; index < slots.length; index += 1) {
      this.#source.readSlotsAhead(slots, index);
      const bounds = {
        low: index === 0 ? low : slots.key(index, this.#spec),
        high: index + 1 < slots.length ? slots.key(index + 1, this.#spec) : high,
      };
      yield* this.#checkNode(slots.link(index), bounds, level + 1);
    }
  }

  *#findings(link: Link<K, R>, node: TreeNode<K, R>, bounds: Bounds<K>, level: number): Generator<string> {
    const isLeaf = node instanceof Leaf;
    if (isLeaf) this.#leafLevel ??= level;
    if (isLeaf !== (level === (this.#leafLevel ?? -1))) yield 'its leaves are not all on one level';
    const keys = isLeaf ? this.#keys(node) : this.#separators(node);
    yield* this.#orderFindings(keys, bounds, isLeaf);
    const sums = isLeaf ? { count: node.length, bytes: node.entryBytes } : node.slots.sums();
    if (sums.count !== link.count) yield `it holds ${sums.count} entries where its parent says ${link.count}`;
    if (sums.bytes !== link.bytes) yield `it holds ${sums.bytes} bytes where its parent says ${link.bytes}`;
    const reduction = encodeReduction(this.#spec, this.#reduce(node));
    if (reduction !== reductionTextOf(this.#spec, link)) yield 'its reduction is not what its parent says';
  }

  #keys(leaf: Leaf): K[] {
    return Array.from({ length: leaf.length }, (_unused, index) => leaf.key(index, this.#spec));
  }

  #separators({ slots }: Inner<K, R>): K[] {
    return Array.from({ length: slots.length - 1 }, (_unused, index) => slots.key(index + 1, this.#spec));
  }

  *#orderFindings(keys: readonly K[], { low, high }: Bounds<K>, isLeaf: boolean): Generator<string> {
    const spec = this.#spec;
    const [first, last] = [keys[0], keys.at(-1)];
    if (low !== undefined && first !== undefined && spec.compare(first, low) < (isLeaf ? 0 : 1)) {
      yield 'its first key is below the separator before it';
    }
    if (high !== undefined && last !== undefined && spec.compare(last, high) >= 0) {
      yield 'its last key is not below the separator after it';
    }
    for (let index = 1; index < keys.length; index += 1) {
      const isAscending = spec.compare(must(keys[index - 1]), must(keys[index])) < 0;
      if (!isAscending) yield `its keys ${index} and ${index + 1} are not in order`;
    }
  }

  #reduce(node: TreeNode<K, R>): R {
    if (node instanceof Leaf) return reduceEntries(this.#spec, node, 0, node.length);
    return combine(this.#spec, slotReductions(this.#spec, node.slots));
  }
}
