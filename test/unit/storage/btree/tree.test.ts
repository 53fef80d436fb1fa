import { describe, expect, test } from 'vitest';
import { compareCodePoints } from '../../../../src/base/collation/code-points.ts';
import type { TreeChange, TreeSpec } from '../../../../src/storage/btree/contract.ts';
import { treeGroups } from '../../../../src/storage/btree/reading/group-walk.ts';
import { collectEntries } from '../../../../src/storage/btree/reading/reduction-walks.ts';
import { checkTree } from '../../../../src/storage/btree/reading/tree-check.ts';
import { missingReductions, treePages } from '../../../../src/storage/btree/reading/tree-walks.ts';
import { Tree } from '../../../../src/storage/btree/tree.ts';
import { PageCache } from '../../../../src/storage/paging/page-cache.ts';
import { gather, list, numbers, PageShelf, removals, sets, type Totals, totalsSpec } from './page-shelf.ts';

/** About ten entries of four digits a leaf, and four slots an inner node. */
const small = { leafBytes: 102, innerBytes: 170 };

const textSpec: TreeSpec<string, number> = {
  compare: compareCodePoints,
  encodeKey: (key) => JSON.stringify(key),
  decodeKey: (text) => JSON.parse(text),
  reduce: (entries) => entries.length,
  rereduce: (parts) => parts.reduce((sum, part) => sum + part, 0),
};

/** A stored tree of the numbers from 1000 on, and another one opened from its root with nothing in memory. */
async function stored(shelf: PageShelf, count: number, cacheBytes?: number): Promise<Tree<number, Totals>> {
  const built = await Tree.empty(shelf.options(totalsSpec, small)).update(sets(numbers(1000, 1000 + count)));
  return Tree.open(shelf.options(totalsSpec, small, cacheBytes), shelf.store(built.tree));
}

function leafTexts(shelf: PageShelf): string[] {
  return [...shelf.pages.values()].filter((text) => text.startsWith('l1'));
}

async function height(shelf: PageShelf, tree: Tree<number, Totals>): Promise<number> {
  return shelf.readsOf(() => tree.get(1234));
}

describe('missing reductions', () => {
  /** Numbers from 1000 on in some leaves, and how many nodes were reduced since. */
  async function counted() {
    const calls = { leaves: 0 };
    const reduce: TreeSpec<string, number>['reduce'] = (entries) => {
      calls.leaves++;
      return entries.length;
    };
    const shelf = new PageShelf();
    const changes = numbers(1000, 1100).map((n) => ({ key: String(n), value: 'v' }));
    const { tree } = await Tree.empty(shelf.options({ ...textSpec, reduce }, small)).update(changes);
    return { tree, calls };
  }

  test('are computed one node at a time, and not again', async () => {
    const { tree, calls } = await counted();
    expect(calls.leaves).toBe(0);
    const steps = await missingReductions(tree);
    steps.next();
    expect(calls.leaves).toBe(1);
    while (steps.next().done !== true);
    const { leaves } = calls;
    expect(leaves).toBeGreaterThan(5);
    expect(tree.reduction()).toBe(100);
    expect(calls.leaves).toBe(leaves);
    expect((await missingReductions(tree)).next().done).toBe(true);
    const next = (await tree.update([{ key: '1050', value: 'w' }])).tree;
    for (const more = await missingReductions(next); more.next().done !== true; );
    expect(calls.leaves).toBe(leaves + 1);
  });
});

describe('an empty tree', () => {
  test('answers everything without reading', async () => {
    const shelf = new PageShelf();
    const tree = Tree.empty(shelf.options(totalsSpec, small));
    expect(tree).toMatchObject({ count: 0, bytes: 0, isEmpty: true });
    expect(tree.reduction()).toBeUndefined();
    expect(tree.peek(1)).toEqual({ hit: true, value: undefined });
    expect(await tree.get(1)).toBeUndefined();
    expect(await tree.getMany([1, 2])).toEqual([undefined, undefined]);
    expect(await gather(tree.entries())).toEqual([]);
    expect(await tree.countRange({ start: 1 })).toBe(0);
    expect(await tree.reduceRange({})).toBeUndefined();
    expect(await list(treeGroups(tree, {}, () => true))).toEqual([]);
    expect(await collectEntries(tree, { wanted: () => true, limit: 9 })).toEqual([]);
    expect(await list(treePages(tree))).toEqual([]);
    expect(await list(checkTree(tree))).toEqual([]);
    expect(tree.unstored(() => ({ page: 1, pages: 1 })).next()).toEqual({ done: true, value: undefined });
    expect(shelf.reads).toEqual([]);
  });

  test('is the result of removing all keys, and of opening a root without entries', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 500);
    const { tree: emptied, replaced } = await tree.update(removals(numbers(1000, 1500)));
    expect(emptied.isEmpty).toBe(true);
    expect(replaced.map((node) => node.page).sort()).toEqual([...shelf.pages.keys()].sort());
    expect(Tree.open(shelf.options(totalsSpec, small), { page: 0, count: 0, bytes: 0 }).isEmpty).toBe(true);
  });
});

