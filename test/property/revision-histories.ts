/** Histories of documents, how replicas come to know them, and what can be said of every tree of revisions. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { must } from '../../src/base/shared/assert.ts';
import type { RevisionNode } from '../../src/database/documents/contract.ts';
import { mapBodies, mergePath, pathOf } from '../../src/database/documents/revisions/revision-tree.ts';
import { compareRevisions, toRevId } from '../../src/database/documents/revisions/revisions.ts';

export type Tree = readonly RevisionNode<string>[];

/** A history is all revisions that were ever made of a document, anywhere. Replicas know parts of it. */
export type History = readonly RevisionNode<string>[];

/** What one replication brings: a revision with its newest `length` ancestors (itself included). */
export interface Arrival {
  readonly node: RevisionNode<string>;
  readonly length: number;
}

/** Usable in the text notation. */
export const plainHash = fc.stringMatching(/^[a-d]{1,2}$/);

export function historyOf(hash: fc.Arbitrary<string>): fc.Arbitrary<History> {
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

export function arrivalsOf(history: History): fc.Arbitrary<Arrival[]> {
  return fc.array(fc.record({ node: fc.constantFrom(...history), length: fc.integer({ min: 1, max: 6 }) }), {
    minLength: 1,
    maxLength: 12,
  });
}

/** A history, and how parts of it came to several replicas. */
export function replicas(count: number): fc.Arbitrary<Arrival[][]> {
  return historyOf(plainHash).chain((history) => fc.array(arrivalsOf(history), { minLength: count, maxLength: count }));
}

export function arrive(arrivals: readonly Arrival[], tree: Tree = []): Tree {
  return arrivals.reduce((known, { node, length }) => {
    const { start, ids } = pathOf(node);
    return mergePath(known, { start, ids: ids.slice(0, length) }, node.deleted, node.body).leaves;
  }, tree);
}

/** All that a tree says. */
export function describeTree(tree: Tree) {
  return tree.map((leaf) => {
    const path: unknown[] = [];
    for (let at: RevisionNode<string> | undefined = leaf; at !== undefined; at = at.parent) {
      path.push([at.generation, at.hash, at.deleted, at.body]);
    }
    return path;
  });
}

/** All that does not depend on whether an inner revision came by itself or as another's ancestor. */
export const describeLeaves = (tree: Tree) => tree.map((leaf) => [pathOf(leaf), leaf.deleted]);

export function nodesOf(tree: Tree): Set<RevisionNode<string>> {
  const nodes = new Set<RevisionNode<string>>();
  mapBodies(tree, (node) => {
    nodes.add(node);
    return node.body;
  });
  return nodes;
}

export function expectWellFormed(tree: Tree): void {
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
