import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NodeReader } from '../../src/storage/btree/contract.ts';
import { checkTree } from '../../src/storage/btree/reading/tree-check.ts';
import { Tree } from '../../src/storage/btree/tree.ts';
import { PageCache } from '../../src/storage/paging/page-cache.ts';
import { roundsOf } from '../support/long-runs.ts';
import { lengthOf, lengthSpec, list } from './btree-model.ts';

test('reductions that are adjusted are those of the entries', async () => {
  const change = fc.record({
    key: fc.nat(90),
    value: fc.option(fc.stringMatching(/^[a-z]{0,9}$/), { nil: undefined }),
  });
  const changes = fc
    .uniqueArray(change, { maxLength: 40, selector: ({ key }) => key })
    .map((each) => each.sort((left, right) => left.key - right.key));
  const isStored = fc.boolean();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ changes, isStored }), { maxLength: 9 }), async (steps) => {
      const pages = new Map<number, string>();
      const reader: NodeReader = { readNode: (page) => pages.get(page) ?? '' };
      const options = {
        spec: lengthSpec,
        reader,
        cache: new PageCache(1_000),
        sizes: { leafBytes: 60, innerBytes: 99 },
      };
      const values = new Map<number, string>();
      let tree = Tree.empty(options);
      let nextPage = 1;
      for (const step of steps) {
        ({ tree } = await tree.update(step.changes));
        for (const { key, value } of step.changes) {
          if (value === undefined) values.delete(key);
          else values.set(key, value);
        }
        if (step.isStored) {
          for (const node of tree.unstored(() => ({ page: nextPage++, pages: 1 }))) {
            pages.set(node.page, node.text);
            node.stored();
          }
          expect(await list(checkTree(tree))).toEqual([]);
        }
        expect(tree.reduction()).toBe(values.size === 0 ? undefined : lengthOf([...values.values()]));
      }
    }),
    { numRuns: roundsOf(80, 200) },
  );
});
