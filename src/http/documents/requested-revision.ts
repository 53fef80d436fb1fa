/** Which revision of a document a request means (docs/http/documents.md#reading-a-document). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { findNode, leavesFrom, winner } from '../../database/documents/revisions/revision-tree.ts';
import { parseRevId, toRevision } from '../../database/documents/revisions/revisions.ts';
import type { DocumentRecord, StoredNode } from '../../database/store/contract.ts';

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
