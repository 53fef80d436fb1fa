import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RevisionNode } from '../../src/database/documents/contract.ts';
import { MutableRevisionTree } from '../../src/database/documents/revisions/mutable-revision-tree.ts';
import {
  cutPath,
  mapBodies,
  mergePath,
  mergeTrees,
  pathOf,
  stem,
} from '../../src/database/documents/revisions/revision-tree.ts';
import { toRevId } from '../../src/database/documents/revisions/revisions.ts';
import { roundsOf } from '../support/long-runs.ts';
import {
  type Arrival,
  arrivalsOf,
  arrive,
  describeLeaves,
  describeTree,
  expectWellFormed,
  historyOf,
  nodesOf,
  plainHash,
  replicas,
  type Tree,
} from './revision-histories.ts';

describe('a tree that merges one path after another', () => {
  /** So many further leaves that a map is made of the tree. They have no part in what is merged. */
  const others: Tree = Array.from({ length: 40 }, (_, n) => ({
    generation: 1,
    hash: `other${String(n).padStart(2, '0')}`,
    deleted: true,
    body: undefined,
    parent: undefined,
  })).reverse();

  const isOther = ({ hash }: RevisionNode<string>) => hash.startsWith('other');

  /** What merging the paths in the tree as a whole makes of it, one by one: slower, and known to be right. */
  function model(tree: Tree, { node, length }: Arrival, body: string, limit: number): Tree {
    const { start, ids } = pathOf(node);
    const path = cutPath(tree, { start, ids: ids.slice(0, length) }, limit);
    const { leaves, outcome } = mergePath(tree, path, node.deleted, body);
    if (outcome !== 'known') return start > limit ? stem(leaves, limit) : leaves;
    const stemmed = leaves === tree ? tree : stem(leaves, limit);
    const revisionsOf = (each: Tree) => each.map((leaf) => pathOf(leaf).ids.length);
    const before = revisionsOf(tree);
    const hasGained =
      stemmed.length < tree.length || revisionsOf(stemmed).some((count, index) => count > (before[index] ?? 0));
    return hasGained ? stemmed : tree;
  }

  /** Every revision has another body. */
  function goneBodies(before: Tree, after: Tree): string[] {
    const kept = new Set(after.map(({ body }) => body));
    return before.flatMap(({ body }) => (body === undefined || kept.has(body) ? [] : [body])).sort();
  }

  const scenes = historyOf(plainHash).chain((history) =>
    fc.record({ first: arrivalsOf(history), further: arrivalsOf(history), limit: fc.integer({ min: 1, max: 14 }) }),
  );

  test.each([
    ['few', []],
    ['many', others],
  ] as const)('is the same as after merging each, with %s leaves', (_count, beside) => {
    fc.assert(
      fc.property(scenes, ({ first, further, limit }) => {
        let expected = mapBodies(mergeTrees(arrive(first), beside), ({ generation, hash }) =>
          toRevId(generation, hash),
        );
        const growing = new MutableRevisionTree(expected);
        for (const [index, { node, length }] of further.entries()) {
          const before = expected;
          const body = `new${index}`;
          expected = model(expected, { node, length }, body, limit);
          const { start, ids } = pathOf(node);
          const growth = growing.merge({ start, ids: ids.slice(0, length) }, node.deleted, body, limit);
          expect(growth === undefined).toBe(expected === before);
          expect([...(growth?.released ?? [])].sort()).toEqual(goneBodies(before, expected));
          expect(growing.winner).toMatchObject({ hash: expected[0]?.hash, generation: expected[0]?.generation });
        }
        expect(describeTree(growing.leaves)).toEqual(describeTree(expected));
        expectWellFormed(growing.leaves);
      }),
      { numRuns: roundsOf(400, 1_000) },
    );
  });

  test('finds its revisions and leaves', () => {
    fc.assert(
      fc.property(scenes, ({ first, further }) => {
        const growing = new MutableRevisionTree(mergeTrees(arrive(first), others));
        for (const { node, length } of further) {
          const { start, ids } = pathOf(node);
          growing.merge({ start, ids: ids.slice(0, length) }, node.deleted, '', 20);
        }
        const expected = arrive(further, mergeTrees(arrive(first), others));
        for (const node of nodesOf(expected)) expect(growing.node(node)).toMatchObject(pick(node));
        for (const leaf of expected) expect(growing.leaf(leaf)).toMatchObject(pick(leaf));
        const leaves = new Set(describeLeaves(expected).map((leaf) => JSON.stringify(leaf)));
        for (const node of nodesOf(expected)) {
          expect(growing.leaf(node) !== undefined).toBe(leaves.has(JSON.stringify([pathOf(node), node.deleted])));
        }
        expect(growing.leaf({ generation: 99, hash: 'none' })).toBeUndefined();
      }),
    );
  });

  test('loses no leaf to contradicting paths', () => {
    const contradictory = fc.tuple(replicas(1), replicas(1)).map(([[left = []], [right = []]]) => [...left, ...right]);
    fc.assert(
      fc.property(contradictory, fc.constantFrom<Tree>([], others), (arrivals, beside) => {
        const growing = new MutableRevisionTree(beside);
        const arrived = new Set<string>();
        for (const { node, length } of arrivals) {
          const { start, ids } = pathOf(node);
          growing.merge({ start, ids: ids.slice(0, length) }, node.deleted, '', 20);
          arrived.add(toRevId(node.generation, node.hash));
        }
        const known = new Set([...nodesOf(growing.leaves)].map((node) => toRevId(node.generation, node.hash)));
        for (const rev of arrived) expect(known).toContain(rev);
        expectWellFormed(growing.leaves);
        expect(growing.leaves.filter(isOther)).toHaveLength(beside.length);
      }),
      { numRuns: roundsOf(400, 1_000) },
    );
  });
});

function pick({ generation, hash, deleted }: RevisionNode<string>) {
  return { generation, hash, deleted };
}
