import { describe, expect, test } from 'vitest';
import { treeGroups } from '../../../../src/storage/btree/reading/group-walk.ts';
import { collectEntries } from '../../../../src/storage/btree/reading/reduction-walks.ts';
import { checkTree } from '../../../../src/storage/btree/reading/tree-check.ts';
import { treePages } from '../../../../src/storage/btree/reading/tree-walks.ts';
import { Tree } from '../../../../src/storage/btree/tree.ts';
import { gather, list, numbers, PageShelf, removals, totalsSpec } from './page-shelf.ts';
import { small, stored } from './stored-trees.ts';

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
