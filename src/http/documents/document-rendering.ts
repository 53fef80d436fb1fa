/** Which members a read is to add to a document, and the document's text with them (docs/http.md#metadata-of-a-read). */
import type { DocumentRecord, StoredNode } from '../../database/contract.ts';
import type { RevId, RevisionStatus } from '../../documents/contract.ts';
import { metaText, writeDocument } from '../../documents/outgoing.ts';
import { pathOf } from '../../documents/revisions/revision-tree.ts';
import { toRevId } from '../../documents/revisions/revisions.ts';
import type { Query } from '../request/query.ts';

export interface MetaFlags {
  readonly revs: boolean;
  readonly revsInfo: boolean;
  readonly conflicts: boolean;
  readonly deletedConflicts: boolean;
  readonly localSeq: boolean;
}

/** The flags of a read, or undefined where none is on. `meta` stands for three of them. */
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

/** The document's JSON text at that revision. `members` is what `metaOf` or `conflictsOf` gave. */
export function documentText(
  record: DocumentRecord,
  node: StoredNode,
  body: string,
  members: string | undefined,
): string {
  return writeDocument({ id: record.id, rev: revOf(node), deleted: node.deleted, body, members });
}

/** The members that the flags ask for, as `writeDocument` takes them; empty where the document has none of them. */
export function metaOf(record: DocumentRecord, node: StoredNode, flags: MetaFlags): string {
  return metaText({
    revisions: flags.revs ? pathOf(node) : undefined,
    revsInfo: flags.revsInfo ? statusesOf(node) : undefined,
    conflicts: flags.conflicts ? losersOf(record, false) : undefined,
    deletedConflicts: flags.deletedConflicts ? losersOf(record, true) : undefined,
    localSeq: flags.localSeq ? record.seq : undefined,
  });
}

/** `_conflicts`, as `writeDocument` takes it; empty where there are none. */
export function conflictsOf(record: DocumentRecord): string {
  return metaText({ conflicts: losersOf(record, false) });
}

export function revOf(node: StoredNode): RevId {
  return toRevId(node.generation, node.hash);
}

/** Leaves other than the winner. */
function losersOf(record: DocumentRecord, deleted: boolean): RevId[] {
  return record.leaves
    .slice(1)
    .filter((leaf) => leaf.deleted === deleted)
    .map(revOf);
}

/** The revision and its ancestors, newest first. */
function statusesOf(node: StoredNode): RevisionStatus[] {
  const statuses: RevisionStatus[] = [];
  for (let at: StoredNode | undefined = node; at !== undefined; at = at.parent) {
    const kept = at.deleted ? 'deleted' : 'available';
    statuses.push({ rev: revOf(at), status: at.body === undefined ? 'missing' : kept });
  }
  return statuses;
}
