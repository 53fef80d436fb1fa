import { describe, expect, test } from 'vitest';
import { treePages } from '../../../../src/storage/btree/reading/tree-walks.ts';
import { Tree } from '../../../../src/storage/btree/tree.ts';
import { PageCache } from '../../../../src/storage/paging/page-cache.ts';
import { gather, list, numbers, PageShelf, sets, totalsSpec } from './page-shelf.ts';
import { height, never, small, stored } from './stored-trees.ts';

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
