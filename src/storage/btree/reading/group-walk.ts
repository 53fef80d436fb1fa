import type { KeyRange, TreeSpec, WalkOptions } from '../contract.ts';
import type { Link } from '../nodes/inner.ts';
import type { Leaf } from '../nodes/leaf.ts';
import type { NodeSource, WholeTree } from '../nodes/node-source.ts';
import { combine, reduceEntries, reductionOf } from '../nodes/reduction.ts';
import { Cursor, type EntryRange, type Pass, Span } from './cursor.ts';

/** The reduction of adjacent entries that count as the same. */
interface TreeGroup<K, R> {
  /** The key of the group that the walk met first. */
  readonly key: K;
  readonly reduction: R;
}

interface GroupWalkOptions<K, R> extends WalkOptions {
  readonly source: NodeSource<K, R>;
  readonly range: KeyRange<K>;
  /** Called with the smaller key first. Keys between two of the same group must be of that group, too. */
  readonly sameGroup: (left: K, right: K) => boolean;
}

interface OpenGroup<K, R> {
  readonly key: K;
  /** In the order of the walk. */
  readonly parts: R[];
  /** Whether the group is skipped, so that nothing in it needs to be reduced. */
  readonly isSkipped: boolean;
}

/**
 * Reduces each run of entries that `sameGroup` considers the same; it is called with the smaller key first, and also with
 * separators in place of keys. `skip` counts groups. Fails like the tree's methods.
 */
export async function* treeGroups<K, R>(
  tree: WholeTree<K, R>,
  range: KeyRange<K>,
  sameGroup: (left: K, right: K) => boolean,
  options: WalkOptions = {},
): AsyncGenerator<TreeGroup<K, R>> {
  const nodes = await tree.nodes();
  if (nodes === undefined) return;
  yield* new GroupWalk({ source: nodes.source, range, sameGroup, ...options }).run(nodes.root);
}

/** A grouped reduce: reads the leaves where groups meet, and uses the stored reductions of everything in between. */
class GroupWalk<K, R> {
  readonly #spec: TreeSpec<K, R>;
  readonly #span: Span<K>;
  readonly #cursor: Cursor<K, R>;
  readonly #sameGroup: (left: K, right: K) => boolean;
  #skip: number;
  #open: OpenGroup<K, R> | undefined;

  constructor({ source, range, sameGroup, descending = false, skip = 0 }: GroupWalkOptions<K, R>) {
    this.#spec = source.spec;
    this.#span = new Span(source.spec, range, descending);
    this.#cursor = new Cursor(source, descending);
    this.#sameGroup = sameGroup;
    this.#skip = skip;
  }

  async *run(root: Link<K, R>): AsyncGenerator<TreeGroup<K, R>> {
    const passWhole: Pass<K, R> = (link, far) => this.#passWhole(link, far);
    let leaf = await this.#cursor.seek(root, this.#span.near);
    let found = this.#span.firstEntries(leaf);
    for (;;) {
      yield* this.#addEntries(leaf, found);
      if (this.#span.endsBefore(this.#cursor.far)) break;
      const next = await this.#cursor.advance(passWhole);
      if (next === undefined) break;
      leaf = next;
      found = this.#span.laterEntries(leaf, this.#cursor.far);
    }
    yield* this.#close();
  }

  /** Adds a subtree that lies in the open group as a whole. */
  #passWhole(link: Link<K, R>, far: K | undefined): boolean {
    const open = this.#open;
    if (open === undefined || far === undefined || !this.#span.covers(far) || !this.#isSame(open.key, far))
      return false;
    if (!open.isSkipped) open.parts.push(reductionOf(this.#spec, link));
    return true;
  }

  /** Adds entries of a leaf; yields the groups that end in it. */
  *#addEntries(leaf: Leaf, range: EntryRange): Generator<TreeGroup<K, R>> {
    const length = range.to - range.from;
    let done = 0;
    while (done < length) {
      const key = this.#keyAt(leaf, range, done);
      if (this.#open === undefined || !this.#isSame(this.#open.key, key)) {
        yield* this.#close();
        this.#open = { key, parts: [], isSkipped: this.#skip > 0 };
      }
      const end = this.#groupEnd(this.#open, leaf, range, done + 1);
      if (!this.#open.isSkipped) this.#open.parts.push(this.#reduce(leaf, range, done, end));
      done = end;
    }
  }

  *#close(): Generator<TreeGroup<K, R>> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    if (open.isSkipped) this.#skip -= 1;
    else {
      const parts = this.#span.descending ? open.parts.reverse() : open.parts;
      yield { key: open.key, reduction: combine(this.#spec, parts) };
    }
  }

  /** Returns how many entries, in the direction of the walk, belong to the group; the first `from` are known to. */
  #groupEnd(group: OpenGroup<K, R>, leaf: Leaf, range: EntryRange, from: number): number {
    let low = from;
    let high = from;
    const length = range.to - range.from;
    const belongs = (place: number) => this.#isSame(group.key, this.#keyAt(leaf, range, place));
    for (let step = 1; high < length && belongs(high); step *= 2) {
      low = high + 1;
      high += step;
    }
    high = Math.min(high, length);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (belongs(middle)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Reduces the entries from `from` up to `to`, counted in the direction of the walk. */
  #reduce(leaf: Leaf, range: EntryRange, from: number, to: number): R {
    return this.#span.descending
      ? reduceEntries(this.#spec, leaf, range.to - to, range.to - from)
      : reduceEntries(this.#spec, leaf, range.from + from, range.from + to);
  }

  #keyAt(leaf: Leaf, { from, to }: EntryRange, place: number): K {
    return leaf.key(this.#span.descending ? to - 1 - place : from + place, this.#spec);
  }

  #isSame(earlier: K, later: K): boolean {
    return this.#span.descending ? this.#sameGroup(later, earlier) : this.#sameGroup(earlier, later);
  }
}
