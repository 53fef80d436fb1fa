/** Decides which revision an edit follows, and so whether it conflicts with the document (docs/http/documents.md#update-conflicts). */

import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { RevId } from '../../documents/contract.ts';
import { toRevId, toRevision } from '../../documents/revisions/revisions.ts';
import type { DocumentWrite, StoredNode, WriteOutcome } from '../contract.ts';
import type { RequestEdits, WorkingDocument } from './working-document.ts';

/** The revision that a new revision follows; `rev` undefined at the root. */
interface Parent {
  readonly rev: RevId | undefined;
  readonly generation: number;
  readonly hash: string;
}

const ROOT: Parent = { rev: undefined, generation: 0, hash: '' };

function asParent(node: StoredNode): Parent {
  return { rev: toRevId(node.generation, node.hash), generation: node.generation, hash: node.hash };
}

/**
 * Returns the leaf that an edit replaces: any leaf may be extended, even a losing or deleted one. An edit without a revision is
 * allowed only if the document does not exist or its winner is deleted (whose branch then continues). Undefined = conflict.
 *
 * One request may edit several leaves of a document, each once. `earlier` are its edits so far: the revisions that they made
 * can't be edited in the same request, and a write without a revision must come before all others of its document.
 */
export function editedLeaf(
  document: WorkingDocument,
  rev: RevId | undefined,
  earlier: RequestEdits | undefined,
): Parent | undefined {
  if (rev === undefined) {
    if (earlier !== undefined) return undefined;
    const { winner } = document.tree;
    if (winner === undefined) return ROOT;
    return winner.deleted ? asParent(winner) : undefined;
  }
  if (earlier?.made(rev) === true) return undefined;
  const { generation, hash } = toRevision(rev);
  const leaf = document.tree.leaf({ generation, hash });
  return leaf === undefined ? undefined : { rev, generation, hash };
}

/** Returns the parent in all_or_nothing mode: a stale revision makes a branch beside the others. */
export function branchingParent(document: WorkingDocument, rev: RevId | undefined): Parent {
  if (rev === undefined) {
    const { winner } = document.tree;
    return winner?.deleted ? asParent(winner) : ROOT;
  }
  const { generation, hash } = toRevision(rev);
  const node = document.tree.node({ generation, hash });
  return node === undefined ? { rev, generation, hash } : asParent(node);
}

export function conflict(write: DocumentWrite): WriteOutcome {
  const error = new DatabaseError('conflict', 'Document update conflict.');
  return { ok: false, id: write.id, rev: write.rev, error };
}
