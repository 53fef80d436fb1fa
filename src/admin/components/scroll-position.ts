/**
 * Where a long list is. Browsers can't make an element higher than some 16 million pixels: beyond that, the scroll bar covers less than the
 * list has, and jumps are scaled. Short moves (a wheel, a finger, a key) stay exact, pixel by pixel.
 */

export interface Extent {
  readonly count: number;
  /** Pixels, as all lengths here. */
  readonly rowHeight: number;
  /** Of the part in sight. */
  readonly viewHeight: number;
}

export interface ScrollPosition {
  /** What the element is scrolled to. */
  readonly bar: number;
  /** What of the list is above the upper edge. */
  readonly list: number;
}

/** The height of the scrolled element, well below what browsers allow. */
export const MAX_PIXELS = 8_000_000;

/** Moves of at most so many times the height in sight are exact. */
const SHORT_MOVE = 2;

/** The height of the element that is scrolled. */
export function barHeight({ count, rowHeight }: Extent): number {
  return Math.min(count * rowHeight, MAX_PIXELS);
}

/** The position at which the list begins `top` pixels above the edge, or as near to it as its ends permit. */
export function positionAt(top: number, extent: Extent): ScrollPosition {
  const list = clamp(top, endOf(extent).list);
  const { scale } = endOf(extent);
  return { bar: list / scale, list };
}

/** The position after the element was scrolled to `bar`. */
export function scrolledTo(former: ScrollPosition, bar: number, extent: Extent): ScrollPosition {
  const end = endOf(extent);
  if (end.scale === 1) return { bar, list: clamp(bar, end.list) };
  if (bar <= 0) return { bar, list: 0 };
  // The last pixel may be a fraction of one.
  if (bar >= end.bar - 1) return { bar, list: end.list };
  const moved = bar - former.bar;
  if (Math.abs(moved) < 1) return { bar, list: clamp(former.list, end.list) };
  const isShort = Math.abs(moved) <= SHORT_MOVE * extent.viewHeight;
  return { bar, list: clamp(isShort ? former.list + moved : bar * end.scale, end.list) };
}

/** The rows that are at least partly in sight, the end excluded. */
export function rowsInSight(
  list: number,
  { count, rowHeight, viewHeight }: Extent,
): {
  readonly from: number;
  readonly to: number;
} {
  return { from: Math.floor(list / rowHeight), to: Math.min(count, Math.ceil((list + viewHeight) / rowHeight)) };
}

/** Where the list must begin for the row to be in sight; undefined if it is. */
export function topToShow(index: number, list: number, { rowHeight, viewHeight }: Extent): number | undefined {
  const top = index * rowHeight;
  if (top < list) return top;
  return top + rowHeight > list + viewHeight ? top + rowHeight - viewHeight : undefined;
}

/** The position at the end of the list, and how many pixels of the list one pixel of the scroll bar stands for. */
function endOf(extent: Extent): { readonly bar: number; readonly list: number; readonly scale: number } {
  const full = extent.count * extent.rowHeight;
  const bar = Math.max(0, barHeight(extent) - extent.viewHeight);
  const list = Math.max(0, full - extent.viewHeight);
  return { bar, list, scale: full > MAX_PIXELS && bar > 0 ? list / bar : 1 };
}

function clamp(value: number, max: number): number {
  return Math.min(max, Math.max(0, value));
}
