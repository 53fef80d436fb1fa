import fc from 'fast-check';
import { expect, test } from 'vitest';
import { atOnce } from '../../src/base/shared/turn.ts';
import type { NodeReader } from '../../src/storage/btree/contract.ts';
import { checkTree } from '../../src/storage/btree/reading/tree-check.ts';
import { Tree, type TreeOptions } from '../../src/storage/btree/tree.ts';
import { PageCache } from '../../src/storage/paging/page-cache.ts';
import { roundsOf } from '../support/long-runs.ts';
import { expectReplaced, gather, lengthSpec, list, numberSpec } from './btree-model.ts';

const lengthChange = fc.record({
  key: fc.nat(90),
  value: fc.option(fc.stringMatching(/^[a-z]{0,9}$/), { nil: undefined, freq: 3 }),
});
const lengthChanges = fc
  .uniqueArray(lengthChange, { maxLength: 60, size: 'max', selector: ({ key }) => key })
  .map((changes) => changes.sort((left, right) => left.key - right.key));

/** Stores a tree as a whole, and opens it anew. */
function reopened(tree: Tree<number, number>, options: TreeOptions<number, number>, pages: Map<number, string>) {
  const nodes = tree.unstored(() => ({ page: pages.size + 1, pages: 1 }));
  for (let next = nodes.next(); ; next = nodes.next()) {
    if (next.done) return next.value === undefined ? Tree.empty(options) : Tree.open(options, next.value);
    pages.set(next.value.page, next.value.text);
    next.value.stored();
  }
}

test('a tree with delayed changes has the same entries as one with those changes made', async () => {
  await fc.assert(
    fc.asyncProperty(lengthChanges, lengthChanges, lengthChanges, async (first, delayed, later) => {
      const pages = new Map<number, string>();
      const reader: NodeReader = { readNode: (page) => pages.get(page) ?? '' };
      const options = {
        spec: lengthSpec,
        reader,
        cache: new PageCache(1_000),
        sizes: { leafBytes: 60, innerBytes: 99 },
      };
      const stored = reopened((await Tree.empty(options).update(first)).tree, options, pages);
      const formerValues = await stored.getMany(delayed.map(({ key }) => key));
      const tree = atOnce(stored.delayChanges(delayed, formerValues));
      if (stored.isEmpty || tree === undefined) {
        expect([stored.isEmpty, tree]).toEqual([true, undefined]);
        return;
      }
      const { tree: made } = await stored.update(delayed);
      const keys = Array.from({ length: 91 }, (_unused, key) => key);
      const values = await made.getMany(keys);
      expect(tree).toMatchObject({
        count: made.count,
        bytes: made.bytes,
        isEmpty: made.isEmpty,
        hasDelayedChanges: true,
      });
      expect(tree.reduction()).toBe(made.reduction());
      expect(await tree.getMany(keys)).toEqual(values);
      for (const key of keys) {
        expect(await tree.get(key)).toBe(values[key]);
        expect(tree.peek(key) ?? { hit: true, value: values[key] }).toEqual({ hit: true, value: values[key] });
      }
      expect(atOnce(tree.delayChanges(later, []))).toBeUndefined();
      const updated = await tree.update(later);
      expect(await gather(updated.tree.entries())).toEqual(await gather((await made.update(later)).tree.entries()));
      const left = updated.replaced.map((node) => node.page);
      // An update without changes gives the tree as it is, with everything still delayed.
      if (later.length > 0) await expectReplaced(stored, updated.tree, left);
      else expect([updated.tree, left]).toEqual([tree, []]);
      expect(await gather(tree.entries())).toEqual(await gather(made.entries()));
      expect(await tree.rank(45)).toBe(await made.rank(45));
      expect(await tree.countRange({ start: 20, end: 70 })).toBe(await made.countRange({ start: 20, end: 70 }));
      const applied = await tree.applyDelayedChanges();
      expect(applied.tree).toBe((await tree.applyDelayedChanges()).tree);
      // Not always those of the update above: with whom a split leaf shares is up to what is in memory.
      await expectReplaced(
        stored,
        applied.tree,
        applied.replaced.map(({ page }) => page),
      );
      expect(applied.tree.hasDelayedChanges).toBe(false);
      expect(await list(checkTree(reopened(applied.tree, options, pages)))).toEqual([]);
    }),
    { numRuns: roundsOf(80, 200) },
  );
});

test("changes whose reduction can't be computed are not delayed", async () => {
  const reader: NodeReader = { readNode: () => '' };
  const options = { spec: numberSpec, reader, cache: new PageCache(1_000), sizes: { leafBytes: 60, innerBytes: 99 } };
  const { tree } = await Tree.empty(options).update([{ key: 1, value: 'a' }]);
  expect(atOnce(tree.delayChanges([{ key: 2, value: 'b' }], [undefined]))).toBeUndefined();
});
