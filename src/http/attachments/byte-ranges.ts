/** Which bytes of an attachment a request asks for (docs/http/attachments.md#ranges-of-attachments; RFC 9110, 14.1.2). */
import { RangeNotSatisfiable } from '../response/error-table.ts';

/** From the first byte to the last, both inclusive. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** A request for more parts than this gets the whole. */
const MOST_RANGES = 9;
const HEADER = /^bytes\s*=\s*(.*)$/i;
const RANGE = /^(\d*)\s*-\s*(\d*)$/;

/**
 * Returns the parts of `length` bytes that the header `Range` names, in its order. Returns undefined if the whole is to be sent: without a
 * header, if it can't be read, or if it has too many parts. Fails with `requested_range_not_satisfiable` if a part ends before it begins,
 * or if none of them has a byte.
 */
export function parseRanges(header: string | undefined, length: number): readonly ByteRange[] | undefined {
  const list = HEADER.exec(header?.trim() ?? '')?.[1]?.split(',');
  if (list === undefined || list.length > MOST_RANGES) return undefined;
  const ranges: ByteRange[] = [];
  for (const part of list) {
    const [, from, to] = RANGE.exec(part.trim()) ?? [];
    if (from === undefined || to === undefined || (from === '' && to === '')) return undefined;
    const range =
      from === '' ? suffix(Number(to), length) : between(Number(from), to === '' ? length : Number(to), length);
    if (range !== undefined) ranges.push(range);
  }
  if (ranges.length === 0) throw new RangeNotSatisfiable(length);
  return ranges;
}

/** How many passes from the beginning it takes to send these parts in their order. */
export function passesOf(ranges: readonly ByteRange[]): number {
  return ranges.filter(({ first }, index) => first <= (ranges[index - 1]?.last ?? first)).length;
}

function suffix(count: number, length: number): ByteRange | undefined {
  return count === 0 || length === 0 ? undefined : { first: Math.max(length - count, 0), last: length - 1 };
}

function between(first: number, last: number, length: number): ByteRange | undefined {
  if (last < first) throw new RangeNotSatisfiable(length);
  return first >= length ? undefined : { first, last: Math.min(last, length - 1) };
}
