import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import type { RevisionNode } from '../../../../src/database/documents/contract.ts';
import {
  findNode,
  leavesFrom,
  mapBodies,
  mergePath,
  mergeTrees,
  pathOf,
  removeLeaves,
  stem,
  winner,
} from '../../../../src/database/documents/revisions/revision-tree.ts';
import { parseRevId, toRevision } from '../../../../src/database/documents/revisions/revisions.ts';
import { appendRevision } from '../../../support/append-revision.ts';
import { parseTree, printTree } from '../../../support/tree-notation.ts';

type Tree = readonly RevisionNode<string>[];

const node = (tree: Tree, rev: string) => must(findNode(tree, toRevision(parseRevId(rev))));
const leafHashes = (tree: Tree) => tree.map((leaf) => leaf.hash);

/** Merges a path written as `_revisions` has it: newest first. */
function merge(tree: Tree, path: string, deleted = false, body?: string) {
  const [start, ...ids] = path.split(' ');
  const merged = mergePath(tree, { start: Number(start), ids }, deleted, body);
  return { ...merged, tree: printTree(merged.leaves) };
}

describe('the winner', () => {
  test.each([
    ['1-a', 'a'],
    ['1-a 2-b, 1-a 2-c', 'c'],
    ['1-a 2-b 3-a, 1-a 2-z', 'a'],
    ['1-a 2-b! , 1-a 2-a', 'a'],
    ['1-a 2-b 3-c!, 1-z', 'z'],
    ['1-a 2-b!, 1-a 2-c!', 'c'],
    ['9-a 10-a, 9-z', 'a'],
  ])('of %s is %s', (text, hash) => expect(winner(parseTree(text))?.hash).toBe(hash));

  test('of an empty tree is undefined', () => expect(winner([])).toBeUndefined());
});

describe('finding revisions in a tree', () => {
  const tree = parseTree('1-a 2-b 3-c 4-d, 2-b 3-x!, 7-r 8-s');

  test('finds a revision, leaf or not, on any branch', () => {
    for (const rev of ['1-a', '2-b', '4-d', '3-x', '7-r', '8-s']) expect(node(tree, rev).hash).toBe(rev.slice(2));
    expect(findNode(tree, { generation: 3, hash: 'b' })).toBeUndefined();
    expect(findNode(tree, { generation: 5, hash: 'd' })).toBeUndefined();
    expect(findNode(tree, { generation: 6, hash: 'r' })).toBeUndefined();
    expect(findNode([], { generation: 1, hash: 'a' })).toBeUndefined();
  });

  test('finds the leaves that descend from a revision', () => {
    const leaves = (rev: string) => leafHashes(leavesFrom(tree, toRevision(parseRevId(rev))));
    expect(leaves('1-a')).toEqual(['d', 'x']);
    expect(leaves('3-c')).toEqual(['d']);
    expect(leaves('3-x')).toEqual(['x']);
    expect(leaves('8-s')).toEqual(['s']);
    expect(leaves('1-z')).toEqual([]);
  });

  test('finds the path of a revision', () => {
    expect(pathOf(node(tree, '4-d'))).toEqual({ start: 4, ids: ['d', 'c', 'b', 'a'] });
    expect(pathOf(node(tree, '7-r'))).toEqual({ start: 7, ids: ['r'] });
  });
});

describe('appending a revision', () => {
  const append = (text: string, parent: string | undefined, hash: string, deleted = false) => {
    const tree = parseTree(text);
    const child = { hash, deleted, body: 'new' };
    return printTree(appendRevision(tree, parent === undefined ? undefined : node(tree, parent), child));
  };

  test('makes the first revision', () => expect(append('', undefined, 'a')).toBe('1-a=new'));
  test('extends the only leaf', () => expect(append('1-a=A', '1-a', 'b')).toBe('1-a=A 2-b=new'));
  test('extends a losing leaf', () => {
    expect(append('1-a 2-b, 1-a 2-c', '2-b', 'd')).toBe('1-a 2-b 3-d=new, 1-a 2-c');
  });
  test('lets another leaf win when the winner is deleted', () => {
    expect(append('1-a 2-b, 1-a 2-c', '2-c', 'd', true)).toBe('1-a 2-b, 1-a 2-c 3-d!=new');
  });
  test('branches off an inner revision', () => {
    expect(append('1-a 2-b 3-c', '1-a', 'd')).toBe('1-a 2-b 3-c, 1-a 2-d=new');
  });
  test('adds a root', () => expect(append('1-a 2-b!', undefined, 'x')).toBe('1-x=new, 1-a 2-b!'));
  test('changes nothing if the revision is known', () => {
    expect(append('1-a 2-b 3-c, 1-a 2-d', '1-a', 'b')).toBe('1-a 2-b 3-c, 1-a 2-d');
    expect(append('1-a 2-b', undefined, 'a')).toBe('1-a 2-b');
  });

  test('shares all existing nodes', () => {
    const tree = parseTree('1-a 2-b, 1-a 2-c');
    const [extended, other] = appendRevision(tree, tree[0], { hash: 'd', deleted: false, body: undefined });
    expect(extended?.parent).toBe(tree[0]);
    expect(other).toBe(tree[1]);
  });
});

