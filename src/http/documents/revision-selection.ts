/**
 * Which revisions of a document a request means: the one that it names or the winner (docs/http/documents.md#reading-a-document), or
 * those of `open_revs` and `_bulk_get` (docs/http/documents.md#open-revisions).
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { type CooperativeTask, mapInSteps, runCooperatively } from '../../base/shared/turn.ts';
import type { RevId } from '../../database/documents/contract.ts';
import { findNode, leavesFrom, winner } from '../../database/documents/revisions/revision-tree.ts';
import { parseRevId, toRevision } from '../../database/documents/revisions/revisions.ts';
import type { DocumentRecord, StoredNode } from '../../database/store/contract.ts';
import { flagsAmongLeaves, revOf } from '../shown/document-rendering.ts';
import type { ShownRevision } from '../shown/shown-revision.ts';

/**
 * Returns the requested revision, with `latest` the newest of its descendants, else the winner. Fails with `not_found`
 * "deleted" if the winner is a tombstone; a tombstone requested by its revision is read.
 */
export function nodeToRead(
  record: DocumentRecord | undefined,
  rev: string | undefined,
  latest = false,
): StoredNode | undefined {
  const asked = rev === undefined ? undefined : toRevision(parseRevId(rev));
  if (record === undefined) return undefined;
  if (asked !== undefined) return latest ? winner(leavesFrom(record.leaves, asked)) : findNode(record.leaves, asked);
  const current = winner(record.leaves);
  if (current?.deleted === true) throw new DatabaseError('not_found', 'deleted');
  return current;
}

/** Also used for a revision whose body was compacted away. */
export function missing(): DatabaseError {
  return new DatabaseError('not_found', 'missing');
}

/** A revision of a document that exists, or the name of one that doesn't. */
export type Selected =
  | { readonly record: DocumentRecord; readonly node: StoredNode }
  | { readonly record?: undefined; readonly missing: RevId };

/** If more comparisons of revisions than this are needed, they are made in one pass over the document's tree. */
const MANY_COMPARISONS = 10_000;
/** Revisions that are looked at between two checks of the clock. */
const LOOKED_PER_STEP = 1_024;

/**
 * Returns the requested revisions in their order. With `latest`, each is replaced by the leaves that descend from it, and a leaf that
 * several of them lead to is returned once. `all` returns every leaf, including deleted ones. Yields the thread if there are very many revisions.
 */
export function selectRevisions(
  record: DocumentRecord | undefined,
  wanted: 'all' | readonly RevId[],
  latest: boolean,
): MaybePromise<Iterable<Selected>> {
  if (wanted !== 'all') return runCooperatively(selectNamed(record, wanted, latest));
  return record === undefined ? [] : { [Symbol.iterator]: () => leavesOf(record) };
}

/** Like `selectRevisions`, for each revision separately. Walks the document's tree once for all of them. */
export function selectEach(
  record: DocumentRecord | undefined,
  wanted: readonly RevId[],
  latest: boolean,
): MaybePromise<readonly (readonly Selected[])[]> {
  return runCooperatively(selectEachNamed(record, wanted, latest));
}

function* selectEachNamed(
  record: DocumentRecord | undefined,
  wanted: readonly RevId[],
  latest: boolean,
): CooperativeTask<(readonly Selected[])[]> {
  const nodesOfRev = record === undefined ? () => [] : yield* finderOf(record.leaves, wanted, latest);
  return yield* mapInSteps(wanted, (rev): readonly Selected[] => {
    const nodes = nodesOfRev(rev);
    if (record === undefined || nodes.length === 0) return [{ missing: rev }];
    return nodes.map((node) => ({ record, node }));
  });
}

/** Returns a function that finds the nodes of a revision, one of `wanted`. */
function* finderOf(
  leaves: readonly StoredNode[],
  wanted: readonly RevId[],
  latest: boolean,
): CooperativeTask<(rev: RevId) => readonly StoredNode[]> {
  const isMany = wanted.length > 1 && wanted.length * leaves.length > MANY_COMPARISONS;
  if (!isMany) return (rev) => nodesOf(leaves, rev, latest);
  const known = yield* findAll(leaves, wanted, latest);
  return (rev) => known.get(rev) ?? [];
}

function* leavesOf(record: DocumentRecord): Generator<Selected, undefined> {
  for (const node of record.leaves) yield { record, node };
}

function* selectNamed(
  record: DocumentRecord | undefined,
  wanted: readonly RevId[],
  latest: boolean,
): CooperativeTask<Selected[]> {
  if (record === undefined) return wanted.map((rev) => ({ missing: rev }));
  const nodesOfRev = yield* finderOf(record.leaves, wanted, latest);
  const given = new Set<StoredNode>();
  const selected: Selected[] = [];
  for (const rev of wanted) {
    const nodes = nodesOfRev(rev);
    if (nodes.length === 0) selected.push({ missing: rev });
    for (const node of nodes) {
      if (latest && given.has(node)) continue;
      given.add(node);
      selected.push({ record, node });
    }
    yield;
  }
  return selected;
}

/** Like `nodesOf`, for many revisions in one pass. */
function* findAll(
  leaves: readonly StoredNode[],
  wanted: readonly RevId[],
  latest: boolean,
): CooperativeTask<ReadonlyMap<RevId, readonly StoredNode[]>> {
  const asked = new Set(wanted);
  const generations = new Set(wanted.map((rev) => toRevision(rev).generation));
  const found = new Map<RevId, StoredNode[]>();
  let looked = 0;
  for (const leaf of leaves) {
    for (let node: StoredNode | undefined = leaf; node !== undefined; node = node.parent) {
      looked += 1;
      if (looked % LOOKED_PER_STEP === 0) yield;
      if (!generations.has(node.generation)) continue;
      const rev = revOf(node);
      if (!asked.has(rev)) continue;
      const nodes = found.get(rev);
      if (nodes === undefined) found.set(rev, [latest ? leaf : node]);
      else if (latest) nodes.push(leaf);
    }
  }
  return found;
}

/** Whether the revision has attachments; known without its body. */
export function hasAttachments(one: Selected): boolean {
  return one.record !== undefined && one.node.body?.attachments !== undefined;
}

/** The name of the revision, whether it exists or not. */
export function revisionOf(one: Selected): RevId {
  return one.record === undefined ? one.missing : revOf(one.node);
}

/** Returns undefined if the revision is missing, or its body was dropped. */
export function shownOf(
  one: Selected,
  { meta, attachments }: Pick<ShownRevision, 'meta' | 'attachments'>,
): ShownRevision | undefined {
  if (one.record === undefined || one.node.body === undefined) return undefined;
  const { record, node } = one;
  return { record, node, meta: meta && flagsAmongLeaves(record, node, meta), attachments };
}

function nodesOf(leaves: readonly StoredNode[], rev: RevId, latest: boolean): readonly StoredNode[] {
  if (latest) return leavesFrom(leaves, toRevision(rev));
  const node = findNode(leaves, toRevision(rev));
  return node === undefined ? [] : [node];
}
