/** The document that an attachment is added to, or taken from. */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { runCooperatively } from '../../base/shared/turn.ts';
import type { DocId, RevId, StoredAttachment } from '../../database/documents/contract.ts';
import { findNode } from '../../database/documents/revisions/revision-tree.ts';
import { toRevision } from '../../database/documents/revisions/revisions.ts';
import { splitAttachments } from '../../database/documents/stored-attachments.ts';
import type { Database, DocumentRecord, StoredNode } from '../../database/store/contract.ts';

/**
 * Returns the document at the revision to be replaced. Without a revision there must be no document, or a deleted one, whose content is not
 * kept. Fails with `conflict`.
 */
export async function documentBefore(
  open: Database,
  id: DocId,
  rev: RevId | undefined,
): Promise<{ readonly attachments: readonly StoredAttachment[]; readonly body: string }> {
  const snapshot = open.snapshot();
  try {
    const record = await snapshot.document(id);
    if (rev === undefined) {
      if (record !== undefined && record.leaves[0]?.deleted !== true) throw conflict();
      return { attachments: [], body: '{}' };
    }
    const node = leafOf(record, rev);
    const body = node === undefined ? undefined : await snapshot.body(node);
    if (body === undefined) throw conflict();
    return await runCooperatively(splitAttachments(body));
  } finally {
    snapshot.release();
  }
}

function leafOf(record: DocumentRecord | undefined, rev: RevId): StoredNode | undefined {
  const node = record && findNode(record.leaves, toRevision(rev));
  return node !== undefined && record?.leaves.includes(node) === true ? node : undefined;
}

function conflict(): DatabaseError {
  return new DatabaseError('conflict', 'Document update conflict.');
}
