import { expect, test } from 'vitest';
import { SampleSeries } from '../../../../src/base/system/sample-series.ts';

const NONE = { sum: 0, mean: 0, stddev: 0, min: 0, max: 0 };

test('an empty series has zeros', () => {
  const series = new SampleSeries(4);
  expect(series.total()).toEqual(NONE);
  expect(series.latest(4)).toEqual(NONE);
  series.push(0, 0, 9);
  expect(series.latest(4)).toEqual(NONE);
});

test('a series covers all samples and the latest ones', () => {
  const series = new SampleSeries(4);
  for (const sample of [2, 4, 4, 4, 5, 5, 7, 9]) series.push(sample, 0, 0);
  // The example of a standard deviation that is a whole number.
  expect(series.total()).toEqual({ sum: 40, mean: 5, stddev: 2, min: 2, max: 9 });
  expect(series.latest(2)).toEqual({ sum: 16, mean: 8, stddev: 1, min: 7, max: 9 });
  expect(series.latest(100)).toEqual({ sum: 26, mean: 6.5, stddev: Math.sqrt(2.75), min: 5, max: 9 });
});

test('intervals without events count, however many', () => {
  const series = new SampleSeries(4);
  series.push(8, 0, 1);
  expect(series.latest(4)).toEqual({ sum: 8, mean: 4, stddev: 4, min: 0, max: 8 });
  series.push(6, 0, 1_000_000_000);
  expect(series.latest(4)).toEqual(NONE);
  expect(series.total()).toMatchObject({ sum: 14, min: 0, max: 8 });
  series.push(3, 0, 2);
  expect(series.latest(4)).toEqual({ sum: 3, mean: 0.75, stddev: Math.sqrt(27) / 4, min: 0, max: 3 });
});

test('a sample that failed counts for nothing', () => {
  const series = new SampleSeries(4);
  series.push(10, Number.NaN, 2);
  series.push(20, Number.NaN, 0);
  expect(series.latest(4)).toEqual({ sum: 30, mean: 15, stddev: 5, min: 10, max: 20 });
  expect(series.latest(3)).toEqual({ sum: 20, mean: 20, stddev: 0, min: 20, max: 20 });
});
