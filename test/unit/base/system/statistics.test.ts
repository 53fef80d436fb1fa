import { expect, test } from 'vitest';
import { Counters } from '../../../../src/base/system/counters.ts';
import { Statistics } from '../../../../src/base/system/statistics.ts';
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
