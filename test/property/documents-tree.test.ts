import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { must } from '../../src/base/shared/assert.ts';
import { atOnce } from '../../src/base/shared/turn.ts';
import type { RevisionNode, RevisionPath } from '../../src/database/documents/contract.ts';
import { MutableRevisionTree } from '../../src/database/documents/revisions/mutable-revision-tree.ts';
import {
  cutPath,
  mapBodies,
  mergePath,
  mergeTrees,
  pathOf,
  removeLeaves,
  stem,
  winner,
} from '../../src/database/documents/revisions/revision-tree.ts';
import { compareRevisions, toRevId } from '../../src/database/documents/revisions/revisions.ts';
import { decodeTree, encodeTree } from '../../src/database/documents/revisions/tree-codec.ts';
import { appendRevision } from '../support/append-revision.ts';
import { roundsOf } from '../support/long-runs.ts';
import { parseTree, printTree } from '../support/tree-notation.ts';

type Tree = readonly RevisionNode<string>[];

/** A history is all revisions that were ever made of a document, anywhere. Replicas know parts of it. */
type History = readonly RevisionNode<string>[];

/** What one replication brings: a revision with its newest `length` ancestors (itself included). */
interface Arrival {
  readonly node: RevisionNode<string>;
  readonly length: number;
}

const hexHash = fc
  .array(fc.constantFrom(...'0123456789abcdef'), { minLength: 32, maxLength: 32 })
  .map((digits) => digits.join(''));
const oddHash = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
  fc.constantFrom('~', ';', '^0.1', '=a,', '!', '0', '<'),
);
/** Usable in the text notation. */
const plainHash = fc.stringMatching(/^[a-d]{1,2}$/);

function historyOf(hash: fc.Arbitrary<string>): fc.Arbitrary<History> {
  const revision = fc.record({
    hash,
    parent: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    isRoot: fc.nat(9).map((chance) => chance === 0),
    generation: fc.integer({ min: 1, max: 12 }),
    deleted: fc.nat(3).map((chance) => chance === 0),
    body: fc.option(fc.stringMatching(/^[0-9a-z.]{0,6}$/), { nil: undefined }),
  });
  return fc.array(revision, { minLength: 1, maxLength: 25 }).map((revisions) => {
    const nodes = new Map<string, RevisionNode<string>>();
    for (const { hash: text, parent: place, isRoot, generation: first, deleted, body } of revisions) {
      const all = [...nodes.values()];
      const parent = isRoot ? undefined : all[Math.floor(place * all.length)];
      const generation = parent === undefined ? first : parent.generation + 1;
      const rev = toRevId(generation, text);
      if (!nodes.has(rev)) nodes.set(rev, { generation, hash: text, deleted, body, parent });
    }
    return [...nodes.values()];
  });
}

function treeOf(history: History): Tree {
  const parents = new Set(history.map((node) => node.parent));
  return history.filter((node) => !parents.has(node)).reduce<Tree>((tree, leaf) => mergeTrees(tree, [leaf]), []);
}

function arrivalsOf(history: History): fc.Arbitrary<Arrival[]> {
  return fc.array(fc.record({ node: fc.constantFrom(...history), length: fc.integer({ min: 1, max: 6 }) }), {
    minLength: 1,
    maxLength: 12,
  });
}

/** A history, and how parts of it came to several replicas. */
function replicas(count: number): fc.Arbitrary<Arrival[][]> {
  return historyOf(plainHash).chain((history) => fc.array(arrivalsOf(history), { minLength: count, maxLength: count }));
}

function arrive(arrivals: readonly Arrival[], tree: Tree = []): Tree {
  return arrivals.reduce((known, { node, length }) => {
    const { start, ids } = pathOf(node);
    return mergePath(known, { start, ids: ids.slice(0, length) }, node.deleted, node.body).leaves;
  }, tree);
}

/** All that a tree says. */
function describeTree(tree: Tree) {
  return tree.map((leaf) => {
    const path: unknown[] = [];
    for (let at: RevisionNode<string> | undefined = leaf; at !== undefined; at = at.parent) {
      path.push([at.generation, at.hash, at.deleted, at.body]);
    }
    return path;
  });
}

/** All that does not depend on whether an inner revision came by itself or as another's ancestor. */
const describeLeaves = (tree: Tree) => tree.map((leaf) => [pathOf(leaf), leaf.deleted]);

function nodesOf(tree: Tree): Set<RevisionNode<string>> {
  const nodes = new Set<RevisionNode<string>>();
  mapBodies(tree, (node) => {
    nodes.add(node);
    return node.body;
  });
  return nodes;
}

function expectWellFormed(tree: Tree): void {
  const nodes = nodesOf(tree);
  const revs = new Set([...nodes].map((node) => toRevId(node.generation, node.hash)));
  expect(revs.size).toBe(nodes.size);
  for (const node of nodes) if (node.parent !== undefined) expect(node.generation).toBe(node.parent.generation + 1);
  const parents = new Set([...nodes].map((node) => node.parent));
  for (const leaf of tree) expect(parents.has(leaf)).toBe(false);
  for (const [index, leaf] of tree.slice(1).entries()) {
    const before = must(tree[index]);
    expect(
      before.deleted
        ? leaf.deleted && compareRevisions(before, leaf) > 0
        : leaf.deleted || compareRevisions(before, leaf) > 0,
    ).toBe(true);
  }
}

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
