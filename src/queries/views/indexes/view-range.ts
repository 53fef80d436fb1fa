import type { CompareKeys } from '../../../base/collation/key-order.ts';
import type { KeyRange } from '../../../storage/btree/contract.ts';
import type { ViewRange } from '../contract.ts';
import { RowKey } from '../trees/row-key.ts';

export interface RowRange extends KeyRange<RowKey> {
  readonly descending: boolean;
}

/**
 * The range of a row tree for the bounds of a query (docs/http/views.md#view-parameters). A bound is never at a row, but before or after all rows
 * with its key, or with its key and document id.
 */
export function toRowRange(range: ViewRange): RowRange {
  const { descending = false, inclusiveEnd = true, start, end } = range;
  const first = start === undefined ? undefined : RowKey.bound(start, range.startDocId, descending);
  const last = end === undefined ? undefined : RowKey.bound(end, range.endDocId, descending !== inclusiveEnd);
  return descending ? { start: last, end: first, descending } : { start: first, end: last, descending };
}

/** The rows of one key whose ids are within the range's. */
export function keyRange(key: unknown, { startDocId, endDocId, descending }: ViewRange): RowRange {
  return toRowRange({ start: key, startDocId, end: key, endDocId, descending });
}

/** The rest of a range after a row of it, in the direction in which it is read. */
export function rangeAfter(range: RowRange, row: RowKey): RowRange {
  return range.descending
    ? { ...range, end: row, endInclusive: false }
    : { ...range, start: row, startInclusive: false };
}

/** What is left of a range from this row on. */
export function rangeFrom(range: RowRange, row: RowKey): RowRange {
  return range.descending ? { ...range, end: row, endInclusive: true } : { ...range, start: row, startInclusive: true };
}

/**
 * Decides which keys are in one group of a reduced query (docs/http/views.md#reduced-views): all (level 0), those whose
 * first n elements are equal (keys that are not arrays count as a whole), or those that are equal.
 */
export class GroupCut {
  readonly #level: number | 'exact';
  readonly #compareKeys: CompareKeys;

  constructor(level: number | 'exact', compareKeys: CompareKeys) {
    this.#level = level;
    this.#compareKeys = compareKeys;
  }

  /** Returns whether all rows are one group. */
  get isWhole(): boolean {
    return this.#level === 0;
  }

  isSame(left: unknown, right: unknown): boolean {
    return this.#compareKeys(this.#cut(left), this.#cut(right)) === 0;
  }

  /** Returns the JSON text of the key of the group that a row is in. */
  textOf(row: RowKey): string {
    const { value } = row;
    const cut = this.#cut(value);
    return cut === value ? row.keyText : JSON.stringify(cut);
  }

  #cut(key: unknown): unknown {
    const level = this.#level;
    return level !== 'exact' && Array.isArray(key) && key.length > level ? key.slice(0, level) : key;
  }
}
