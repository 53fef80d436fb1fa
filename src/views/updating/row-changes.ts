import type { TreeChange } from '../../btree/contract.ts';
import type { DocId } from '../../documents/contract.ts';
import { must } from '../../shared/assert.ts';
import { RowKey } from '../indexes/row-key.ts';
import type { NewRow } from './pending-rows.ts';

/** What a document had emitted before: JSON texts of keys, by tree. */
export interface FormerRows {
  readonly id: DocId;
  readonly keys: readonly (readonly string[])[];
}

type RowChange = TreeChange<RowKey>;

type CompareRowKeys = (left: RowKey, right: RowKey) => number;

/**
 * The changes that make a tree's rows what the documents emit now, in order, to be made one list after the other. A row
 * that is as before changes nothing in the tree. There are two lists only where a key gave way to one that counts as
 * equal but is written otherwise.
 */
export function changesOf(
  former: readonly FormerRows[],
  tree: number,
  rows: readonly NewRow[],
  compare: CompareRowKeys,
): (readonly RowChange[])[] {
  const gone = goneKeys(former, tree, compare);
  if (gone.length === 0) return [rows];
  const changes: RowChange[] = [];
  const rewritten: RowChange[] = [];
  let at = 0;
  for (const row of rows) {
    let order = at < gone.length ? compare(must(gone[at]), row.key) : 1;
    for (; order < 0; order = at < gone.length ? compare(must(gone[at]), row.key) : 1) {
      changes.push({ key: must(gone[at]), value: undefined });
      at++;
    }
    if (order === 0) {
      const key = must(gone[at]);
      if (key.text !== row.key.text) rewritten.push({ key, value: undefined });
      at++;
    }
    changes.push(row);
  }
  for (; at < gone.length; at++) changes.push({ key: must(gone[at]), value: undefined });
  return rewritten.length === 0 ? [changes] : [rewritten, changes];
}

function goneKeys(former: readonly FormerRows[], tree: number, compare: CompareRowKeys): RowKey[] {
  const gone: RowKey[] = [];
  for (const { id, keys } of former) {
    const idText = JSON.stringify(id);
    for (const [number, keyText] of (keys[tree] ?? []).entries()) gone.push(RowKey.of(keyText, id, idText, number));
  }
  return gone.sort(compare);
}
