/** The members that a read adds to a document on request (completion 4). Browsers load this on first use. */
import type { DocumentRecord, StoredNode } from '../../database/contract.ts';
import type { RevId, RevisionStatus } from '../../documents/contract.ts';
import { metaText } from '../../documents/meta-text.ts';
import { pathOf } from '../../documents/revisions/revision-tree.ts';
import type { RowOptions } from '../lists/listings.ts';
import type { ListParameters } from '../lists/parameters.ts';
import { type MetaFlags, revOf } from './document-rendering.ts';

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

/** What a list's parameters say of its rows. */
export function rowOptions({ includeDocs, conflicts }: ListParameters): RowOptions {
  return { includeDocs, conflictsOf: conflicts ? conflictsOf : undefined };
}