describe('the stored form of a node', () => {
  test('is a header and a line for each entry for a leaf', async () => {
    const shelf = new PageShelf();
    const { tree } = await Tree.empty(shelf.options(totalsSpec, small)).update(sets([5, 7]));
    expect(shelf.store(tree)).toEqual({ page: 100, count: 2, bytes: 8, reduction: '{"sum":12,"most":7}' });
    expect(shelf.pages.get(100)).toBe('l1\n5\t5\n7\t7');
  });

  test('is a header and a line with separator, page, count, bytes and reduction per child for an inner node', async () => {
    const shelf = new PageShelf();
    const sizes = { leafBytes: 11, innerBytes: 200 };
    const { tree } = await Tree.empty(shelf.options(totalsSpec, sizes)).update(sets([5, 6, 7]));
    expect(shelf.store(tree)).toEqual({ page: 102, count: 3, bytes: 12, reduction: '{"sum":18,"most":7}' });
    expect([...shelf.pages]).toEqual([
      [100, 'l1\n5\t5\n6\t6'],
      [101, 'l1\n7\t7'],
      [102, 'i1\n\t100\t2\t8\t{"sum":11,"most":6}\n7\t101\t1\t4\t{"sum":7,"most":7}'],
    ]);
    expect(shelf.store(tree)).toEqual({ page: 102, count: 3, bytes: 12, reduction: '{"sum":18,"most":7}' });
  });

  test('has separators and reductions as specified', async () => {
    const shelf = new PageShelf();
    const spec: TreeSpec<string, number> = {
      ...textSpec,
      separator: (_left, right) => right.slice(0, 1),
      encodeReduction: (count) => `n${count}`,
      decodeReduction: (text) => Number(text.slice(1)),
    };
    const { tree } = await Tree.empty(shelf.options(spec, { leafBytes: 20, innerBytes: 200 })).update([
      { key: 'apple', value: '1' },
      { key: 'banana', value: '2' },
    ]);
    const root = shelf.store(tree);
    expect(shelf.pages.get(root.page)).toBe('i1\n\t100\t1\t10\tn1\n"b"\t101\t1\t11\tn1');
    const opened = Tree.open(shelf.options(spec, small), root);
    expect(await opened.reduceRange({ start: 'b' })).toBe(1);
    expect(opened.reduction()).toBe(2);
  });
});

describe('entries that are too long to share a leaf', () => {
  test('have one each, with separators to their neighbours, wherever they are inserted', async () => {
    const shelf = new PageShelf();
    const long = 'v'.repeat(200);
    const set = (key: string, value: string) => ({ key, value });
    const first = await Tree.empty(shelf.options(textSpec, small)).update([
      set('a', '1'),
      set('b', long),
      set('c', '3'),
      set('d', long),
      set('e', long),
    ]);
    const second = (await first.tree.update([set('a', long), set('aa', '2'), set('bb', '4'), set('f', '5')])).tree;
    const root = shelf.store(second);
    const entries = leafTexts(shelf).map((text) =>
      text
        .split('\n')
        .slice(1)
        .map((line) => line.replaceAll('v', '').trim()),
    );
    expect(entries).toEqual([['"a"'], ['"aa"\t2'], ['"b"'], ['"bb"\t4'], ['"c"\t3'], ['"d"'], ['"e"'], ['"f"\t5']]);
    const opened = Tree.open(shelf.options(textSpec, small), root);
    for (const key of ['a', 'b', 'd', 'e']) expect(await opened.get(key)).toBe(long);
    expect(await opened.getMany(['aa', 'bb', 'c', 'f'])).toEqual(['2', '4', '3', '5']);
    expect(await list(checkTree(opened))).toEqual([]);
  });
});