describe('merging a path', () => {
  test("creates an empty tree's first branch", () => {
    expect(merge([], '3 c b a', true, 'C')).toMatchObject({ tree: '1-a 2-b 3-c!=C', outcome: 'branched' });
    expect(merge([], '3 c')).toMatchObject({ tree: '3-c', outcome: 'branched' });
  });

  test('that is known, leaf or not, changes nothing', () => {
    const tree = parseTree('1-a 2-b=B 3-c=C');
    for (const path of ['3 c b a', '3 c b', '3 c', '2 b a', '1 a']) {
      const merged = merge(tree, path, true, 'other');
      expect(merged.outcome).toBe('known');
      expect(merged.leaves).toBe(tree);
    }
    expect(merge(tree, '2 b a').node).toBe(tree[0]?.parent);
  });

  test('that extends a leaf makes that leaf longer', () => {
    const tree = parseTree('1-a=A');
    const merged = merge(tree, '2 b a', false, 'B');
    expect(merged).toMatchObject({ tree: '1-a=A 2-b=B', outcome: 'extended' });
    expect(merged.node).toBe(merged.leaves[0]);
    expect(merged.node.parent).toBe(tree[0]);
  });

  test('that extends a leaf by several revisions adds them all', () => {
    expect(merge(parseTree('1-a=A, 1-z'), '4 d c b a', true)).toMatchObject({
      tree: '1-z, 1-a=A 2-b 3-c 4-d!',
      outcome: 'extended',
    });
  });

  test('that branches off adds a branch', () => {
    expect(merge(parseTree('1-a 2-b 3-c'), '3 x b', false, 'X')).toMatchObject({
      tree: '1-a 2-b 3-x=X, 2-b 3-c',
      outcome: 'branched',
    });
  });

  test('that shares nothing adds a root', () => {
    expect(merge(parseTree('1-a 2-b'), '3 z y')).toMatchObject({ tree: '2-y 3-z, 1-a 2-b', outcome: 'branched' });
  });

  test('that was stemmed elsewhere joins the tree', () => {
    expect(merge(parseTree('1-a 2-b 3-c'), '5 e d c')).toMatchObject({
      tree: '1-a 2-b 3-c 4-d 5-e',
      outcome: 'extended',
    });
  });

  test('that knows older ancestors than a stemmed tree adds them', () => {
    expect(merge(parseTree('3-c=C, 3-x'), '4 d c b a', false, 'D')).toMatchObject({
      tree: '1-a 2-b 3-c=C 4-d=D, 3-x',
      outcome: 'extended',
    });
    expect(merge(parseTree('3-c 4-e'), '4 d c b')).toMatchObject({ tree: '2-b 3-c 4-e, 3-c 4-d', outcome: 'branched' });
  });

  test('whose head is known joins two branches if its ancestors connect them', () => {
    expect(merge(parseTree('3-c=C, 2-b=B'), '3 c b a', true, 'other')).toMatchObject({
      tree: '1-a 2-b=B 3-c=C',
      outcome: 'known',
    });
  });

  test('that names another parent than the tree leaves the tree unchanged', () => {
    expect(merge(parseTree('1-a 2-b 3-c'), '3 c x w')).toMatchObject({ tree: '1-a 2-b 3-c', outcome: 'known' });
    expect(merge(parseTree('1-a 2-b 3-c'), '4 d c x w').tree).toBe('1-a 2-b 3-c 4-d');
  });

  test('that joins two roots and names another parent below makes no leaf of that parent', () => {
    const merged = merge(parseTree('4-d, 2-y 3-c'), '5 e d c b a', true, 'E');
    expect(merged).toMatchObject({ tree: '2-y 3-c 4-d 5-e!=E', outcome: 'extended' });
  });
});

describe('merging trees', () => {
  const mergeText = (left: string, right: string) => printTree(mergeTrees(parseTree(left), parseTree(right)));

  test('keeps branches of both', () => expect(mergeText('1-a 2-b', '1-a 2-c')).toBe('1-a 2-c, 1-a 2-b'));
  test('connects what one of them has stemmed', () => {
    expect(mergeText('3-c 4-d', '1-a 2-b 3-c')).toBe('1-a 2-b 3-c 4-d');
    expect(mergeText('1-a 2-b 3-c', '3-c 4-d')).toBe('1-a 2-b 3-c 4-d');
  });
  test('fills in bodies and deletions', () => {
    expect(mergeText('1-a 2-b!=B', '1-a=A 2-b')).toBe('1-a=A 2-b!=B');
  });
  test('the empty tree changes nothing', () => {
    const tree = parseTree('1-a 2-b');
    expect(mergeTrees(tree, [])).toBe(tree);
    expect(mergeTrees([], tree)).toBe(tree);
  });
  test("keeps the nodes that don't change", () => {
    const tree = parseTree('1-a 2-b, 1-z');
    const merged = mergeTrees(tree, parseTree('1-a 2-c'));
    expect(merged.find((leaf) => leaf.hash === 'b')).toBe(tree[0]);
  });
});

