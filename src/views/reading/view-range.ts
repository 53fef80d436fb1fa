import type { KeyRange } from '../../btree/contract.ts';
import type { ViewRange } from '../contract.ts';
import { RowKey } from '../indexes/row-key.ts';

export interface RowRange extends KeyRange<RowKey> {
  readonly descending: boolean;
}

/**
 * The part of a tree that a query's bounds mean (interface.md 4.7). Bounds lie between rows: before or after all that
 * share the key, or the key and the document id.
 */
export function toRowRange(range: ViewRange): RowRange {
  const { descending = false, inclusiveEnd = true, start, end } = range;
  const near = start === undefined ? undefined : RowKey.bound(start, range.startDocId, descending);
  const far = end === undefined ? undefined : RowKey.bound(end, range.endDocId, descending !== inclusiveEnd);
  return descending ? { start: far, end: near, descending } : { start: near, end: far, descending };
}

/** All rows of one key. */
export function keyRange(key: unknown, descending: boolean): RowRange {
  return { start: RowKey.bound(key, undefined, false), end: RowKey.bound(key, undefined, true), descending };
}

/** What is left of a range behind a row that was given already. */
export function rangeBehind(range: RowRange, row: RowKey): RowRange {
  return range.descending
    ? { ...range, end: row, endInclusive: false }
    : { ...range, start: row, startInclusive: false };
}