describe('an update of a tree', () => {
  test('returns what it replaced, and can be read before it is stored', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 30);
    const first = await tree.update(sets([1005]).map((change) => ({ ...change, value: '12345' })));
    const leaf = [...shelf.pages].find(([, text]) => text.includes('\n1005\t'))?.[0];
    expect(first.replaced.map((node) => node.page).sort()).toEqual([leaf, shelf.store(tree).page].sort());
    expect(tree.unstoredBytes()).toBe(0);
    expect(first.tree.unstoredBytes()).toBeGreaterThan(shelf.pages.get(leaf ?? 0)?.length ?? never());
    const second = await first.tree.update(sets([1005]).map((change) => ({ ...change, value: '123456789' })));
    expect(second.replaced.map((node) => node.page)).toEqual([undefined, undefined]);
    expect(second.tree.unstoredBytes() - first.tree.unstoredBytes()).toBe(4);
  });

  test('returns the same tree if it changes nothing', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 30);
    for (const changes of [[], removals([1, 1500, 5000]), sets([1007, 1025])]) {
      expect(await tree.update(changes)).toEqual({ tree, replaced: [] });
      expect((await tree.update(changes)).tree).toBe(tree);
    }
  });

  test('reads only the path to what it changes, level by level', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 5000);
    const levels = await height(shelf, Tree.open(shelf.options(totalsSpec, small), shelf.store(tree)));
    shelf.isAsync = true;
    const reads = await shelf.readsOf(() => tree.update(sets([1000, 3000, 5999].map((key) => key + 0.5))));
    expect(levels).toBeGreaterThan(3);
    expect(reads).toBeLessThanOrEqual(1 + 3 * (levels - 1));
    expect(new Set(shelf.reads).size).toBe(reads);
  });

  test('reads the nodes of a level simultaneously', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 800);
    let waiting: (() => void)[] = [];
    const options = shelf.options(totalsSpec, small);
    const reader = {
      async readNode(page: number, pages: number) {
        await new Promise<void>((resolve) => waiting.push(resolve));
        return options.reader.readNode(page, pages);
      },
    };
    const update = Tree.open({ ...options, reader }, shelf.store(tree)).update(sets(numbers(900, 1900)));
    const rounds: number[] = [];
    const done = Promise.resolve(update).then(() => true);
    while (!(await Promise.race([done, turn()]))) {
      const batch = waiting;
      waiting = [];
      if (batch.length > 0) rounds.push(batch.length);
      for (const release of batch) release();
    }
    expect(rounds[0]).toBe(1);
    expect(rounds.reduce((sum, reads) => sum + reads, 0)).toBe(shelf.pages.size);
    expect(rounds.length).toBeLessThan(7);
  });

  test("leaves the tree unchanged when a node is missing, and throws the reader's error", async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 300);
    const [victim] = [...shelf.pages].find(([, text]) => text.includes('\n1150\t')) ?? never();
    const text = shelf.pages.get(victim) ?? never();
    shelf.pages.delete(victim);
    for (const isAsync of [false, true]) {
      shelf.isAsync = isAsync;
      const missing = `page ${victim} is missing`;
      await expect(async () => tree.update(sets([1001.5, 1150.5, 1299.5]))).rejects.toThrow(missing);
      await expect(async () => tree.get(1150)).rejects.toThrow(missing);
      await expect(async () => tree.getMany([1001, 1150])).rejects.toThrow(missing);
      await expect(gather(tree.entries())).rejects.toThrow(missing);
      await expect(tree.reduceRange({ start: 1149, end: 1150 })).rejects.toThrow(missing);
    }
    shelf.pages.set(victim, text);
    expect((await gather(tree.entries())).map((entry) => entry.key)).toEqual(numbers(1000, 1300));
    expect(tree.unstoredBytes()).toBe(0);
  });

  test('fails once if some reads fail synchronously and others later', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 300);
    const options = shelf.options(totalsSpec, small);
    const isLeaf = (page: number) => shelf.pages.get(page)?.startsWith('l1') === true;
    const reader = {
      readNode(page: number, pages: number): string | Promise<string> {
        if (!isLeaf(page)) return options.reader.readNode(page, pages);
        if (page % 2 === 0) return Promise.reject(new Error('later'));
        throw new Error('at once');
      },
    };
    const failing = Tree.open({ ...options, reader }, shelf.store(tree));
    await expect(failing.getMany(numbers(1000, 1300))).rejects.toThrow(/later|at once/);
    await turn();
  });

  test('refuses unsorted keys, and line ends', async () => {
    const tree = Tree.empty(new PageShelf().options(textSpec, small));
    const set = (...keys: string[]): TreeChange<string>[] => keys.map((key) => ({ key, value: '' }));
    await expect(async () => tree.update(set('b', 'a'))).rejects.toThrow('is not above the one before it');
    await expect(async () => tree.update(set('a', 'a'))).rejects.toThrow('is not above the one before it');
    await expect(async () => tree.getMany(['b', 'a'])).rejects.toThrow('is not above the one before it');
    await expect(async () => tree.update([{ key: 'a', value: 'x\ny' }])).rejects.toThrow('line end');
    const raw = { ...textSpec, encodeKey: (key: string) => key };
    const other = Tree.empty(new PageShelf().options(raw, small));
    await expect(async () => other.update(set('a\tb'))).rejects.toThrow('tab');
    await expect(async () => other.update(set('a\nb'))).rejects.toThrow('line end');
  });

  test('takes keys and values of any length', async () => {
    const shelf = new PageShelf();
    const keys = numbers(0, 40).map((index) => `${String(index).padStart(2, '0')}${'k'.repeat(100_000)}`);
    let tree = Tree.empty(shelf.options(textSpec, small));
    for (const key of keys) ({ tree } = await tree.update([{ key, value: 'v'.repeat(5000) }]));
    const opened = Tree.open(shelf.options(textSpec, small), shelf.store(tree));
    expect(await opened.get(keys[17] ?? '')).toHaveLength(5000);
    expect((await gather(opened.entries())).map((entry) => entry.key)).toEqual(keys);
    expect(await list(checkTree(opened))).toEqual([]);
    const { tree: emptied } = await opened.update(keys.map((key) => ({ key, value: undefined })));
    expect(emptied.isEmpty).toBe(true);
  });
});

