import type { CooperativeTask } from '../../../base/shared/turn.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import { MutableRevisionTree } from '../../documents/revisions/mutable-revision-tree.ts';
import type { BodyLocation, DocumentRecord } from '../contract.ts';
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
