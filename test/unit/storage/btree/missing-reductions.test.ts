import { describe, expect, test } from 'vitest';
import type { TreeSpec } from '../../../../src/storage/btree/contract.ts';
import { missingReductions } from '../../../../src/storage/btree/reading/tree-walks.ts';
import { Tree } from '../../../../src/storage/btree/tree.ts';
import { numbers, PageShelf } from './page-shelf.ts';
import { small, textSpec } from './stored-trees.ts';

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