describe('the shape of a tree', () => {
  test('has full leaves after keys are appended', async () => {
    const shelf = new PageShelf();
    let tree = Tree.empty(shelf.options(totalsSpec, small));
    for (const key of numbers(1000, 2000)) ({ tree } = await tree.update(sets([key])));
    shelf.store(tree);
    expect(leafTexts(shelf)).toHaveLength(100);
    expect(new Set(leafTexts(shelf).map((text) => text.length))).toEqual(new Set([102]));
  });

  test('has a small last leaf that was just begun', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 103);
    const { tree: next, replaced } = await tree.update(removals([1101]));
    expect(replaced).toHaveLength(3);
    shelf.pages.clear();
    shelf.store(next);
    expect(leafTexts(shelf)).toEqual(['l1\n1100\t1100\n1102\t1102']);
  });

  test('has halved leaves after random inserts', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 30);
    shelf.pages.clear();
    shelf.store((await (await stored(shelf, 30)).update([{ key: 1004.5, value: '' }])).tree);
    const sizes = leafTexts(shelf)
      .filter((text) => /\n100[0-9]/.test(text))
      .map((text) => text.split('\n').length - 1);
    expect(tree.count).toBe(30);
    expect(sizes.sort((left, right) => left - right)).toEqual([5, 6, 10]);
  });

  test('stays dense if keys are removed at random and appended, as sequence numbers are', async () => {
    const shelf = new PageShelf();
    let live = numbers(1000, 3000);
    let tree = (await Tree.empty(shelf.options(totalsSpec, small)).update(sets(live))).tree;
    let state = 12345;
    const random = (below: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    for (let next = 3000; next < 9000; next += 20) {
      const gone = new Set(numbers(0, 20).map(() => live[random(live.length)] ?? 0));
      live = live.filter((key) => !gone.has(key));
      const added = numbers(next, next + 20);
      live.push(...added);
      const removed = [...gone].sort((left, right) => left - right);
      ({ tree } = await tree.update([...removals(removed), ...sets(added)]));
    }
    expect((await gather(tree.entries())).map((entry) => entry.key)).toEqual(live);
    shelf.store(tree);
    const leaves = leafTexts(shelf);
    expect(live.length / leaves.length).toBeGreaterThan(4.5);
    for (const text of leaves.slice(0, -1)) expect(text.length).toBeGreaterThan(102 / 5);
    expect(await list(checkTree(tree))).toEqual([]);
  });

  test('stays dense if values grow at random, as the revisions of documents do', async () => {
    const shelf = new PageShelf();
    const keys = numbers(1000, 1600);
    const values = new Map(keys.map((key) => [key, '1']));
    const toChanges = (changed: readonly number[]) => changed.map((key) => ({ key, value: values.get(key) }));
    let { tree } = await Tree.empty(shelf.options(totalsSpec, small)).update(toChanges(keys));
    let state = 12345;
    const random = (below: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    for (let round = 0; round < 300; round++) {
      const grown = [...new Set(numbers(0, 20).map(() => keys[random(keys.length)] ?? 0))].sort((a, b) => a - b);
      for (const key of grown) values.set(key, `${values.get(key)}0`);
      ({ tree } = await tree.update(toChanges(grown)));
    }
    const entries = keys.map((key) => ({ key, value: values.get(key) }));
    expect(await gather(tree.entries())).toEqual(entries);
    shelf.store(tree);
    const leaves = leafTexts(shelf);
    expect(leaves.reduce((sum, text) => sum + text.length, 0)).toBeGreaterThan(0.7 * 102 * leaves.length);
    expect(await list(checkTree(tree))).toEqual([]);
  });

  test('is correct after a large update in steps, between which other work has turns', async () => {
    const shelf = new PageShelf();
    let ticks = 0;
    const timer = setInterval(() => ticks++, 0);
    const even = numbers(0, 20_000).map((key) => 2 * key);
    const { tree: planted } = await Tree.empty(shelf.options(totalsSpec, small)).update(sets(even));
    const odd = even.map((key) => key + 1);
    const { tree: full } = await Tree.open(shelf.options(totalsSpec, small), shelf.store(planted)).update(sets(odd));
    clearInterval(timer);
    expect((await gather(full.entries())).map((entry) => entry.key)).toEqual(numbers(0, 40_000));
    const { tree: left, replaced } = await full.update(removals(numbers(100, 39_900)));
    expect((await gather(left.entries())).map((entry) => entry.key)).toEqual([
      ...numbers(0, 100),
      ...numbers(39_900, 40_000),
    ]);
    for (const tree of [planted, full, left]) expect(await list(checkTree(tree))).toEqual([]);
    expect(replaced.length).toBeGreaterThan(1000);
    // Promises alone let no timer in.
    expect(ticks).toBeGreaterThan(0);
  });

  test('loses levels when entries are removed', async () => {
    const shelf = new PageShelf();
    let tree = await stored(shelf, 3000);
    const open = () => Tree.open(shelf.options(totalsSpec, small), shelf.store(tree));
    expect(await height(shelf, open())).toBeGreaterThan(4);
    const former = tree;
    for (const keys of [numbers(1000, 2500), numbers(2600, 3995)]) {
      const update = await tree.update(removals(keys));
      if (tree === former) expect(update.replaced.map((node) => node.page)).not.toContain(undefined);
      tree = update.tree;
    }
    shelf.store(tree);
    expect(await height(shelf, open())).toBeLessThanOrEqual(4);
    ({ tree } = await tree.update(removals(numbers(2502, 4000))));
    shelf.store(tree);
    expect(await height(shelf, open())).toBe(1);
    expect((await gather(tree.entries())).map((entry) => entry.key)).toEqual([2500, 2501]);
  });
});

