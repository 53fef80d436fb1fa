import { describe, expect, test } from 'vitest';
import type { TreeChange } from '../../../../src/storage/btree/contract.ts';
import { checkTree } from '../../../../src/storage/btree/reading/tree-check.ts';
import { Tree } from '../../../../src/storage/btree/tree.ts';
import { gather, list, numbers, PageShelf, removals, sets, totalsSpec } from './page-shelf.ts';
import { height, never, small, stored, textSpec } from './stored-trees.ts';

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

/** Resolves to false after all microtasks. */
function turn(): Promise<false> {
  return new Promise((resolve) => setImmediate(() => resolve(false)));
}
