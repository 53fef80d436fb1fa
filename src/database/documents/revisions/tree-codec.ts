/**
 * The stored text of a revision tree: no tab, no newline, short in the common case, any hash possible.
 *
 *     tree   := path                    one leaf
 *             | "<" path { ";" path }   several leaves, in winning order; no text at all if there is none
 *     path   := generation "-" ancestry [ "^" path-index "." generation ]
 *
 * A path has a leaf and its ancestors (ancestry.ts) down to the root, or down to where it branches off an earlier path,
 * which `^` names: `^0.2` is the revision of generation 2 on the first path.
 *
 *     5-<hash>=3f.0.14a,<hash><hash>              one leaf with a body, two known ancestors without
 *     <3-<hash>=a,<hash><hash>;3-!<hash>^0.2      a deleted leaf beside it, both children of the same revision
 */
import { isDigit, ZERO } from '../../../base/json/characters.ts';
import { must } from '../../../base/shared/assert.ts';
import { atOnce, type CooperativeTask } from '../../../base/shared/turn.ts';
import type { RevId, RevisionNode } from '../contract.ts';
import {
  AncestryReader,
  corruptTree,
  type DecodeBody,
  plainHashEnd,
  readStoredRevision,
  StoredRevision,
  writeRevision,
} from './ancestry.ts';

const HYPHEN = 0x2d;
const SEVERAL = '<';
const NEXT_PATH = ';';
const BRANCH = '^';

/** Revisions decoded between two checks of the clock. */
const REVISIONS_PER_STEP = 512;

/** Leaves encoded between two checks of the clock. */
const LEAVES_PER_STEP = 256;

/**
 * Writes a tree. `encodeBody` returns text over [0-9a-z.], and must match the `decodeBody` with which nodes of
 * this tree were decoded: ancestors that were never read are passed on as their original text.
 */
export function encodeTree<B>(leaves: readonly RevisionNode<B>[], encodeBody: (body: B) => string): string {
  const [only, second] = leaves;
  if (only === undefined) return '';
  if (second === undefined) return `${only.generation}-${encodeAncestry(only, encodeBody)}`;
  return atOnce(encodeTreeInSteps(leaves, encodeBody));
}

/** Like `encodeTree`, for a tree of several leaves, but lets other tasks run in the middle of it. */
export function* encodeTreeInSteps<B>(
  leaves: readonly RevisionNode<B>[],
  encodeBody: (body: B) => string,
): CooperativeTask<string> {
  const pathOfNode = new Map<RevisionNode<B>, number>();
  const paths: string[] = [];
  for (const leaf of leaves) {
    let text = `${leaf.generation}-`;
    let node: RevisionNode<B> | undefined = leaf;
    for (; node !== undefined && !pathOfNode.has(node); node = node.parent) {
      text += writeRevision(node, encodeBody);
      pathOfNode.set(node, paths.length);
    }
    paths.push(node === undefined ? text : `${text}${BRANCH}${must(pathOfNode.get(node))}.${node.generation}`);
    if (paths.length % LEAVES_PER_STEP === 0) yield;
  }
  return SEVERAL + paths.join(NEXT_PATH);
}

/**
 * Reads the output of `encodeTree`. The ancestors of a single leaf are read when its parent is requested; so text that is
 * damaged there fails then. Fails with `storage_corrupt`.
 */
export function decodeTree<B>(text: string, decodeBody: DecodeBody<B>): readonly RevisionNode<B>[] {
  return text.startsWith(SEVERAL) ? atOnce(decodeTreeInSteps(text, decodeBody)) : decodeOnly(text, decodeBody);
}

/** Like `decodeTree`, but lets other tasks run in the middle of many leaves, or of a long history of several leaves. */
export function* decodeTreeInSteps<B>(
  text: string,
  decodeBody: DecodeBody<B>,
): CooperativeTask<readonly RevisionNode<B>[]> {
  if (text.startsWith(SEVERAL)) return yield* decodePaths(new AncestryReader(text, 1, decodeBody));
  return decodeOnly(text, decodeBody);
}

function decodeOnly<B>(text: string, decodeBody: DecodeBody<B>): readonly RevisionNode<B>[] {
  if (text === '') return [];
  const reader = new AncestryReader(text, 0, decodeBody);
  const generation = readGeneration(reader);
  return [readStoredRevision(text, reader.position, generation, decodeBody)];
}