describe('a checkpoint of a tree', () => {
  test('marks nothing as stored before `stored` is called', async () => {
    const shelf = new PageShelf();
    const { tree } = await Tree.empty(shelf.options(totalsSpec, small)).update(sets(numbers(1000, 1100)));
    const before = tree.unstoredBytes();
    const nodes = tree.unstored(() => ({ page: 7, pages: 1 }));
    nodes.next();
    nodes.next();
    nodes.return(undefined);
    expect(tree.unstoredBytes()).toBe(before);
    expect(await list(treePages(tree))).toEqual([]);
    shelf.store(tree);
    expect(tree.unstoredBytes()).toBe(0);
  });

  test('stores each node once, and only new nodes the next time', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 300);
    const pages = [...shelf.pages.keys()];
    expect((await list(treePages(tree))).flat().sort()).toEqual(pages.sort());
    const page = Math.max(...pages);
    expect(shelf.store(tree)).toEqual({ page, count: 300, bytes: 3000, reduction: '{"sum":344850,"most":1299}' });
    expect(shelf.pages.size).toBe(pages.length);
    const { tree: next } = await tree.update(sets([1003]).map((change) => ({ ...change, value: '9999' })));
    const root = shelf.store(next);
    expect(shelf.pages.size - pages.length).toBe(
      await height(shelf, Tree.open(shelf.options(totalsSpec, small), root)),
    );
  });

  test('is known to trees made meanwhile', async () => {
    const shelf = new PageShelf();
    const { tree } = await Tree.empty(shelf.options(totalsSpec, small)).update(sets(numbers(1000, 1300)));
    const nodes = tree.unstored(() => ({ page: 1000 + shelf.pages.size, pages: 1 }));
    const first = nodes.next().value;
    if (first === undefined || !('stored' in first)) throw never();
    shelf.pages.set(first.page, first.text);
    const { tree: newer, replaced } = await tree.update([...sets([1000.5]), ...sets([1299.5])]);
    expect(replaced.map((node) => node.page)).not.toContain(1000);
    first.stored();
    expect(replaced.map((node) => node.page)).toContain(1000);
    const other = await tree.update(sets([1299.5]));
    expect((await list(treePages(other.tree))).flat()).toEqual([1000]);
    expect((await gather(newer.entries())).length).toBe(302);
  });

  test('drops stored nodes, which are read from then on', async () => {
    const shelf = new PageShelf();
    const options = shelf.options(totalsSpec, small, 0);
    const { tree } = await Tree.empty(options).update(sets(numbers(1000, 1100)));
    expect(tree.peek(1050)).toEqual({ hit: true, value: '1050' });
    shelf.store(tree);
    expect(tree.peek(1050)).toBeUndefined();
    expect(await shelf.readsOf(() => tree.get(1050))).toBe(3);
  });

  test('lets other trees of the same file share the cache', async () => {
    const shelf = new PageShelf();
    const cache = new PageCache(1e6);
    const options = { ...shelf.options(totalsSpec, small), cache };
    const root = shelf.store((await Tree.empty(options).update(sets(numbers(1000, 1100)))).tree);
    cache.set(root.page, new Uint8Array(4), 4, 'body');
    expect(await Tree.open(options, root).get(1050)).toBe('1050');
  });
});

