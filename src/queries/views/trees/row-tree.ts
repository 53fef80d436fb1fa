import type { CompareKeys } from '../../../base/collation/key-order.ts';
import { must } from '../../../base/shared/assert.ts';
import type { DocId } from '../../../database/documents/contract.ts';
import type { EntryList, TreeEntry, TreeSpec } from '../../../storage/btree/contract.ts';
import type { Tree } from '../../../storage/btree/tree.ts';
import type { ViewRow } from '../contract.ts';
import { combineReductions, type Reducer, type RowList } from './reducer.ts';
import { compareRows, RowKey } from './row-key.ts';

/**
 * The tree of the rows that a map emits, in one collation, as a specification for `btree/`. Inner entries carry the
 * reductions of the rows below them, one for each reduce of the tree's views.
 */
export type RowTree = Tree<RowKey, Reductions>;

/** The reductions of some rows: one JSON text, or a failure, for each reduce. */
type Reductions = readonly string[];

const UNIT_SEPARATOR = '\u001f';

export function createRowSpec(compareKeys: CompareKeys, reducers: readonly Reducer[]): TreeSpec<RowKey, Reductions> {
  return {
    compare: (left, right) => compareRows(left, right, compareKeys),
    encodeKey: (key) => key.text,
    decodeKey: (text) => new RowKey(text),
    separator: (left, right) =>
      compareKeys(left.value, right.value) === 0 ? right : RowKey.beforeAll(right.keyText, right.value),
    reduce(entries) {
      const rows = new EntryRows(entries);
      return reducers.map((reducer) => reducer.reduce(rows));
    },
    rereduce: (parts) =>
      reducers.map((reducer, index) =>
        combineReductions(
          reducer,
          parts.map((part) => must(part[index])),
        ),
      ),
    encodeReduction: (reductions) => reductions.join(UNIT_SEPARATOR),
    decodeReduction: (text) => (reducers.length === 0 ? [] : text.split(UNIT_SEPARATOR)),
  };
}

/** The entries of a leaf as rows. */
class EntryRows implements RowList {
  readonly length: number;
  readonly #entries: EntryList<RowKey>;

  constructor(entries: EntryList<RowKey>) {
    this.length = entries.length;
    this.#entries = entries;
  }

  keyText(index: number): string {
    return this.#entries.key(index).keyText;
  }

  idText(index: number): string {
    return this.#entries.key(index).idText;
  }

  valueText(index: number): string {
    return this.#entries.value(index);
  }
}

/** An entry of a row tree as a row of the view. */
export class StoredRow implements ViewRow {
  readonly valueText: string;
  readonly #key: RowKey;

  constructor(key: RowKey, valueText: string) {
    this.#key = key;
    this.valueText = valueText;
  }

  get id(): DocId {
    return this.#key.id;
  }

  get idText(): string {
    return this.#key.idText;
  }

  get keyText(): string {
    return this.#key.keyText;
  }
}

/** Returns the first `limit` entries as rows. */
export function toRows(entries: readonly TreeEntry<RowKey>[], limit: number): ViewRow[] {
  const rows: ViewRow[] = [];
  for (const { key, value } of entries) {
    if (rows.length >= limit) break;
    rows.push(new StoredRow(key, value));
  }
  return rows;
}