/**
 * Cuts the first leaf's revision id from the tree's text that begins at `start`; undefined if only `decodeTree` can find it.
 * For lists, which need no more of the tree.
 */
export function cutFirstRev(text: string, start: number): RevId | undefined {
  const from = text.startsWith(SEVERAL, start) ? start + SEVERAL.length : start;
  const hash = text.indexOf('-', from) + 1;
  const end = plainHashEnd(text, hash);
  return end === undefined ? undefined : (text.slice(from, end) as RevId);
}

/** Encodes an only leaf's whole path; ancestors that are still text are copied. */
function encodeAncestry<B>(leaf: RevisionNode<B>, encodeBody: (body: B) => string): string {
  let text = '';
  for (let node: RevisionNode<B> | undefined = leaf; node !== undefined; node = node.parent) {
    text += writeRevision(node, encodeBody);
    if (node instanceof StoredRevision && node.ancestry !== '') return text + node.ancestry;
  }
  return text;
}

function* decodePaths<B>(reader: AncestryReader<B>): CooperativeTask<RevisionNode<B>[]> {
  const paths: RevisionNode<B>[][] = [];
  let revisions = 0;
  do {
    const path = yield* decodePath(reader, paths);
    paths.push(path);
    revisions += path.length;
    if (revisions < REVISIONS_PER_STEP) continue;
    revisions = 0;
    yield;
  } while (takes(reader, NEXT_PATH));
  if (reader.position < reader.text.length)
    throw corruptTree(reader.text, reader.position, 'more text than a tree has');
  return paths.map((path) => must(path[0]));
}

/** Decodes the path's own nodes, leaf first. */
function* decodePath<B>(
  reader: AncestryReader<B>,
  earlier: readonly RevisionNode<B>[][],
): CooperativeTask<RevisionNode<B>[]> {
  const leafGeneration = readGeneration(reader);
  const revisions: Omit<RevisionNode<B>, 'parent'>[] = [];
  do {
    revisions.push(reader.read(leafGeneration - revisions.length));
    if (revisions.length % REVISIONS_PER_STEP === 0) yield;
  } while (reader.hasRevision);
  let parent = takes(reader, BRANCH) ? readBranchPoint(reader, earlier) : undefined;
  const rootGeneration = leafGeneration - revisions.length + 1;
  if (parent !== undefined && parent.generation !== rootGeneration - 1) {
    throw corruptTree(reader.text, reader.position, 'a branch without its parent');
  }
  const nodes: RevisionNode<B>[] = [];
  for (const { generation, hash, deleted, body } of revisions.reverse()) {
    parent = { generation, hash, deleted, body, parent };
    nodes.push(parent);
  }
  return nodes.reverse();
}

/** Reads `<path-index>.<generation>` of a node on a path that was read before. */
function readBranchPoint<B>(reader: AncestryReader<B>, earlier: readonly RevisionNode<B>[][]): RevisionNode<B> {
  const start = reader.position;
  const path = earlier[readNumber(reader)];
  if (!takes(reader, '.')) throw corruptTree(reader.text, reader.position, 'no generation of a branch point');
  const generation = readNumber(reader);
  const node = path?.[must(path[0]).generation - generation];
  if (node === undefined) throw corruptTree(reader.text, start, 'a branch from an unknown revision');
  return node;
}

function readGeneration<B>(reader: AncestryReader<B>): number {
  const generation = readNumber(reader);
  if (reader.text.charCodeAt(reader.position) !== HYPHEN)
    throw corruptTree(reader.text, reader.position, 'no generation');
  reader.position++;
  return generation;
}

function readNumber<B>(reader: AncestryReader<B>): number {
  const { text } = reader;
  let value = 0;
  for (;;) {
    const code = text.charCodeAt(reader.position);
    if (!isDigit(code)) return value;
    value = value * 10 + (code - ZERO);
    reader.position++;
  }
}

function takes<B>(reader: AncestryReader<B>, mark: string): boolean {
  if (!reader.text.startsWith(mark, reader.position)) return false;
  reader.position += mark.length;
  return true;
}
