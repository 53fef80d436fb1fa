import { assert, must } from '../../base/shared/assert.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import { type CooperativeTask, runCooperatively } from '../../base/shared/turn.ts';
import type {
  AllocateNode,
  KeyRange,
  NodeCache,
  NodeReader,
  NodeWrite,
  ReplacedNode,
  TreeChange,
  TreeEntry,
  TreeRoot,
  TreeSizes,
  TreeSpec,
  TreeUpdate,
  WalkOptions,
} from './contract.ts';
import { DelayedChanges } from './editing/delayed-changes.ts';
import { type EditedTree, TreeEdit } from './editing/tree-edit.ts';
import { storeNodes, unstoredBytes } from './editing/tree-storing.ts';
import type { Link, TreeNode } from './nodes/inner.ts';
import { NodeLink } from './nodes/link.ts';
import { NodeSource, type TreeNodes, type WholeTree } from './nodes/node-source.ts';
import { combine, reductionOf, reductionTextOf } from './nodes/reduction.ts';
import { endEdge, type KeyEdge, startEdge } from './reading/cursor.ts';
import { walkEntries } from './reading/entry-walk.ts';
import { type Hit, peekValue, rankOf, readValue, readValues } from './reading/lookup.ts';
import { reduceBetween } from './reading/reduction-walks.ts';

/** Number of changes made in one step: a leaf may get all of them, and other work runs only between leaves. */
const CHANGES_AT_ONCE = 2_048;
/** Number of keys whose order is checked between two looks at the clock. */
const KEYS_PER_STEP = 1_024;

export interface TreeOptions<K, R> {
  readonly spec: TreeSpec<K, R>;
  readonly reader: NodeReader;
  /** May be shared by all trees of a file. */
  readonly cache: NodeCache;
  readonly sizes: TreeSizes;
}

/**
 * A B+tree that knows nothing of what it holds. It is immutable: an update returns another tree, which shares everything that was not
 * changed, and this one stays as it is. New nodes are kept in memory until a checkpoint stores them (`unstored`); stored
 * ones are read through the cache. Every inner slot carries count, text length and reduction of what is below, so that
 * counts, offsets and reductions of any range cost O(log n).
 *
 * Keys are never null or undefined. If a node can't be read, the method fails with the reader's error, or with
 * `storage_corrupt` if its text is not in our format.
 */
export class Tree<K, R> implements WholeTree<K, R> {
  readonly #source: NodeSource<K, R>;
  readonly #sizes: TreeSizes;
  /** If there are delayed changes: the root of the tree without them. */
  readonly #root: Link<K, R> | undefined;
  readonly #delayed: DelayedChanges<K, R> | undefined;
  #applied: Promise<TreeUpdate<Tree<K, R>>> | undefined;

  private constructor(
    source: NodeSource<K, R>,
    sizes: TreeSizes,
    root: Link<K, R> | undefined,
    delayed?: DelayedChanges<K, R>,
  ) {
    this.#source = source;
    this.#sizes = sizes;
    this.#root = root;
    this.#delayed = delayed;
  }

  static empty<K, R>({ spec, reader, cache, sizes }: TreeOptions<K, R>): Tree<K, R> {
    return new Tree(new NodeSource(spec, reader, cache), sizes, undefined);
  }

  /** Reads nothing yet. Without a root, or with one that has no entries, returns an empty tree. */
  static open<K, R>(options: TreeOptions<K, R>, root: TreeRoot | null): Tree<K, R> {
    if (root === null || root.count === 0) return Tree.empty(options);
    const { page, pages = 1, count, bytes, reduction } = root;
    const { spec, reader, cache, sizes } = options;
    const reductionText = must(reduction, 'a tree with entries needs its reduction');
    const link = NodeLink.toStored<TreeNode<K, R>, R>({ page, pages }, { count, bytes }, reductionText);
    return new Tree(new NodeSource(spec, reader, cache), sizes, link);
  }

  /** Number of entries in the tree. */
  get count(): number {
    return this.#delayed?.count ?? this.#root?.count ?? 0;
  }

  /** Text length of all entries: keys, values, and two characters per entry. */
  get bytes(): number {
    return this.#delayed?.bytes ?? this.#root?.bytes ?? 0;
  }

  get isEmpty(): boolean {
    return this.count === 0;
  }

