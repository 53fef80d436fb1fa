import { expect, test } from 'vitest';
import { Counters } from '../../../../src/base/system/counters.ts';
import { SampleSeries, Statistics } from '../../../../src/base/system/statistics.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';

function open(settings = {}) {
  const config = createConfig(settings);
  const clock = { now: () => 0, time: 5_000, monotonic: () => clock.time };
  let databases = 0;
  const gauges = { openDatabases: () => databases, openFiles: () => 7, clientsOfChanges: () => 0 };
  const statistics = new Statistics(clock, config, new Counters(), gauges);
  const shown = (name: string, seconds = 0) => {
    const found = statistics.show(seconds).find(({ statistic: { section, id } }) => `${section}/${id}` === name);
    if (found === undefined) throw new Error(`no ${name}`);
    const { current, sum, mean, stddev, min, max } = found;
    return { current, sum, mean, stddev, min, max };
  };
  return {
    config,
    clock,
    statistics,
    shown,
    openDatabases: (count: number) => {
      databases = count;
    },
  };
}

test('requests are counted in the interval in which they arrive', () => {
  const { clock, statistics, shown } = open();
  const requests = (count: number) => {
    for (let n = 0; n < count; n++) statistics.noteRequest('GET', clock.time);
  };
  requests(3);
  expect(shown('httpd/requests')).toEqual({ current: 0, sum: 0, mean: 0, stddev: 0, min: 0, max: 0 });
  clock.time += 1_000;
  requests(5);
  expect(shown('httpd/requests')).toEqual({ current: 3, sum: 3, mean: 3, stddev: 0, min: 3, max: 3 });
  clock.time += 3_000;
  // 3, 5, and two seconds without any.
  expect(shown('httpd/requests')).toEqual({
    current: 8,
    sum: 8,
    mean: 2,
    stddev: Math.sqrt((1 + 9 + 4 + 4) / 4),
    min: 0,
    max: 5,
  });
  expect(shown('httpd_request_methods/GET').sum).toBe(8);
  expect(shown('httpd_request_methods/PUT').sum).toBe(0);
});

test('a window of time excludes what came before it', () => {
  const { clock, statistics, shown } = open();
  statistics.noteRequest('PUT', clock.time);
  clock.time += 59_000;
  expect(shown('httpd/requests', 60).sum).toBe(1);
  clock.time += 2_000;
  expect(shown('httpd/requests', 60).sum).toBe(0);
  expect(shown('httpd/requests', 300).sum).toBe(1);
  expect(shown('httpd/requests').sum).toBe(1);
});

test('the time of requests is sampled as the mean of an interval', () => {
  const { clock, statistics, shown } = open();
  statistics.noteAnswer(200, 10);
  statistics.noteAnswer(200, 20);
  clock.time += 10_000;
  expect(shown('svc/request_time')).toEqual({ current: 15, sum: 15, mean: 15, stddev: 0, min: 15, max: 15 });
  statistics.noteAnswer(404, 5);
  statistics.flush();
  expect(shown('svc/request_time')).toMatchObject({ mean: 10, min: 5, max: 15 });
  expect(shown('httpd_status_codes/200').sum).toBe(2);
  expect(shown('httpd_status_codes/404').sum).toBe(1);
});

test('open things are shown as their current number', () => {
  const { clock, shown, openDatabases } = open();
  openDatabases(4);
  clock.time += 1_000;
  shown('svc/open_databases');
  openDatabases(2);
  expect(shown('svc/open_databases')).toEqual({ current: 2, sum: 2, mean: 4, stddev: 0, min: 4, max: 4 });
});

test('only configured windows can be requested, and others can be configured', async () => {
  const { config, clock, statistics, shown } = open({ stats: { samples: '[0, 10]', rate: '100' } });
  expect(() => shown('httpd/requests', 60)).toThrow('bad_request: range is "60"; it must be one of 0, 10.');
  statistics.noteRequest('GET', clock.time);
  clock.time += 100;
  expect(shown('httpd/requests', 10).sum).toBe(1);
  await config.set('stats', 'samples', '[0, 10, 20]', { persist: false });
  // All begins anew.
  expect(shown('httpd/requests', 20).sum).toBe(0);
});

test.each([
  ['samples', '[]'],
  ['samples', '60'],
  ['samples', '[0, -1]'],
  ['samples', '["0"]'],
  ['samples', '[0, 4000]'],
  ['rate', '0'],
  ['rate', '10'],
])("setting %s can't be %s", async (key, value) => {
  const { config } = open();
  await expect(config.set('stats', key, value)).rejects.toMatchObject({ code: 'bad_request' });
});

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
