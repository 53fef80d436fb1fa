/**
 * Revision trees as one line of text, for tests and for people. Branches are separated by commas; each goes from old to
 * new, and begins with a root or with a revision that an earlier branch has:
 *
 *     1-a ─── 2-b ─── 3-c
 *        │       └─── 3-b!          1-a 2-b 3-c=C, 2-b 3-b!, 1-a 2-x
 *        └─── 2-x
 *
 * `!` marks a deleted revision, `=text` its body; without `=` the body is not kept. Hashes contain no space, comma, `!` or
 * `=`; bodies no space or comma.
 */

import { assert, must } from '../../src/base/shared/assert.ts';
import type { RevisionNode } from '../../src/database/documents/contract.ts';
import { compareLeaves } from '../../src/database/documents/revisions/revision-tree.ts';
import { toRevId } from '../../src/database/documents/revisions/revisions.ts';

const REVISION = /^(\d+)-([^!=]+)(!?)(?:=(.*))?$/;

/** The tree's leaves in winning order. Throws on a text that is not in this notation. */
export function parseTree(text: string): readonly RevisionNode<string>[] {
  const nodes = new Map<string, RevisionNode<string>>();
  for (const branch of text.split(',')) parseBranch(branch, nodes);
  const parents = new Set([...nodes.values()].map((node) => node.parent));
  return [...nodes.values()].filter((node) => !parents.has(node)).sort(compareLeaves);
}

/** The tree in this notation, the winner's branch first: one text per tree. */
export function printTree<B>(leaves: readonly RevisionNode<B>[], printBody: (body: B) => string = String): string {
  const printed = new Set<RevisionNode<B>>();
  return leaves.map((leaf) => printBranch(leaf, printed, printBody)).join(', ');
}

function parseBranch(branch: string, nodes: Map<string, RevisionNode<string>>): void {
  let parent: RevisionNode<string> | undefined;
  for (const word of branch.split(' ').filter((part) => part !== '')) {
    const known = nodes.get(word);
    assert(parent === undefined || known === undefined, () => `${word} of "${branch}" has a place already`);
    parent = known ?? parseRevision(word, parent);
    nodes.set(toRevId(parent.generation, parent.hash), parent);
  }
}

function parseRevision(word: string, parent: RevisionNode<string> | undefined): RevisionNode<string> {
  const [, digits, hash, deleted, body] = must(REVISION.exec(word) ?? undefined, `"${word}" is no revision`);
  const generation = Number(digits);
  assert(parent === undefined || generation === parent.generation + 1, () => `${word} can't follow its parent`);
  return { generation, hash: must(hash), deleted: deleted === '!', body, parent };
}

function printBranch<B>(leaf: RevisionNode<B>, printed: Set<RevisionNode<B>>, printBody: (body: B) => string): string {
  const words: string[] = [];
  let node: RevisionNode<B> | undefined = leaf;
  for (; node !== undefined && !printed.has(node); node = node.parent) {
    words.push(printRevision(node, printBody));
    printed.add(node);
  }
  if (node !== undefined) words.push(toRevId(node.generation, node.hash));
  return words.reverse().join(' ');
}

function printRevision<B>(node: RevisionNode<B>, printBody: (body: B) => string): string {
  const rev = `${node.generation}-${node.hash}${node.deleted ? '!' : ''}`;
  return node.body === undefined ? rev : `${rev}=${printBody(node.body)}`;
}
