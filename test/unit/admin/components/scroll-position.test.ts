import { describe, expect, test } from 'vitest';
import {
  barHeight,
  type Extent,
  MAX_PIXELS,
  positionAt,
  rowsInSight,
  type ScrollPosition,
  scrolledTo,
  topToShow,
} from '../../../../src/admin/components/scroll-position.ts';

const million: Extent = { count: 1_000_000, rowHeight: 32, viewHeight: 500 };
const top: ScrollPosition = { bar: 0, list: 0 };

describe('the position in a short list', () => {
  const short: Extent = { count: 100, rowHeight: 32, viewHeight: 500 };

  test('is that of its scroll bar', () => {
    expect(barHeight(short)).toBe(3_200);
    expect(scrolledTo(top, 1_000, short)).toEqual({ bar: 1_000, list: 1_000 });
    expect(positionAt(1_000, short)).toEqual({ bar: 1_000, list: 1_000 });
  });

  test('does not go beyond its end', () => {
    expect(positionAt(9_999, short)).toEqual({ bar: 2_700, list: 2_700 });
    expect(rowsInSight(2_700, short)).toEqual({ from: 84, to: 100 });
  });
});

describe('the position in a list of a million rows', () => {
  test('needs no element higher than browsers permit', () => {
    expect(barHeight(million)).toBe(MAX_PIXELS);
  });

  test('reaches the last row exactly at the end of the scroll bar', () => {
    const end = scrolledTo(top, MAX_PIXELS - 500, million);
    expect(end.list).toBe(1_000_000 * 32 - 500);
    expect(rowsInSight(end.list, million).to).toBe(1_000_000);
    const fraction = scrolledTo(top, MAX_PIXELS - 500 - 0.4, million);
    expect(fraction.list).toBe(1_000_000 * 32 - 500);
  });

  test('reaches the first row at the beginning of the scroll bar', () => {
    expect(scrolledTo({ bar: 20, list: 70_000 }, 0, million).list).toBe(0);
  });

  test('moves by the same number of pixels as a wheel', () => {
    const middle = positionAt(16_000_000, million);
    expect(scrolledTo(middle, middle.bar + 100, million).list).toBe(16_000_100);
    expect(scrolledTo(middle, middle.bar - 100, million).list).toBe(15_999_900);
  });

  test('jumps in proportion when the scroll bar is dragged', () => {
    const { list } = scrolledTo(top, (MAX_PIXELS - 500) / 2, million);
    expect(list).toBeCloseTo((32_000_000 - 500) / 2, 3);
  });

  test('stays where it is when the scroll bar is rounded', () => {
    const there = positionAt(12_345_678, million);
    expect(scrolledTo(there, Math.round(there.bar), million).list).toBe(12_345_678);
  });

  test('can be that of any row', () => {
    for (const index of [0, 1, 499_999, 777_777, 999_984]) {
      expect(rowsInSight(positionAt(index * 32, million).list, million).from).toBe(index);
    }
  });
});

describe('a row to be shown', () => {
  test('that is in sight moves nothing', () => {
    expect(topToShow(5, 100, million)).toBe(undefined);
  });

  test('above is shown at the upper edge, one below at the lower edge', () => {
    expect(topToShow(2, 100, million)).toBe(64);
    expect(topToShow(20, 100, million)).toBe(21 * 32 - 500);
  });
});

test('a list without rows has no height', () => {
  const none: Extent = { count: 0, rowHeight: 32, viewHeight: 500 };
  expect(barHeight(none)).toBe(0);
  expect(positionAt(100, none)).toEqual({ bar: 0, list: 0 });
  expect(rowsInSight(0, none)).toEqual({ from: 0, to: 0 });
});
