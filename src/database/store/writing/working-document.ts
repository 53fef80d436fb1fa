/**
 * A document while the changes of a group are applied to it, and which of its revisions an edit follows, and so whether it conflicts
 * with the document (docs/http/documents.md#update-conflicts).
 */

import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import { MutableRevisionTree } from '../../documents/revisions/mutable-revision-tree.ts';
import { toRevId, toRevision } from '../../documents/revisions/revisions.ts';
import type { BodyLocation, DocumentRecord, StoredNode } from '../contract.ts';
import { decodeEntry, decodeEntryInSteps } from '../state/entry.ts';

/** A document while the changes of a group are applied to it. */
export interface WorkingDocument {
  readonly id: DocId;
  /** Its position among the documents of the group, in the order of ids. */
  readonly rank: number;
  /** Sequence number in by-seq; undefined for a document that did not exist. */
  readonly formerSeq: number | undefined;
  /** Its stored entry; undefined for a document that did not exist. */
  readonly formerValue: string | undefined;
  readonly wasDeleted: boolean;
  readonly tree: MutableRevisionTree<BodyLocation>;
  seq: number;
  changed: boolean;
  /** The edits of the last request that edited it. */
  edits: RequestEdits | undefined;
}

/** The edits of one document that were accepted from one request. */
export class RequestEdits {
  readonly request: object;
  readonly #first: RevId;
  /** Most requests edit a document once. */
  #later: Set<RevId> | undefined;

  constructor(request: object, first: RevId) {
    this.request = request;
    this.#first = first;
  }

  add(rev: RevId): void {
    this.#later ??= new Set();
    this.#later.add(rev);
  }

  /** Whether the request made that revision. */
  made(rev: RevId): boolean {
    return rev === this.#first || this.#later?.has(rev) === true;
  }
}

/** Opens a document. `value`: the document's by-id entry; undefined if there is none. `rank`: see `WorkingDocument`. */
export function openDocument(id: DocId, rank: number, value: string | undefined): WorkingDocument {
  if (value === undefined) {
    return {
      id,
      rank,
      formerSeq: undefined,
      formerValue: undefined,
      wasDeleted: false,
      tree: new MutableRevisionTree([]),
      seq: 0,
      changed: false,
      edits: undefined,
    };
  }
  return openRecord(decodeEntry(id, value), rank, value);
}

/** Like `openDocument`, for a document of very many revisions: lets other tasks run meanwhile. */
export function* openInSteps(id: DocId, rank: number, value: string): CooperativeTask<WorkingDocument> {
  return openRecord(yield* decodeEntryInSteps(id, value), rank, value);
}

function openRecord({ id, seq, leaves }: DocumentRecord, rank: number, value: string): WorkingDocument {
  const wasDeleted = leaves[0]?.deleted === true;
  const tree = new MutableRevisionTree(leaves);
  return { id, rank, formerSeq: seq, formerValue: value, wasDeleted, tree, seq, changed: false, edits: undefined };
}

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

export function updateConflict(): DatabaseError {
  return new DatabaseError('conflict', 'Document update conflict.');
}
