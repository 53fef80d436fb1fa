import { describe, expect, test } from 'vitest';
import { checkTree } from '../../../../src/storage/btree/reading/tree-check.ts';
import { readableEntries, treePages } from '../../../../src/storage/btree/reading/tree-walks.ts';
import { Tree } from '../../../../src/storage/btree/tree.ts';
import { gather, numbers, PageShelf, sets, type Totals, totalsSpec } from './page-shelf.ts';

/** About ten entries of four digits a leaf, and some forty slots an inner node. */
const sizes = { leafBytes: 102, innerBytes: 1700 };

/** A stored tree, opened with nothing in memory, on storage where each read is a trip; and what was announced and read, in order. */
async function distantTree(count: number): Promise<{ readonly tree: Tree<number, Totals>; readonly log: string[] }> {
  const shelf = new PageShelf();
  const built = await Tree.empty(shelf.options(totalsSpec, sizes)).update(sets(numbers(1000, 1000 + count)));
  const root = shelf.store(built.tree);
  const log: string[] = [];
  const { reader, ...options } = shelf.options(totalsSpec, sizes);
  const distant = {
    readNode: async (page: number, pages: number) => {
      log.push(`read ${page}`);
      return reader.readNode(page, pages);
    },
    readAhead: (pages: readonly number[]) => log.push(`ahead ${pages.join(' ')}`),
  };
  return { tree: Tree.open({ ...options, reader: distant }, root), log };
}

async function drain(walk: AsyncIterable<unknown>): Promise<void> {
  for await (const _step of walk);
}

/** Returns the reads that were not announced. */
function surprisesIn(log: readonly string[]): string[] {
  const known = new Set<string>();
  const surprises: string[] = [];
  for (const entry of log) {
    const [what = '', ...pages] = entry.split(' ');
    if (what === 'ahead') for (const page of pages) known.add(page);
    else if (!known.has(pages.join())) surprises.push(entry);
  }
  return surprises;
}

describe('a walk over a tree on distant storage', () => {
  test('announces more and more leaves, each before it is read', async () => {
    const { tree, log } = await distantTree(2000);
    expect((await gather(tree.entries())).map(({ key }) => key)).toEqual(numbers(1000, 3000));
    const announced = log.flatMap((entry) => (entry.startsWith('ahead ') ? [entry.split(' ').length - 1] : []));
    expect(announced.slice(0, 4)).toEqual([3, 4, 6, 10]);
    // The root, and the first node on each level below it.
    expect(surprisesIn(log)).toHaveLength(3);
  });

  test.each([
    ['checks it', (tree: Tree<number, Totals>) => drain(checkTree(tree))],
    ['reads what is readable of it', (tree: Tree<number, Totals>) => drain(readableEntries(tree, () => undefined))],
  ])('announces every node but the root if it %s', async (_, walk) => {
    const { tree, log } = await distantTree(2000);
    await walk(tree);
    expect(surprisesIn(log)).toHaveLength(1);
    expect(log.filter((entry) => entry.startsWith('ahead ')).length).toBeLessThan(log.length / 8);
  });

  test('announces the inner nodes if it collects page numbers', async () => {
    const { tree, log } = await distantTree(2000);
    await drain(treePages(tree));
    // The root, and the first node on each level below it, which shows how many levels there are.
    expect(surprisesIn(log)).toHaveLength(3);
  });

  test('announces in its own direction', async () => {
    const { tree, log } = await distantTree(200);
    const entries = await gather(tree.entries({}, { descending: true }));
    expect(entries.map(({ key }) => key)).toEqual(numbers(1000, 1200).reverse());
    const [first = ''] = log.filter((entry) => entry.startsWith('ahead '));
    const [one = 0, two = 0] = first.split(' ').slice(1).map(Number);
    expect(one).toBeGreaterThan(two);
  });

  test('announces nothing for a range within a leaf, or for entries that are skipped', async () => {
    const { tree, log } = await distantTree(2000);
    await gather(tree.entries({ start: 1500, end: 1500 }));
    for await (const _entries of tree.entries({}, { skip: 1500 })) break;
    expect(log.filter((entry) => entry.startsWith('ahead '))).toEqual([]);
  });
});
