import { describe, expect, test } from 'vitest';
import { cut } from '../../../../src/storage/btree/editing/node-maker.ts';

const even = { limit: 10, least: 1, fill: false };
const full = { limit: 10, least: 1, fill: true };

describe('a row of items is cut', () => {
  test.each([
    [[1, 2, 3], [3]],
    [
      [4, 4, 4],
      [2, 3],
    ],
    [
      [3, 3, 3, 3],
      [2, 4],
    ],
    [
      [5, 5, 5, 5, 5],
      [2, 4, 5],
    ],
  ])('%j into pieces of about the same size, up to %j', (sizes, ends) => {
    expect(cut(sizes, even)).toEqual(ends);
  });

  test('into full pieces and a rest', () => {
    expect(cut([3, 3, 3, 3], full)).toEqual([3, 4]);
    expect(cut([5, 5, 5, 5, 5], full)).toEqual([2, 4, 5]);
    expect(
      cut(
        Array.from({ length: 25 }, () => 1),
        full,
      ),
    ).toEqual([10, 20, 25]);
  });

  test('around items that are too large, without leaving crumbs behind them', () => {
    expect(cut([1, 1, 500, 1, 1, 1], even)).toEqual([2, 3, 6]);
    expect(cut([500], even)).toEqual([1]);
  });

  test('so that every piece has the minimum number of items', () => {
    const pairs = { limit: 10, least: 2, fill: true };
    expect(cut([9, 9, 9, 9], pairs)).toEqual([2, 4]);
    expect(cut([9, 9, 9, 9, 9], pairs)).toEqual([2, 5]);
    expect(cut([5, 5, 5], pairs)).toEqual([3]);
  });
});
