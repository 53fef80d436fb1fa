import { describe, expect, test } from 'vitest';
import type { TreeSpec } from '../../../../src/storage/btree/contract.ts';
import { checkTree } from '../../../../src/storage/btree/reading/tree-check.ts';
import { Tree } from '../../../../src/storage/btree/tree.ts';
import { gather, list, numbers, PageShelf, removals, sets, totalsSpec } from './page-shelf.ts';
import { height, small, stored, textSpec } from './stored-trees.ts';

function leafTexts(shelf: PageShelf): string[] {
  return [...shelf.pages.values()].filter((text) => text.startsWith('l1'));
}

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