describe('reading a tree', () => {
  test('reads nothing for a look-up in memory', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 300);
    expect(tree.peek(1100)).toBeUndefined();
    expect(shelf.reads).toEqual([]);
    expect(await tree.get(1100)).toBe('1100');
    expect(await shelf.readsOf(() => expect(tree.peek(1100)).toEqual({ hit: true, value: '1100' }))).toBe(0);
    expect(tree.peek(1100.5)).toEqual({ hit: true, value: undefined });
  });

  test('reads each node once for many look-ups', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 300, 0);
    expect(await shelf.readsOf(() => tree.getMany(numbers(900, 1400)))).toBe(shelf.pages.size);
    expect(await tree.getMany([999, 1000, 1000, 1299, 1300])).toEqual([undefined, '1000', '1000', '1299', undefined]);
  });

  test('reads for a walk the path to its beginning, and the nodes it returns', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 5000, 0);
    const levels = await height(shelf, tree);
    for (const descending of [false, true]) {
      const [start, end] = [2000, 2009];
      expect(await shelf.readsOf(() => gather(tree.entries({ start, end }, { descending })))).toBe(levels);
      expect(await shelf.readsOf(() => tree.entries({}, { descending }).next())).toBe(levels);
      const skipped = () => tree.entries({}, { descending, skip: 2345 }).next();
      expect(await shelf.readsOf(skipped)).toBeLessThanOrEqual(2 * levels);
      const beyond = () => gather(tree.entries({ start: 1100 }, { descending, skip: 9999 }));
      expect(await shelf.readsOf(beyond)).toBeLessThanOrEqual(2 * levels);
    }
  });

  test('reads no leaf beyond a range that begins or ends with a leaf', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 5000, 0);
    const levels = await height(shelf, tree);
    const anyTwo = () => true;
    const upward = { start: 2000, end: 2010, endInclusive: false };
    expect(await shelf.readsOf(() => gather(tree.entries(upward)))).toBe(levels);
    const downward = { start: 2000, end: 2009 };
    expect(await shelf.readsOf(() => gather(tree.entries(downward, { descending: true })))).toBe(levels);
    const forty = { start: 2000, end: 2040, endInclusive: false };
    expect(await shelf.readsOf(() => list(treeGroups(tree, forty, anyTwo)))).toBeLessThan(2 * levels);
    expect(await list(treeGroups(tree, forty, anyTwo))).toEqual([
      { key: 2000, reduction: { sum: 80_780, most: 2039 } },
    ]);
  });

  test.each([false, true])(
    'reads no leaf without entries of the range for a walk over many nodes (descending: %s)',
    async (descending) => {
      const shelf = new PageShelf();
      const tree = await stored(shelf, 1000, 0);
      for (let leaves = 1; leaves < 60; leaves += 1) {
        const range = descending ? { start: 2000 - 10 * leaves } : { end: 999 + 10 * leaves };
        await gather(tree.entries(range, { descending }));
        const read = shelf.reads.filter((page) => shelf.pages.get(page)?.startsWith('l1'));
        expect(read).toHaveLength(leaves);
        shelf.reads = [];
      }
    },
  );

  test('reads for a range that excludes the first key of a leaf no other leaf', async () => {
    const tree = await stored(new PageShelf(), 300);
    const range = { start: 1100, end: 1125, startInclusive: false };
    const keys = (await gather(tree.entries(range, { descending: true }))).map((entry) => entry.key);
    expect(keys).toEqual(numbers(1101, 1126).reverse());
    const groups = await list(treeGroups(tree, range, () => true, { descending: true }));
    expect(groups).toEqual([{ key: 1125, reduction: { sum: 27_825, most: 1125 } }]);
  });

  test('reads for counts and reductions only the nodes at the edges', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 5000, 0);
    const levels = await height(shelf, tree);
    expect(await shelf.readsOf(() => tree.reduction())).toBe(0);
    expect(await shelf.readsOf(() => tree.reduceRange({}))).toBe(0);
    expect(await shelf.readsOf(() => tree.countRange({}))).toBe(0);
    expect(await shelf.readsOf(() => tree.rank(3456))).toBe(levels);
    expect(await shelf.readsOf(() => tree.countRange({ start: 1234, end: 4321 }))).toBe(2 * levels);
    expect(await shelf.readsOf(() => tree.reduceRange({ start: 1234, end: 4321 }))).toBe(2 * levels - 1);
    expect(await tree.reduceRange({ start: 1234, end: 4321 })).toEqual({ sum: 8_576_920, most: 4321 });
  });

  test('reads for groups only the leaves where groups meet', async () => {
    const shelf = new PageShelf();
    const tree = await stored(shelf, 5000, 0);
    const levels = await height(shelf, tree);
    const thousands = (left: number, right: number) => Math.floor(left / 1000) === Math.floor(right / 1000);
    for (const descending of [false, true]) {
      const reads = await shelf.readsOf(() => list(treeGroups(tree, {}, thousands, { descending })));
      expect(reads).toBeLessThanOrEqual(6 * 2 * levels);
    }
    const groups = await list(treeGroups(tree, { start: 1500, end: 3499 }, thousands));
    expect(groups).toEqual([
      { key: 1500, reduction: { sum: 874_750, most: 1999 } },
      { key: 2000, reduction: { sum: 2_499_500, most: 2999 } },
      { key: 3000, reduction: { sum: 1_624_750, most: 3499 } },
    ]);
  });

  test('reads for a search by reductions only the paths to the results', async () => {
    const shelf = new PageShelf();
    const changes = numbers(1000, 6000).map((key) => ({ key, value: key % 1000 === 7 ? '99' : '1' }));
    const { tree: built } = await Tree.empty(shelf.options(totalsSpec, small)).update(changes);
    const tree = Tree.open(shelf.options(totalsSpec, small, 0), shelf.store(built));
    const levels = await height(shelf, tree);
    const search = (limit: number) => collectEntries(tree, { wanted: (part) => part.most > 50, limit });
    expect((await search(9)).map((entry) => entry.key)).toEqual([1007, 2007, 3007, 4007, 5007]);
    expect(await search(2)).toEqual([
      { key: 1007, value: '99' },
      { key: 2007, value: '99' },
    ]);
    expect(await search(0)).toEqual([]);
    expect(await shelf.readsOf(() => search(1))).toBe(levels);
    expect(await shelf.readsOf(() => collectEntries(tree, { wanted: (part) => part.most > 99, limit: 9 }))).toBe(0);
  });
});

