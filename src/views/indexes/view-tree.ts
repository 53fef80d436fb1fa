import type { EntryList, TreeSpec } from '../../btree/contract.ts';
import type { Tree } from '../../btree/tree.ts';
import { compareCodePoints } from '../../collation/code-points.ts';
import type { CompareKeys } from '../../collation/key-order.ts';
import { must } from '../../shared/assert.ts';
import { combineReductions, type Reducer, type RowList } from '../reducers/reducer.ts';
import { compareRows, RowKey } from './row-key.ts';

/**
 * The trees of an index file, as specifications for `btree/`: one per distinct map and collation, whose keys are rows
 * and whose values are the rows' values; and by-document, which has what each document emitted, so that it can be taken
 * away.
 */

/** One text per reduce of the tree. */
export type Reductions = readonly string[];

export type RowTree = Tree<RowKey, Reductions>;
export type DocumentTree = Tree<string, number>;

/** Between the reductions of several reduces, and between the keys that a document emitted. */
const UNIT_SEPARATOR = '\u001f';
/** Between the keys of several trees. */
const RECORD_SEPARATOR = '\u001e';

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
      reducers.map((reducer, place) =>
        combineReductions(
          reducer,
          parts.map((part) => must(part[place])),
        ),
      ),
    encodeReduction: (reductions) => reductions.join(UNIT_SEPARATOR),
    decodeReduction: (text) => (reducers.length === 0 ? [] : text.split(UNIT_SEPARATOR)),
  };
}

/** Entries of a leaf as rows. */
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

/** Keys are ids as JSON texts: those have no tabs and line ends, whatever the id. */
export const documentSpec: TreeSpec<string, number> = {
  compare: compareCodePoints,
  encodeKey: (id) => JSON.stringify(id),
  decodeKey: decodeId,
  reduce: (entries) => entries.length,
  rereduce: (counts) => counts.reduce((sum, count) => sum + count, 0),
  adjust: (count, former, added) => count + added.length - former.length,
};

function decodeId(text: string): string {
  return text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1);
}

/** `keys`: for each tree, the JSON texts of the keys that a document emitted. Undefined where there are none at all. */
export function encodeEmitted(keys: readonly (readonly string[])[]): string | undefined {
  if (keys.every((texts) => texts.length === 0)) return undefined;
  return keys.map((texts) => texts.join(UNIT_SEPARATOR)).join(RECORD_SEPARATOR);
}

export function decodeEmitted(value: string): string[][] {
  return value.split(RECORD_SEPARATOR).map((texts) => (texts === '' ? [] : texts.split(UNIT_SEPARATOR)));
}
