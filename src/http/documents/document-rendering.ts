/** Which members a read is to add to a document, and the document's text with them (completion 4). */
import type { DocumentRecord, StoredNode } from '../../database/contract.ts';
import type { RevId } from '../../documents/contract.ts';
import { writeDocument } from '../../documents/outgoing.ts';
import { toRevId } from '../../documents/revisions/revisions.ts';
import type { Query } from '../request/query.ts';

export interface MetaFlags {
  readonly revs: boolean;
  readonly revsInfo: boolean;
  readonly conflicts: boolean;
  readonly deletedConflicts: boolean;
  readonly localSeq: boolean;
}

/** The flags of a read, or undefined where none is on. `meta` stands for three of them. What they lead to: `document-meta.ts`. */
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

/** The document's JSON text at that revision. */
export function documentText(
  record: DocumentRecord,
  node: StoredNode,
  body: string,
  members: string | undefined,
): string {
  return writeDocument({ id: record.id, rev: revOf(node), deleted: node.deleted, body, members });
}

export function revOf(node: StoredNode): RevId {
  return toRevId(node.generation, node.hash);
}
