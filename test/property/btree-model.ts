/**
 * The tree against a sorted array. Nodes are a few entries large, so that a hundred entries make a deep tree; reductions
 * are ones that show any entry that is missing, doubled or out of place.
 */
import { expect } from 'vitest';
import {
  type KeyRange,
  type NodePages,
  type NodeReader,
  pageNumbers,
  type TreeChange,
  type TreeEntry,
  type TreeRoot,
  type TreeSpec,
} from '../../src/storage/btree/contract.ts';
import { treeGroups } from '../../src/storage/btree/reading/group-walk.ts';
import { collectEntries } from '../../src/storage/btree/reading/reduction-walks.ts';
import { checkTree } from '../../src/storage/btree/reading/tree-check.ts';
import { treePages } from '../../src/storage/btree/reading/tree-walks.ts';
import { Tree } from '../../src/storage/btree/tree.ts';
import { PageCache } from '../../src/storage/paging/page-cache.ts';
import { cutText, pageCount } from '../../src/storage/paging/page-texts.ts';

export interface Summary {
  readonly keys: string;
  readonly least: string;
  readonly most: string;
}

/** Order-sensitive and not invertible: all keys one after another, and the extreme values. */
export function summarySpec<K>(
  base: Pick<TreeSpec<K, Summary>, 'compare' | 'encodeKey' | 'decodeKey'>,
): TreeSpec<K, Summary> {
  return {
    ...base,
    reduce(entries) {
      const keys: string[] = [];
      const values: string[] = [];
      for (let index = 0; index < entries.length; index += 1) {
        keys.push(base.encodeKey(entries.key(index)));
        values.push(entries.value(index));
      }
      values.sort();
      return { keys: keys.join(' '), least: values[0] ?? '', most: values.at(-1) ?? '' };
    },
    rereduce: (parts) => ({
      keys: parts.map((part) => part.keys).join(' '),
      least: parts.map((part) => part.least).sort()[0] ?? '',
      most:
        parts
          .map((part) => part.most)
          .sort()
          .at(-1) ?? '',
    }),
  };
}

export const numberSpec = summarySpec<number>({
  compare: (left, right) => left - right,
  encodeKey: String,
  decodeKey: Number,
});

type Model<K> = readonly TreeEntry<K>[];

/** So little that many nodes take more than one page. */
const PAGE_LENGTH = 70;

class World<K> {
  readonly spec: TreeSpec<K, Summary>;
  readonly pages = new Map<number, string>();
  readonly #sizes: { leafBytes: number; innerBytes: number };
  readonly #cacheBytes: number;
  #cache: PageCache;
  #nextPage = 1;

  constructor(spec: TreeSpec<K, Summary>, sizes: { leafBytes: number; innerBytes: number }, cacheBytes: number) {
    this.spec = spec;
    this.#sizes = sizes;
    this.#cacheBytes = cacheBytes;
    this.#cache = new PageCache(cacheBytes);
  }

  get #options() {
    const reader: NodeReader = {
      readNode: (page, pages) => {
        const text = Array.from({ length: pages }, (_unused, index) => this.#readPage(page + index)).join('');
        return page % 2 === 0 ? text : Promise.resolve(text);
      },
    };
    return { spec: this.spec, reader, cache: this.#cache, sizes: this.#sizes };
  }

  #readPage(page: number): string {
    const text = this.pages.get(page);
    if (text === undefined) throw new Error(`page ${page} is missing`);
    return text;
  }