  /** Returns the reduction of the whole tree; undefined if it is empty. Reads nothing. */
  reduction(): R | undefined {
    if (this.#delayed !== undefined) return this.#delayed.reduction;
    return this.#root && reductionOf(this.#source.spec, this.#root);
  }

  /** Returns the value, or the certainty that there is none, if all nodes on the way are in memory; otherwise undefined. */
  peek(key: K): Hit | undefined {
    const change = this.#delayed?.find(key);
    if (change !== undefined) return { hit: true, value: change.value };
    if (this.#root === undefined) return { hit: true, value: undefined };
    return peekValue(this.#source, this.#root, key);
  }

  /** Returns the value, immediately if every node on the way is available. */
  get(key: K): MaybePromise<string | undefined> {
    const change = this.#delayed?.find(key);
    if (change !== undefined) return change.value;
    return this.#root && readValue(this.#source, this.#root, key);
  }

  /** Returns the values of ascending keys, in their order. Visits each node once. Returns immediately if all nodes are available. */
  getMany(sortedKeys: readonly K[]): MaybePromise<(string | undefined)[]> {
    return whenReady(this.getManyWithin(sortedKeys, Number.POSITIVE_INFINITY), must);
  }

  /** Like `getMany`; stops and returns undefined once the values in the tree's nodes have more than `mostUnits` together. */
  getManyWithin(sortedKeys: readonly K[], mostUnits: number): MaybePromise<(string | undefined)[] | undefined> {
    const [key] = sortedKeys;
    if (key === undefined) return [];
    if (sortedKeys.length > 1) return runCooperatively(this.#getMany(sortedKeys, mostUnits));
    return whenReady(this.get(key), (value) => (value !== undefined && value.length > mostUnits ? undefined : [value]));
  }

  *#getMany(sortedKeys: readonly K[], mostUnits: number): CooperativeTask<(string | undefined)[] | undefined> {
    yield* checkAscending(this.#source.spec, sortedKeys, 0);
    const values =
      this.#root === undefined
        ? sortedKeys.map(() => undefined)
        : yield* readValues(this.#source, this.#root, sortedKeys, mostUnits);
    const delayed = this.#delayed;
    if (delayed === undefined || values === undefined) return values;
    return sortedKeys.map((key, index) => {
      const change = delayed.find(key);
      return change === undefined ? values[index] : change.value;
    });
  }

  /** Applies changes with ascending keys, each key once. Returns immediately if all nodes are available and it does not take long. */
  update(changes: readonly TreeChange<K>[]): MaybePromise<TreeUpdate<Tree<K, R>>> {
    if (changes.length === 0) return { tree: this, replaced: [] };
    return this.#delayed === undefined ? runCooperatively(this.#edit(changes)) : this.#updateDelayed(changes);
  }

  async #updateDelayed(changes: readonly TreeChange<K>[]): Promise<TreeUpdate<Tree<K, R>>> {
    const former = await this.applyDelayedChanges();
    const { tree, replaced } = await former.tree.update(changes);
    return { tree, replaced: [...former.replaced, ...replaced] };
  }

  /**
   * Like `update`, but reads and makes no nodes now: single values and the sums of the whole tree are known immediately,
   * and the nodes are made when a walk, the next update or `applyDelayedChanges` needs them. `formerValues` are what the
   * tree has under the changes' keys. Returns undefined if the tree's reduction can't be computed from those, and if some
   * changes are delayed already.
   */
  *delayChanges(
    changes: readonly TreeChange<K>[],
    formerValues: readonly (string | undefined)[],
  ): CooperativeTask<Tree<K, R> | undefined> {
    if (this.#delayed !== undefined) return undefined;
    const { spec } = this.#source;
    const before = { count: this.count, bytes: this.bytes, reduction: this.reduction() };
    const delayed = yield* DelayedChanges.of(spec, before, changes, formerValues);
    return delayed && new Tree(this.#source, this.#sizes, this.#root, delayed);
  }

  get hasDelayedChanges(): boolean {
    return this.#delayed !== undefined;
  }

  /**
   * Returns the same tree with its delayed changes made in its nodes. All calls get the same tree; after a failure the next call
   * tries again.
   */
  async applyDelayedChanges(): Promise<TreeUpdate<Tree<K, R>>> {
    if (this.#delayed === undefined) return { tree: this, replaced: [] };
    this.#applied ??= Promise.resolve(runCooperatively(this.#edit(this.#delayed.changes)));
    try {
      return await this.#applied;
    } catch (error) {
      this.#applied = undefined;
      throw error;
    }
  }

  /** Returns the root of the nodes that make up the whole tree. */
  async #wholeRoot(): Promise<Link<K, R> | undefined> {
    return this.#delayed === undefined ? this.#root : (await this.applyDelayedChanges()).tree.#root;
  }

  *#edit(changes: readonly TreeChange<K>[]): CooperativeTask<TreeUpdate<Tree<K, R>>> {
    const keys = changes.map((change) => change.key);
    if (keys.length > 1) yield* checkAscending(this.#source.spec, keys, -1);
    const isLong = changes.length > CHANGES_AT_ONCE;
    const { root, replaced } = yield* isLong
      ? this.#editParts(changes, keys)
      : this.#editPart(this.#root, changes, keys);
    const isUnchanged = root === this.#root && this.#delayed === undefined;
    const tree = isUnchanged ? this : new Tree(this.#source, this.#sizes, root);
    return { tree, replaced };
  }

  #editPart(
    root: Link<K, R> | undefined,
    changes: readonly TreeChange<K>[],
    keys: readonly K[],
  ): CooperativeTask<EditedTree<K, R>> {
    return new TreeEdit({ source: this.#source, sizes: this.#sizes, changes, keys }).run(root);
  }

  *#editParts(changes: readonly TreeChange<K>[], keys: readonly K[]): CooperativeTask<EditedTree<K, R>> {
    const replaced: ReplacedNode[] = [];
    let root = this.#root;
    for (let from = 0; from < changes.length; from += CHANGES_AT_ONCE) {
      const to = from + CHANGES_AT_ONCE;
      const part = yield* this.#editPart(root, changes.slice(from, to), keys.slice(from, to));
      root = part.root;
      for (const node of part.replaced) replaced.push(node);
      yield;
    }
    return { root, replaced };
  }

  /** Yields the entries of a range, in batches of one leaf's entries. */
  async *entries(range: KeyRange<K> = {}, options: WalkOptions = {}): AsyncGenerator<TreeEntry<K>[]> {
    const root = await this.#wholeRoot();
    if (root !== undefined) yield* walkEntries(this.#source, root, range, options);
  }

  /** Returns how many entries have a key below `key`, or with `after` a key not above it. */
  async rank(key: K, after = false): Promise<number> {
    return this.#rankOf({ key, after });
  }

  async #rankOf(edge: KeyEdge<K>): Promise<number> {
    const root = await this.#wholeRoot();
    return root === undefined ? 0 : rankOf(this.#source, root, edge);
  }

  async countRange(range: KeyRange<K>): Promise<number> {
    const [start, end] = [startEdge(range), endEdge(range)];
    const to = end === undefined ? this.count : await this.#rankOf(end);
    const from = start === undefined ? 0 : await this.#rankOf(start);
    return Math.max(0, to - from);
  }

  /** Returns undefined if the range is empty. */
  async reduceRange(range: KeyRange<K>): Promise<R | undefined> {
    const root = await this.#wholeRoot();
    if (root === undefined) return undefined;
    const { spec } = this.#source;
    const parts = await reduceBetween(this.#source, root, startEdge(range), endEdge(range));
    return parts.length === 0 ? undefined : combine(spec, parts);
  }

  /**
   * Yields the unstored nodes, children before parents, each in pages from `allocate`; then, as the
   * generator's return value, the tree's root (undefined: it is empty). Takes as many turns as its consumer likes;
   * `stored` of a node is called once its page can be read. From then on all trees that share the node know its page.
   * There may be no delayed changes.
   */
  *unstored(allocate: AllocateNode): Generator<NodeWrite, TreeRoot | undefined> {
    assert(this.#delayed === undefined, 'delayed changes are applied before the tree is stored');
    if (this.#root === undefined) return undefined;
    const { page, pages } = yield* storeNodes({ source: this.#source, allocate }, this.#root);
    const { count, bytes } = this.#root;
    return {
      page,
      ...(pages > 1 ? { pages } : {}),
      count,
      bytes,
      reduction: reductionTextOf(this.#source.spec, this.#root),
    };
  }

  /** Text length of the nodes that are not stored yet; those of delayed changes are not counted. */
  unstoredBytes(): number {
    return this.#root === undefined ? 0 : unstoredBytes(this.#root);
  }

  /** For functions that walk the nodes themselves, such as `treeGroups` and `checkTree`. Returns undefined if the tree is empty. */
  async nodes(): Promise<TreeNodes<K, R> | undefined> {
    const root = await this.#wholeRoot();
    return root && { source: this.#source, root };
  }
}

/** Checks the order: keys out of order would end up where no search finds them. `most` is the maximum of comparing a key with the next. */
function* checkAscending<K>(spec: TreeSpec<K, unknown>, keys: readonly K[], most: 0 | -1): CooperativeTask<void> {
  for (let index = 1; index < keys.length; index += 1) {
    if (spec.compare(must(keys[index - 1]), must(keys[index])) > most) {
      assert(false, `key ${index} of ${keys.length} is not above the one before it`);
    }
    if (index % KEYS_PER_STEP === 0) yield;
  }
}
