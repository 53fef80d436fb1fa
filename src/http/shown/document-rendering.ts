/** Which members a read adds to a document, and the document's text with them (docs/http/documents.md#metadata-of-a-read). */

import type { RevId, Revision, RevisionStatus } from '../../database/documents/contract.ts';
import { metaText, writeDocument } from '../../database/documents/outgoing.ts';
import { revisionsBack } from '../../database/documents/revisions/ancestry.ts';
import { pathOf } from '../../database/documents/revisions/revision-tree.ts';
import { toRevId } from '../../database/documents/revisions/revisions.ts';
import type { DocumentRecord, StoredNode } from '../../database/store/contract.ts';
import type { Query } from '../request/address.ts';

export interface MetaFlags {
  readonly revs: boolean;
  readonly revsInfo: boolean;
  readonly conflicts: boolean;
  readonly deletedConflicts: boolean;
  readonly localSeq: boolean;
}

/** Returns the flags of a read, or undefined if none is on. `meta` stands for three of them. */
export function readMetaFlags(query: Query): MetaFlags | undefined {
  if (query.isEmpty) return undefined;
  const meta = query.flag('meta');
  const flags = {
    revs: query.flag('revs'),
    revsInfo: meta || query.flag('revs_info'),
    conflicts: meta || query.flag('conflicts'),
    deletedConflicts: meta || query.flag('deleted_conflicts'),
    localSeq: query.flag('local_seq'),
  };
  return Object.values(flags).includes(true) ? flags : undefined;
}

export const CONFLICTS_ALONE: MetaFlags = {
  revs: false,
  revsInfo: false,
  conflicts: true,
  deletedConflicts: false,
  localSeq: false,
};

/**
 * The flags for one of several leaves in a response. Only the winner lists `_conflicts`: if each leaf listed all others, the
 * size would be quadratic in their number.
 */
export function flagsAmongLeaves({ leaves }: DocumentRecord, node: StoredNode, flags: MetaFlags): MetaFlags {
  if (node === leaves[0] || !(flags.conflicts || flags.deletedConflicts)) return flags;
  return { ...flags, conflicts: false, deletedConflicts: false };
}

/** Returns the document's JSON text at that revision. `members` is what `metaOf` or `conflictsOf` returned. */
export function documentText(
  record: DocumentRecord,
  node: StoredNode,
  body: string,
  members: string | undefined,
): string {
  return writeDocument({ id: record.id, rev: revOf(node), deleted: node.deleted, body, members });
}

/** The members that the flags ask for, as `writeDocument` takes them; empty if the document has none of them. */
export function metaOf(record: DocumentRecord, node: StoredNode, flags: MetaFlags): string {
  return metaText({
    revisions: flags.revs ? pathOf(node) : undefined,
    revsInfo: flags.revsInfo ? statusesOf(node) : undefined,
    conflicts: flags.conflicts ? conflictIdsOf(record, false) : undefined,
    deletedConflicts: flags.deletedConflicts ? conflictIdsOf(record, true) : undefined,
    localSeq: flags.localSeq ? record.seq : undefined,
  });
}

/** Whether the text with these members has any metadata other than `_revisions`. */
export function hasOtherMeta({ leaves }: DocumentRecord, flags: MetaFlags): boolean {
  if (flags.revsInfo || flags.localSeq) return true;
  return leaves.some(({ deleted }, index) => index > 0 && (deleted ? flags.deletedConflicts : flags.conflicts));
}

/** Revisions in one piece of text. */
const REVISIONS_PER_PIECE = 256;

/** The maximum number of revisions that the members name. */
export function metaCount({ leaves }: DocumentRecord, node: StoredNode, flags: MetaFlags): number {
  const ancestors = (flags.revs ? node.generation : 0) + (flags.revsInfo ? node.generation : 0);
  return flags.conflicts || flags.deletedConflicts ? ancestors + leaves.length : ancestors;
}

/** Like `metaOf`, in pieces: a document may have very many revisions. */
export function* metaPieces(record: DocumentRecord, node: StoredNode, flags: MetaFlags): Generator<string, void, void> {
  if (flags.revs) {
    yield `,"_revisions":{"start":${node.generation},"ids":[`;
    yield* joined(revisionsBack(node), ({ hash }) => JSON.stringify(hash));
    yield ']}';
  }
  if (flags.revsInfo) {
    yield ',"_revs_info":[';
    yield* joined(revisionsBack(node), (one) => `{"rev":${JSON.stringify(revOf(one))},"status":"${statusOf(one)}"}`);
    yield ']';
  }
  if (flags.localSeq) yield `,"_local_seq":${record.seq}`;
  if (flags.conflicts) yield* loserPieces('_conflicts', record, false);
  if (flags.deletedConflicts) yield* loserPieces('_deleted_conflicts', record, true);
}

function* loserPieces(name: string, { leaves }: DocumentRecord, deleted: boolean): Generator<string, void, void> {
  let before = `,"${name}":[`;
  for (const piece of joined(conflictingLeaves(leaves, deleted), (leaf) => JSON.stringify(revOf(leaf)))) {
    yield before + piece;
    before = '';
  }
  if (before === '') yield ']';
}

function* conflictingLeaves(leaves: readonly StoredNode[], deleted: boolean): Generator<StoredNode, void, void> {
  for (const [index, leaf] of leaves.entries()) if (index > 0 && leaf.deleted === deleted) yield leaf;
}

/** Yields texts with commas between them, some at a time. */
function* joined<T>(items: Iterable<T>, textOf: (item: T) => string): Generator<string, void, void> {
  let texts: string[] = [];
  let separator = '';
  for (const item of items) {
    texts.push(textOf(item));
    if (texts.length < REVISIONS_PER_PIECE) continue;
    yield separator + texts.join(',');
    separator = ',';
    texts = [];
  }
  if (texts.length > 0) yield separator + texts.join(',');
}

/** `_conflicts`, as `writeDocument` takes it; empty if there are none. */
export function conflictsOf(record: DocumentRecord): string {
  return metaText({ conflicts: conflictIdsOf(record, false) });
}

export function revOf({ generation, hash }: Revision): RevId {
  return toRevId(generation, hash);
}

/** Leaves other than the winner. */
function conflictIdsOf(record: DocumentRecord, deleted: boolean): RevId[] {
  return record.leaves
    .slice(1)
    .filter((leaf) => leaf.deleted === deleted)
    .map(revOf);
}

/** The revision and its ancestors, newest first. */
function statusesOf(node: StoredNode): RevisionStatus[] {
  const statuses: RevisionStatus[] = [];
  for (let at: StoredNode | undefined = node; at !== undefined; at = at.parent) {
    statuses.push({ rev: revOf(at), status: statusOf(at) });
  }
  return statuses;
}

function statusOf({ deleted, body }: Pick<StoredNode, 'deleted' | 'body'>): RevisionStatus['status'] {
  if (body === undefined) return 'missing';
  return deleted ? 'deleted' : 'available';
}