  empty(): Tree<K, Summary> {
    return Tree.empty(this.#options);
  }

  /** With a cache of its own. */
  reopen(root: TreeRoot | undefined): Tree<K, Summary> {
    this.#cache = new PageCache(this.#cacheBytes);
    return root === undefined ? this.empty() : Tree.open(this.#options, root);
  }

  #allocate(text: string): NodePages {
    const page = this.#nextPage;
    const pages = pageCount(text.length, PAGE_LENGTH);
    this.#nextPage += pages;
    return { page, pages };
  }

  /** Stores a part of what there is to store in each turn. */
  async checkpoint(tree: Tree<K, Summary>, betweenTurns = () => Promise.resolve()): Promise<TreeRoot | undefined> {
    const nodes = tree.unstored((text) => this.#allocate(text));
    for (;;) {
      const slice = [];
      let next = nodes.next();
      while (!next.done && slice.length < 3) {
        slice.push(next.value);
        if (slice.length < 3) next = nodes.next();
      }
      for (const { page, text } of slice) {
        for (const [index, piece] of cutText(text, PAGE_LENGTH).entries()) this.pages.set(page + index, piece);
      }
      for (const node of slice) node.stored();
      if (next.done) return next.value;
      await betweenTurns();
    }
  }
}

function applyTo<K>(model: Model<K>, changes: readonly TreeChange<K>[], spec: TreeSpec<K, Summary>): Model<K> {
  const entries = new Map(model.map((entry) => [spec.encodeKey(entry.key), entry]));
  for (const { key, value } of changes) {
    if (value === undefined) entries.delete(spec.encodeKey(key));
    else entries.set(spec.encodeKey(key), { key, value });
  }
  return [...entries.values()].sort((left, right) => spec.compare(left.key, right.key));
}

function inRange<K>({ start, end, startInclusive, endInclusive }: KeyRange<K>, spec: TreeSpec<K, Summary>) {
  return ({ key }: TreeEntry<K>) => {
    const afterStart = start === undefined ? 1 : spec.compare(key, start);
    const beforeEnd = end === undefined ? 1 : spec.compare(end, key);
    return (
      (afterStart > 0 || (afterStart === 0 && startInclusive !== false)) &&
      (beforeEnd > 0 || (beforeEnd === 0 && endInclusive !== false))
    );
  };
}

function summaryOf<K>(entries: Model<K>, spec: TreeSpec<K, Summary>): Summary | undefined {
  if (entries.length === 0) return undefined;
  const values = entries.map((entry) => entry.value).sort();
  return {
    keys: entries.map((entry) => spec.encodeKey(entry.key)).join(' '),
    least: values[0] ?? '',
    most: values.at(-1) ?? '',
  };
}

function groupsOf<K>(entries: Model<K>, groupOf: (key: K) => unknown, spec: TreeSpec<K, Summary>) {
  const groups: { key: K; reduction: Summary | undefined }[] = [];
  for (const entry of entries) {
    const members = entries.filter((other) => groupOf(other.key) === groupOf(entry.key));
    if (members[0] === entry) groups.push({ key: entry.key, reduction: summaryOf(members, spec) });
  }
  return groups;
}

/** As a descending walk gives them: the last group first, each under its last key. */
function descendingGroupsOf<K>(entries: Model<K>, groupOf: (key: K) => unknown, spec: TreeSpec<K, Summary>) {
  return groupsOf([...entries], groupOf, spec)
    .map(({ key, reduction }) => ({
      key: entries.findLast((entry) => groupOf(entry.key) === groupOf(key))?.key,
      reduction,
    }))
    .reverse();
}

export async function gather<T>(batches: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const batch of batches) {
    expect(batch.length).toBeGreaterThan(0);
    all.push(...batch);
  }
  return all;
}

export async function list<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function expectSame<K>(tree: Tree<K, Summary>, model: Model<K>, spec: TreeSpec<K, Summary>): Promise<void> {
  expect(tree.count).toBe(model.length);
  expect(tree.isEmpty).toBe(model.length === 0);
  expect(tree.bytes).toBe(
    model.reduce((sum, { key, value }) => sum + spec.encodeKey(key).length + value.length + 2, 0),
  );
  expect(await gather(tree.entries())).toEqual(model);
  expect(tree.reduction()).toEqual(summaryOf(model, spec));
  expect(await list(checkTree(tree))).toEqual([]);
}

interface Probe<K> {
  readonly range: KeyRange<K>;
  readonly skip: number;
}

interface QueryPlan<K> {
  readonly probes: readonly Probe<K>[];
  readonly groupOf: (key: K) => unknown;
}

async function expectQueries<K>(
  tree: Tree<K, Summary>,
  model: Model<K>,
  { probes, groupOf }: QueryPlan<K>,
  spec: TreeSpec<K, Summary>,
): Promise<void> {
  const sameGroup = (left: K, right: K) => {
    expect(spec.compare(left, right)).toBeLessThanOrEqual(0);
    return groupOf(left) === groupOf(right);
  };
  for (const { range, skip } of probes) {
    const within = model.filter(inRange(range, spec));
    const backwards = [...within].reverse();
    expect(await gather(tree.entries(range))).toEqual(within);
    expect(await gather(tree.entries(range, { skip }))).toEqual(within.slice(skip));
    expect(await gather(tree.entries(range, { descending: true }))).toEqual(backwards);
    expect(await gather(tree.entries(range, { descending: true, skip }))).toEqual(backwards.slice(skip));
    expect(await tree.countRange(range)).toBe(within.length);
    expect(await tree.reduceRange(range)).toEqual(summaryOf(within, spec));
    const groups = groupsOf(within, groupOf, spec);
    expect(await list(treeGroups(tree, range, sameGroup))).toEqual(groups);
    expect(await list(treeGroups(tree, range, sameGroup, { skip }))).toEqual(groups.slice(skip));
    const lastFirst = descendingGroupsOf(within, groupOf, spec);
    expect(await list(treeGroups(tree, range, sameGroup, { descending: true }))).toEqual(lastFirst);
    expect(await list(treeGroups(tree, range, sameGroup, { descending: true, skip }))).toEqual(lastFirst.slice(skip));
    const wanted = (part: Summary) => part.most >= 'm';
    const found = model.filter((entry) => entry.value >= 'm');
    expect(await collectEntries(tree, { wanted, limit: skip })).toEqual(found.slice(0, skip));
    for (const bound of [range.start, range.end]) {
      if (bound === undefined) continue;
      expect(await tree.rank(bound)).toBe(model.filter(({ key }) => spec.compare(key, bound) < 0).length);
      expect(await tree.rank(bound, true)).toBe(model.filter(({ key }) => spec.compare(key, bound) <= 0).length);
      const value = model.find(({ key }) => spec.compare(key, bound) === 0)?.value;
      expect(await tree.get(bound)).toBe(value);
      expect(tree.peek(bound) ?? { hit: true, value }).toEqual({ hit: true, value });
    }
  }
  const keys = [...model.map((entry) => entry.key), ...probes.flatMap(({ range: { start } }) => start ?? [])];
  keys.sort(spec.compare);
  const values = new Map(model.map(({ key, value }) => [spec.encodeKey(key), value]));
  expect(await tree.getMany(keys)).toEqual(keys.map((key) => values.get(spec.encodeKey(key))));
}

export type Step<K> =
  | { readonly kind: 'update'; readonly changes: readonly TreeChange<K>[] }
  /** Removes what lies in a range, and so whole nodes. */
  | { readonly kind: 'clear'; readonly start: K; readonly end: K }
  /** Stores; `meanwhile` runs between the turns. */
  | { readonly kind: 'checkpoint'; readonly meanwhile: readonly TreeChange<K>[] }
  | { readonly kind: 'abandonedCheckpoint'; readonly nodes: number }
  | { readonly kind: 'reopen' };

interface Snapshot<K> {
  readonly tree: Tree<K, Summary>;
  readonly model: Model<K>;
}

type Script<K> = {
  readonly leafBytes: number;
  readonly innerBytes: number;
  readonly cacheBytes: number;
  readonly steps: readonly Step<K>[];
  readonly probes: readonly Probe<K>[];
};

export async function play<K>(
  script: Script<K>,
  spec: TreeSpec<K, Summary>,
  groupOf: (key: K) => unknown,
): Promise<void> {
  const { leafBytes, innerBytes, cacheBytes, steps, probes } = script;
  const world = new World(spec, { leafBytes, innerBytes }, cacheBytes);
  const snapshots: Snapshot<K>[] = [];
  let now: Snapshot<K> = { tree: world.empty(), model: [] };
  const update = async (changes: readonly TreeChange<K>[]) => {
    const former = now;
    snapshots.push(former);
    const { tree, replaced } = await former.tree.update(changes);
    now = { tree, model: applyTo(former.model, changes, spec) };
    if (tree === former.tree) expect(replaced).toEqual([]);
    // A checkpoint begins by this figure: it must see whatever is in memory alone.
    expect(tree.unstoredBytes() > 0).toBe(!tree.isEmpty && (await tree.nodes())?.root.page === undefined);
    await expectReplaced(
      former.tree,
      tree,
      replaced.flatMap((node) => (node.page === undefined ? [undefined] : pageNumbers(node))),
    );
  };
  for (const step of steps) {
    if (step.kind === 'update') await update(step.changes);
    else if (step.kind === 'clear') {
      const { start, end } = step;
      const within = now.model.filter(inRange({ start, end }, spec));
      await update(within.map(({ key }) => ({ key, value: undefined })));
    } else if (step.kind === 'checkpoint') {
      const stored = now;
      let waiting = [...step.meanwhile];
      const root = await world.checkpoint(stored.tree, async () => {
        await update(waiting.slice(0, 3));
        waiting = waiting.slice(3);
      });
      expect(stored.tree.unstoredBytes()).toBe(0);
      // What is stored already is stored no second time, and has the same root.
      expect(stored.tree.unstored(() => ({ page: Number.NaN, pages: 1 })).next()).toEqual({ done: true, value: root });
      await expectSame(world.reopen(root), stored.model, spec);
    } else if (step.kind === 'abandonedCheckpoint') {
      const nodes = now.tree.unstored(() => ({ page: Number.NaN, pages: 1 }));
      for (let node = 0; node < step.nodes; node += 1) nodes.next();
    } else now = { ...now, tree: world.reopen(await world.checkpoint(now.tree)) };
  }
  await expectQueries(now.tree, now.model, { probes, groupOf }, spec);
  for (const { tree, model } of [...snapshots, now]) await expectSame(tree, model, spec);
}

/** What an update replaced is just what the new tree no longer has of the old one's stored nodes. */
export async function expectReplaced<K, R>(
  former: Tree<K, R>,
  tree: Tree<K, R>,
  replaced: readonly (number | undefined)[],
): Promise<void> {
  const kept = new Set((await list(treePages(tree))).flat());
  const gone = (await list(treePages(former))).flat().filter((page) => !kept.has(page));
  const pages = replaced.filter((page) => page !== undefined);
  expect(pages.sort((left, right) => left - right)).toEqual(gone.sort((left, right) => left - right));
}

/** Length of all values, which can be worked out from what came and what went. */
export const lengthSpec: TreeSpec<number, number> = {
  compare: (left, right) => left - right,
  encodeKey: String,
  decodeKey: Number,
  reduce: (entries) => lengthOf(Array.from({ length: entries.length }, (_unused, index) => entries.value(index))),
  rereduce: (lengths) => lengths.reduce((sum, length) => sum + length, 0),
  adjust: (length, former, added) => length - lengthOf(former) + lengthOf(added),
};

export function lengthOf(values: readonly string[]): number {
  return values.join('').length;
}
