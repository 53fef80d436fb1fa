import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { must } from '../../src/base/shared/assert.ts';
import { atOnce } from '../../src/base/shared/turn.ts';
import type { RevisionPath } from '../../src/database/documents/contract.ts';
import {
  cutPath,
  mergePath,
  mergeTrees,
  pathOf,
  removeLeaves,
  stem,
} from '../../src/database/documents/revisions/revision-tree.ts';
import { toRevId } from '../../src/database/documents/revisions/revisions.ts';
import { decodeTree, encodeTree } from '../../src/database/documents/revisions/tree-codec.ts';
import { appendRevision } from '../support/append-revision.ts';
import { roundsOf } from '../support/long-runs.ts';
import { parseTree, printTree } from '../support/tree-notation.ts';
import {
  arrivalsOf,
  arrive,
  describeTree,
  expectWellFormed,
  type History,
  historyOf,
  nodesOf,
  plainHash,
  type Tree,
} from './revision-histories.ts';

const hexHash = fc
  .array(fc.constantFrom(...'0123456789abcdef'), { minLength: 32, maxLength: 32 })
  .map((digits) => digits.join(''));
const oddHash = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
  fc.constantFrom('~', ';', '^0.1', '=a,', '!', '0', '<'),
);

function treeOf(history: History): Tree {
  const parents = new Set(history.map((node) => node.parent));
  return history.filter((node) => !parents.has(node)).reduce<Tree>((tree, leaf) => mergeTrees(tree, [leaf]), []);
}

describe('a tree', () => {
  test('gets the same revision by an edit and by its replication', () => {
    const edit = fc.tuple(historyOf(plainHash), fc.nat(), fc.boolean());
    fc.assert(
      fc.property(edit, ([history, place, deleted]) => {
        const tree = treeOf(history);
        const nodes = [...nodesOf(tree)];
        const parent = nodes[place % nodes.length];
        const edited = appendRevision(tree, parent, { hash: 'new', deleted, body: 'N' });
        const node = must(edited.find((leaf) => leaf.hash === 'new'));
        expect(describeTree(mergePath(tree, pathOf(node), deleted, 'N').leaves)).toEqual(describeTree(edited));
        expectWellFormed(edited);
      }),
    );
  });

  test('keeps its leaves when it is stemmed, and the newest revisions of each branch', () => {
    fc.assert(
      fc.property(historyOf(plainHash), fc.integer({ min: 1, max: 10 }), (history, limit) => {
        const tree = treeOf(history);
        const stemmed = stem(tree, limit);
        expectWellFormed(stemmed);
        expect(stemmed).toHaveLength(tree.length);
        const kept = new Set<string>();
        for (const [index, leaf] of stemmed.entries()) {
          const [path, full] = [pathOf(leaf).ids, pathOf(must(tree[index])).ids];
          expect(path).toEqual(full.slice(0, path.length));
          expect(path.length).toBeGreaterThanOrEqual(Math.min(limit, full.length));
          for (const [depth, hash] of full.slice(0, limit).entries()) kept.add(toRevId(leaf.generation - depth, hash));
        }
        expect(new Set([...nodesOf(stemmed)].map((node) => toRevId(node.generation, node.hash)))).toEqual(kept);
      }),
    );
  });

  test('takes from a stemmed branch what it would keep of the whole one', () => {
    const scene = historyOf(plainHash).chain((history) =>
      fc.record({
        arrivals: arrivalsOf(history),
        node: fc.constantFrom(...history),
        limit: fc.integer({ min: 1, max: 6 }),
      }),
    );
    fc.assert(
      fc.property(scene, ({ arrivals, node, limit }) => {
        const tree = stem(arrive(arrivals), limit);
        const path = pathOf(node);
        const take = (taken: RevisionPath) => stem(mergePath(tree, taken, node.deleted, 'N').leaves, limit);
        const cut = cutPath(tree, path, limit);
        expect(describeTree(take(cut))).toEqual(describeTree(take(path)));
        if (tree.length === 0) expect(cut.ids.length).toBeLessThanOrEqual(limit);
      }),
      { numRuns: roundsOf(400, 1_000) },
    );
  });

  test('keeps all ancestors of the remaining leaves when leaves are removed', () => {
    fc.assert(
      fc.property(
        historyOf(plainHash).chain((history) => {
          const tree = treeOf(history);
          return fc.tuple(fc.constant(tree), fc.subarray([...tree]));
        }),
        ([tree, gone]) => {
          const { leaves, removed } = atOnce(
            removeLeaves(
              tree,
              gone.map((leaf) => toRevId(leaf.generation, leaf.hash)),
            ),
          );
          expect(removed).toHaveLength(gone.length);
          expect(leaves).toEqual(tree.filter((leaf) => !gone.includes(leaf)));
        },
      ),
    );
  });

  test('survives encoding and decoding', () => {
    fc.assert(
      fc.property(historyOf(fc.oneof(hexHash, oddHash)), (history) => {
        const tree = treeOf(history);
        const text = encodeTree(tree, (body) => body);
        expect(text).not.toMatch(/[\t\n]/);
        const decoded = decodeTree(text, (body) => body);
        expect(encodeTree(decoded, (body) => body)).toBe(text);
        expect(describeTree(decoded)).toEqual(describeTree(tree));
        expect(encodeTree(decoded, (body) => body)).toBe(text);
        expectWellFormed(decoded);
      }),
    );
  });

  test('is the same, decoded or not, after edits and stemming', () => {
    fc.assert(
      fc.property(historyOf(hexHash), hexHash, fc.integer({ min: 1, max: 8 }), (history, hash, limit) => {
        const text = encodeTree(treeOf(history), (body) => body);
        const [unread, read] = [decodeTree(text, (body) => body), decodeTree(text, (body) => body)];
        nodesOf(read);
        const [one, other] = [unread, read].map((tree) =>
          stem(appendRevision(tree, tree[0], { hash, deleted: false, body: 'n' }), limit),
        );
        expect(encodeTree(must(one), (body) => body)).toBe(encodeTree(must(other), (body) => body));
      }),
    );
  });

  test('survives its textual notation', () => {
    fc.assert(
      fc.property(historyOf(plainHash), (history) => {
        const tree = treeOf(history);
        expect(describeTree(parseTree(printTree(tree)))).toEqual(describeTree(tree));
      }),
    );
  });
});
