import type { DocId } from '../../documents/contract.ts';
import { GrowingTree } from '../../documents/revisions/growing-tree.ts';
import type { BodyLocation } from '../contract.ts';
import { decodeEntry } from '../state/entry.ts';

/** A document while the changes of a group are applied to it. */
export interface WorkingDocument {
  readonly id: DocId;
  /** Its position among the documents of the group, in the order of ids. */
  readonly rank: number;
  /** Sequence number in by-seq; undefined for a document that was not there. */
  readonly formerSeq: number | undefined;
  /** Its stored entry; undefined for a document that was not there. */
  readonly formerValue: string | undefined;
  readonly wasDeleted: boolean;
  readonly tree: GrowingTree<BodyLocation>;
  seq: number;
  changed: boolean;
  /** The request that edited it last. */
  editedBy: object | undefined;
}

/** `value`: the document's by-id entry; undefined where there is none. `rank`: see `WorkingDocument`. */
export function openDocument(id: DocId, rank: number, value: string | undefined): WorkingDocument {
  if (value === undefined) {
    return {
      id,
      rank,
      formerSeq: undefined,
      formerValue: undefined,
      wasDeleted: false,
      tree: new GrowingTree([]),
      seq: 0,
      changed: false,
      editedBy: undefined,
    };
  }
  const { seq, leaves } = decodeEntry(id, value);
  const wasDeleted = leaves[0]?.deleted === true;
  const tree = new GrowingTree(leaves);
  return { id, rank, formerSeq: seq, formerValue: value, wasDeleted, tree, seq, changed: false, editedBy: undefined };
}
