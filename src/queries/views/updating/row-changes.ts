import { must } from '../../../base/shared/assert.ts';
import { type CooperativeTask, mapInSteps } from '../../../base/shared/turn.ts';
import type { DocId } from '../../../database/documents/contract.ts';
import type { TreeChange } from '../../../storage/btree/contract.ts';
import { RowKey } from '../trees/row-key.ts';
import type { NewRow } from './pending-rows.ts';
import { sortInSteps } from './sorted-runs.ts';

/** The keys that a document has emitted before, as JSON texts, by tree. */
export interface FormerKeys {
  readonly id: DocId;
  readonly keys: readonly (readonly string[])[];
}

type RowChange = TreeChange<RowKey>;

/** Rows that are compared between two checks of the clock. */
const ROWS_PER_STEP = 256;

type CompareRowKeys = (left: RowKey, right: RowKey) => number;

/**
 * Yields the changes to one tree that replace the former rows of documents with new ones. They are lists in the order of the tree, to be
 * applied one after the other. There is a second list only if a new key compares as equal to a former one but has another
 * text, because one list can't have changes for both.
 */
export function* changesOf(
  former: readonly FormerKeys[],
  tree: number,
  rows: readonly NewRow[],
  compare: CompareRowKeys,
): CooperativeTask<(readonly RowChange[])[]> {
  const removed = yield* formerKeys(former, tree, compare);
  if (removed.length === 0) return [rows];
  const changes: RowChange[] = [];
  const rewritten: RowChange[] = [];
  let at = 0;
  for (const row of rows) {
    let order = at < removed.length ? compare(must(removed[at]), row.key) : 1;
    for (; order < 0; order = at < removed.length ? compare(must(removed[at]), row.key) : 1) {
      changes.push({ key: must(removed[at]), value: undefined });
      at++;
      if (at % ROWS_PER_STEP === 0) yield;
    }
    if (order === 0) {
      const key = must(removed[at]);
      if (key.text !== row.key.text) rewritten.push({ key, value: undefined });
      at++;
    }
    changes.push(row);
    if (changes.length % ROWS_PER_STEP === 0) yield;
  }
  for (; at < removed.length; at++) changes.push({ key: must(removed[at]), value: undefined });
  return rewritten.length === 0 ? [changes] : [rewritten, changes];
}

function* formerKeys(former: readonly FormerKeys[], tree: number, compare: CompareRowKeys): CooperativeTask<RowKey[]> {
  const rowKeys = yield* mapInSteps(formerRows(former, tree), ({ id, idText, keyText, number }) =>
    RowKey.of(keyText, id, idText, number),
  );
  return yield* sortInSteps(rowKeys, compare);
}

function* formerRows(former: readonly FormerKeys[], tree: number) {
  for (const { id, keys } of former) {
    const idText = JSON.stringify(id);
    for (const [number, keyText] of (keys[tree] ?? []).entries()) yield { id, idText, keyText, number };
  }
}
