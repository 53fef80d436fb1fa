import { describe, expect, test } from 'vitest';
import { treeGroups } from '../../../../src/storage/btree/reading/group-walk.ts';
import { collectEntries } from '../../../../src/storage/btree/reading/reduction-walks.ts';
import { Tree } from '../../../../src/storage/btree/tree.ts';
import { gather, list, numbers, PageShelf, totalsSpec } from './page-shelf.ts';
import { height, small, stored } from './stored-trees.ts';

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
