/** Small trees with stored pages, for the tests of trees, and what they tell of themselves. */
import { compareCodePoints } from '../../../../src/base/collation/code-points.ts';
import type { TreeSpec } from '../../../../src/storage/btree/contract.ts';
import { Tree } from '../../../../src/storage/btree/tree.ts';
import { numbers, type PageShelf, sets, type Totals, totalsSpec } from './page-shelf.ts';

/** About ten entries of four digits a leaf, and four slots an inner node. */
export const small = { leafBytes: 102, innerBytes: 170 };

export const textSpec: TreeSpec<string, number> = {
  compare: compareCodePoints,
  encodeKey: (key) => JSON.stringify(key),
  decodeKey: (text) => JSON.parse(text),
  reduce: (entries) => entries.length,
  rereduce: (parts) => parts.reduce((sum, part) => sum + part, 0),
};

/** A stored tree of the numbers from 1000 on, and another one opened from its root with nothing in memory. */
export async function stored(shelf: PageShelf, count: number, cacheBytes?: number): Promise<Tree<number, Totals>> {
  const built = await Tree.empty(shelf.options(totalsSpec, small)).update(sets(numbers(1000, 1000 + count)));
  return Tree.open(shelf.options(totalsSpec, small, cacheBytes), shelf.store(built.tree));
}

export async function height(shelf: PageShelf, tree: Tree<number, Totals>): Promise<number> {
  return shelf.readsOf(() => tree.get(1234));
}

export function never(): never {
  throw new Error('this is there in any case');
}
