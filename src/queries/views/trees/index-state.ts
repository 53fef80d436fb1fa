import { compareCodePoints } from '../../../base/collation/code-points.ts';
import { stringValue } from '../../../base/json/strings.ts';
import { untilReady } from '../../../base/shared/pending.ts';
import type { TimeSlice } from '../../../base/shared/turn.ts';
import type { TreeSpec } from '../../../storage/btree/contract.ts';
import { missingReductions } from '../../../storage/btree/reading/tree-walks.ts';
import type { Tree } from '../../../storage/btree/tree.ts';
import type { RowsChange } from '../contract.ts';
import type { RowTree } from './row-tree.ts';

/** One moment of an index. It is immutable: updates make later states, and a reader keeps the one that it began with. */
export interface IndexState {
  /** Increases with each published state. */
  readonly version: number;
  readonly byDocument: DocumentTree;
  readonly trees: readonly ViewTree[];
  /** The database's sequence that the index reflects. */
  readonly updateSeq: number;
  readonly purgeSeq: number;
  /** The latest sequence of any row in the index. Later than `updateSeq` while the index is being built. */
  readonly seenSeq: number;
  /** How many documents could not be mapped for at least one view. */
  readonly leftOut: number;
  /** How far the first pass over all documents has come; undefined once it has ended. */
  readonly firstPass: FirstPass | undefined;
}

export interface FirstPass {
  /** The database's sequence when it began. Later changes are read after the pass. */
  readonly seq: number;
  /** The pass continues after this id. */
  readonly after: string;
}

export interface ViewTree {
  readonly rows: RowTree;
  readonly lastChange: RowsChange;
}

/** Returns the bytes of everything in the index. */
export function liveBytes({ byDocument, trees }: IndexState): number {
  return trees.reduce((sum, { rows }) => sum + rows.bytes, byDocument.bytes);
}

/** Returns the bytes of tree nodes that are in memory only. */
export function unstoredBytes({ byDocument, trees }: IndexState): number {
  return trees.reduce((sum, { rows }) => sum + rows.unstoredBytes(), byDocument.unstoredBytes());
}

/**
 * The tree `by-document` of an index, as a specification for `btree/`: by document id the keys that the document emitted,
 * from which its rows are found when it has changed.
 */
export type DocumentTree = Tree<string, number>;

/** Between the keys of one tree. */
const UNIT_SEPARATOR = '\u001f';
/** Between the keys of several trees. */
const RECORD_SEPARATOR = '\u001e';

/** Keys are stored as JSON texts, because these contain neither tabs nor line breaks. The reduction counts documents. */
export const documentSpec: TreeSpec<string, number> = {
  compare: compareCodePoints,
  encodeKey: (id) => JSON.stringify(id),
  decodeKey: (text) => stringValue(text),
  reduce: (entries) => entries.length,
  rereduce: (counts) => counts.reduce((sum, count) => sum + count, 0),
  adjust: (count, former, added) => count + added.length - former.length,
};

/** Before the keys of a document that is left out of a view. No JSON text begins with it. */
const LEFT_OUT_MARK = '!';

/**
 * Encodes `keys`: for each tree the JSON texts of the keys that a document emitted. Undefined if it emitted none, and is left out of no view.
 */
export function encodeEmitted(keys: readonly (readonly string[])[], isLeftOut: boolean): string | undefined {
  if (isLeftOut) return LEFT_OUT_MARK + joined(keys);
  if (keys.every((texts) => texts.length === 0)) return undefined;
  return joined(keys);
}

function joined(keys: readonly (readonly string[])[]): string {
  return keys.map((texts) => texts.join(UNIT_SEPARATOR)).join(RECORD_SEPARATOR);
}

/** Returns whether the document could not be mapped for at least one view. */
export function isLeftOut(value: string | undefined): boolean {
  return value?.startsWith(LEFT_OUT_MARK) === true;
}

export function decodeEmitted(value: string): string[][] {
  const keys = isLeftOut(value) ? value.slice(LEFT_OUT_MARK.length) : value;
  return keys.split(RECORD_SEPARATOR).map((texts) => (texts === '' ? [] : texts.split(UNIT_SEPARATOR)));
}

/**
 * Computes the reductions that a tree lacks, in steps, before they are needed: otherwise the first query would have to wait for all
 * at once, and the storing of nodes can't wait for a reduce function that takes long.
 */
export function makeReductions<K, R>(tree: Tree<K, R>, timeSlice: TimeSlice): Promise<void> {
  return untilReady(async () => {
    const steps = await missingReductions(tree);
    while (steps.next().done !== true) if (timeSlice.isDue) await timeSlice.rest();
  });
}
