import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { must } from '../../src/base/shared/assert.ts';
import { mergePath, mergeTrees, pathOf, winner } from '../../src/database/documents/revisions/revision-tree.ts';
import { toRevId } from '../../src/database/documents/revisions/revisions.ts';
import {
  arrivalsOf,
  arrive,
  describeLeaves,
  describeTree,
  expectWellFormed,
  historyOf,
  nodesOf,
  plainHash,
  replicas,
} from './revision-histories.ts';

describe('merging trees', () => {
  test('is commutative', () => {
    fc.assert(
      fc.property(replicas(2), ([left = [], right = []]) => {
        const [one, other] = [arrive(left), arrive(right)];
        expect(describeTree(mergeTrees(one, other))).toEqual(describeTree(mergeTrees(other, one)));
      }),
    );
  });

  test('is associative', () => {
    fc.assert(
      fc.property(replicas(3), ([left = [], middle = [], right = []]) => {
        const [one, two, three] = [arrive(left), arrive(middle), arrive(right)];
        expect(describeTree(mergeTrees(mergeTrees(one, two), three))).toEqual(
          describeTree(mergeTrees(one, mergeTrees(two, three))),
        );
      }),
    );
  });

  test('is idempotent', () => {
    fc.assert(
      fc.property(replicas(1), ([arrivals = []]) => {
        const [tree, again] = [arrive(arrivals), arrive(arrivals)];
        expect(describeTree(mergeTrees(tree, again))).toEqual(describeTree(tree));
        expect(mergeTrees(tree, again).every((leaf, index) => leaf === tree[index])).toBe(true);
      }),
    );
  });

  test('results in a well-formed tree', () => {
    fc.assert(
      fc.property(replicas(2), ([left = [], right = []]) => expectWellFormed(mergeTrees(arrive(left), arrive(right)))),
    );
  });

  test('leads to the same leaves as merging all paths one by one', () => {
    fc.assert(
      fc.property(replicas(2), ([left = [], right = []]) => {
        expect(describeLeaves(mergeTrees(arrive(left), arrive(right)))).toEqual(
          describeLeaves(arrive(right, arrive(left))),
        );
      }),
    );
  });
});

describe('merging paths', () => {
  const shuffled = historyOf(plainHash).chain((history) =>
    arrivalsOf(history).chain((arrivals) =>
      fc.tuple(fc.constant(arrivals), fc.shuffledSubarray(arrivals, { minLength: arrivals.length })),
    ),
  );

  test('leads to the same winner and the same conflicts in any order', () => {
    fc.assert(
      fc.property(shuffled, ([inOrder, inDisorder]) => {
        const [one, other] = [arrive(inOrder), arrive(inDisorder)];
        expect(describeLeaves(one)).toEqual(describeLeaves(other));
        expect(winner(one)?.hash).toBe(winner(other)?.hash);
      }),
    );
  });

  test('keeps the tree well-formed, also if paths contradict each other', () => {
    const contradictory = fc.tuple(replicas(1), replicas(1)).map(([[left = []], [right = []]]) => [...left, ...right]);
    fc.assert(fc.property(contradictory, (arrivals) => expectWellFormed(arrive(arrivals))));
  });

  test('reports what it did', () => {
    fc.assert(
      fc.property(replicas(1), ([arrivals = []]) => {
        const last = must(arrivals.at(-1));
        const before = arrive(arrivals.slice(0, -1));
        const { start, ids } = pathOf(last.node);
        const { leaves, outcome, node } = mergePath(before, { start, ids: ids.slice(0, last.length) }, false, 'new');
        const revs = [...nodesOf(before)].map((at) => toRevId(at.generation, at.hash));
        expect(outcome === 'known').toBe(revs.includes(toRevId(last.node.generation, last.node.hash)));
        expect(nodesOf(leaves).has(node)).toBe(true);
        expect(toRevId(node.generation, node.hash)).toBe(toRevId(last.node.generation, last.node.hash));
        if (outcome !== 'known') expect([leaves.includes(node), node.body]).toEqual([true, 'new']);
      }),
    );
  });
});
