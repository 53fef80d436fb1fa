import { expect, test } from 'vitest';
import { sortInSteps, sortNumbersInSteps } from '../../../../src/base/shared/sort-in-steps.ts';
import { atOnce } from '../../../../src/base/shared/turn.ts';

const compare = (left: { n: number }, right: { n: number }) => left.n - right.n;

test.each([0, 1, 2, 4_095, 4_096, 4_097, 20_000])('%d items are sorted as in a sort at once', (count) => {
  let seed = 7;
  const items = Array.from({ length: count }, (_, place) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return { n: seed % 1_000, place };
  });
  expect(atOnce(sortInSteps(items, compare))).toEqual(items.toSorted(compare));
  const sorted = items.toSorted(compare);
  expect(atOnce(sortInSteps(sorted, compare))).toEqual(sorted);
});

test('other work has turns during a sort', () => {
  const items = Array.from({ length: 100_000 }, (_, n) => ({ n: -n }));
  let steps = 0;
  for (const _ of sortInSteps(items, compare)) steps += 1;
  expect(steps).toBeGreaterThan(50);
  let stepsOfNumbers = 0;
  for (const _ of sortNumbersInSteps(Float64Array.from(items, ({ n }) => n))) stepsOfNumbers += 1;
  expect(stepsOfNumbers).toBeGreaterThan(50);
});

test.each([0, 1, 2, 4_095, 4_096, 4_097, 12_288, 50_000])('%d numbers are sorted as in a sort at once', (count) => {
  let seed = 11;
  const numbers = Float64Array.from({ length: count }, () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % 30_000;
  });
  const expected = numbers.toSorted();
  expect(atOnce(sortNumbersInSteps(numbers))).toEqual(expected);
  expect(atOnce(sortNumbersInSteps(expected.slice().reverse()))).toEqual(expected);
});