describe('stemming', () => {
  const stemText = (text: string, limit: number) => printTree(stem(parseTree(text), limit));

  test('keeps the newest revisions of a path', () => {
    expect(stemText('1-a 2-b 3-c=C 4-d=D', 2)).toBe('3-c=C 4-d=D');
    expect(stemText('1-a 2-b', 1)).toBe('2-b');
  });
  test('leaves a short path unchanged', () => {
    for (const text of ['1-a 2-b', '98-a 99-b', '1-a 2-b, 1-a 2-c', '98-a 99-b, 99-c']) {
      const tree = parseTree(text);
      expect(stem(tree, 2)).toBe(tree);
    }
  });
  test('separates branches whose fork is stemmed', () => {
    expect(stemText('1-a 2-b 3-c, 2-b 3-d', 1)).toBe('3-d, 3-c');
    expect(stemText('1-a 2-b 3-c, 2-b 3-d', 2)).toBe('2-b 3-d, 2-b 3-c');
  });
  test('lets a long path keep what a shorter one on it keeps', () => {
    expect(stemText('1-a 2-b 3-c 4-d 5-e, 2-b 3-x', 3)).toBe('1-a 2-b 3-c 4-d 5-e, 2-b 3-x');
    expect(stemText('1-a 2-b 3-c 4-d 5-e, 1-a 2-x', 3)).toBe('3-c 4-d 5-e, 1-a 2-x');
  });
  test('never removes a leaf, however old', () => expect(stemText('1-a 2-b 3-c, 1-z', 1)).toBe('3-c, 1-z'));
  test('keeps at least one revision', () => expect(() => stem(parseTree('1-a'), 0)).toThrow('Invariant broken'));
});

describe('removing leaves', () => {
  const remove = (text: string, ...revs: string[]) => {
    const { leaves, removed } = atOnce(removeLeaves(parseTree(text), revs.map(parseRevId)));
    return [printTree(leaves), removed];
  };

  test('removes the branch up to the next fork', () => {
    expect(remove('1-a 2-b 3-c 4-d, 2-b 3-x', '4-d')).toEqual(['1-a 2-b 3-x', ['4-d']]);
  });
  test('removes the whole tree with its last leaf', () => {
    expect(remove('1-a 2-b', '2-b')).toEqual(['', ['2-b']]);
    expect(remove('1-a 2-b, 1-a 2-c', '2-b', '2-c')).toEqual(['', ['2-b', '2-c']]);
  });
  test('ignores unknown and inner revisions, and repetitions', () => {
    expect(remove('1-a 2-b, 1-z', '1-a', '1-z', '3-q', '1-z')).toEqual(['1-a 2-b', ['1-z']]);
    const tree = parseTree('1-a 2-b');
    expect(atOnce(removeLeaves(tree, [parseRevId('1-a')]))).toEqual({ leaves: tree, removed: [], released: [] });
  });
});

describe('changing bodies', () => {
  test('calls the function once per revision', () => {
    const asked: string[] = [];
    mapBodies(parseTree('1-a 2-b 3-c, 2-b 3-d'), ({ hash }) => {
      asked.push(hash);
      return undefined;
    });
    expect(asked.sort()).toEqual(['a', 'b', 'c', 'd']);
  });

  test('drops those of inner revisions and keeps shared forks', () => {
    const tree = parseTree('1-a=A 2-b=B 3-c=C, 2-b 3-d=D');
    const leaves = new Set(tree);
    const mapped = mapBodies(tree, (at) => (leaves.has(at) ? at.body : undefined));
    expect(printTree(mapped)).toBe('1-a 2-b 3-d=D, 2-b 3-c=C');
    expect(mapped[0]?.parent).toBe(mapped[1]?.parent);
  });

  test('keeps every node below the lowest change', () => {
    const tree = parseTree('1-a=A 2-b=B 3-c=C');
    const [leaf] = mapBodies(tree, (at) => (at.hash === 'b' ? 'moved' : at.body));
    expect(leaf?.parent?.body).toBe('moved');
    expect(leaf?.parent?.parent).toBe(tree[0]?.parent?.parent);
  });

  test('returns the same tree if nothing changed', () => {
    const tree = parseTree('1-a=A 2-b=B, 1-a 2-c');
    expect(mapBodies(tree, (at) => at.body)).toBe(tree);
  });
});