describe('checking a tree', () => {
  async function findings(damage: (shelf: PageShelf, inner: number, leaf: number) => void): Promise<string[]> {
    const shelf = new PageShelf();
    const { tree: built } = await Tree.empty(shelf.options(totalsSpec, small)).update(sets(numbers(1000, 1030)));
    const root = shelf.store(built);
    damage(shelf, root.page, 101);
    return list(checkTree(Tree.open(shelf.options(totalsSpec, small), root)));
  }

  function edit(shelf: PageShelf, page: number, from: string, to: string): void {
    const text = shelf.pages.get(page) ?? never();
    expect(text).toContain(from);
    shelf.pages.set(page, text.replace(from, to));
  }

  test('finds nothing in an intact tree', async () => {
    expect(await findings(() => undefined)).toEqual([]);
  });

  test('finds a page that is missing or of another kind', async () => {
    expect(await findings((shelf, _inner, leaf) => shelf.pages.delete(leaf))).toEqual([
      'tree page 101: page 101 is missing',
    ]);
    const foreign = await findings((shelf, _inner, leaf) => shelf.pages.set(leaf, 'l9\n1\t1'));
    expect(foreign).toHaveLength(1);
    expect(foreign[0]).toMatch(/^tree page 101: storage_corrupt: .*known format/);
    const cut = await findings((shelf, _inner, leaf) => edit(shelf, leaf, '1015\t1015', '1015'));
    expect(cut[0]).toMatch(/^tree page 101: storage_corrupt: .*no tab \("1015"\)/);
    const slot = await findings((shelf, inner) => edit(shelf, inner, '\t101\t', '\tx\t'));
    expect(slot[0]).toMatch(/^tree page 103: storage_corrupt: .*lacks some of its parts/);
  });

  test('finds unsorted keys and keys beyond the separators', async () => {
    const swap = await findings((shelf, _inner, leaf) =>
      edit(shelf, leaf, '\n1014\t1014\n1015\t1015', '\n1015\t1015\n1014\t1014'),
    );
    expect(swap).toEqual(['tree page 101: its keys 5 and 6 are not in order']);
    const low = await findings((shelf, _inner, leaf) => edit(shelf, leaf, '\n1010\t', '\n1009\t'));
    expect(low).toEqual(['tree page 101: its first key is below the separator before it']);
    const high = await findings((shelf, _inner, leaf) => edit(shelf, leaf, '\n1019\t', '\n1020\t'));
    expect(high).toEqual(['tree page 101: its last key is not below the separator after it']);
  });

  test('finds counts, sizes and reductions that differ from those in the parent', async () => {
    const value = await findings((shelf, _inner, leaf) => edit(shelf, leaf, '\t1015', '\t1016'));
    expect(value).toEqual(['tree page 101: its reduction is not what its parent says']);
    const gone = await findings((shelf, _inner, leaf) => edit(shelf, leaf, '1015\t1015\n', ''));
    expect(gone).toEqual([
      'tree page 101: it holds 9 entries where its parent says 10',
      'tree page 101: it holds 90 bytes where its parent says 100',
      'tree page 101: its reduction is not what its parent says',
    ]);
    const sums = await findings((shelf, inner) => edit(shelf, inner, '\t101\t10\t100\t', '\t101\t11\t100\t'));
    expect(sums).toEqual([
      'tree page 103: it holds 31 entries where its parent says 30',
      'tree page 101: it holds 10 entries where its parent says 11',
    ]);
  });
});

function never(): never {
  throw new Error('this is there in any case');
}

/** Resolves to false after all microtasks. */
function turn(): Promise<false> {
  return new Promise((resolve) => setImmediate(() => resolve(false)));
}
