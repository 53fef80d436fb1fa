import { describe, expect, test } from 'vitest';
import { checkTree } from '../../../../src/storage/btree/reading/tree-check.ts';
import { Tree } from '../../../../src/storage/btree/tree.ts';
import { list, numbers, PageShelf, sets, totalsSpec } from './page-shelf.ts';
import { never, small } from './stored-trees.ts';

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
