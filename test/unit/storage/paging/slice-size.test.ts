import { expect, test } from 'vitest';
import { SliceSize } from '../../../../src/storage/paging/slices.ts';

const MEGABYTE = 2 ** 20;

function after(slices: number, bytesPerMs: number): number {
  const size = new SliceSize(2 * MEGABYTE);
  for (let slice = 0; slice < slices; slice++) size.noteWritten(size.bytes, size.bytes / bytesPerMs);
  return size.bytes;
}

test('the first slice writes a quarter of the maximum', () => {
  expect(after(0, 1)).toBe(MEGABYTE / 2);
});

test('slices grow to the maximum on a fast medium', () => {
  expect(after(10, 10 * MEGABYTE)).toBe(2 * MEGABYTE);
});

test('slices shrink to what a slow medium stores in 20 ms', () => {
  expect(after(20, 10_000)).toBeCloseTo(200_000, -3);
});

test("slices don't shrink below a size that is worth a commit", () => {
  expect(after(20, 1)).toBe(MEGABYTE / 16);
});

test('an interrupted slice, or one that took no time, changes the size little', () => {
  const size = new SliceSize(2 * MEGABYTE);
  size.noteWritten(100, 500);
  expect(size.bytes).toBe(MEGABYTE / 2);
  size.noteWritten(size.bytes, 0);
  expect(size.bytes).toBe(1.25 * MEGABYTE);
});
