import { expect, test } from 'vitest';
import { addCounts, Counters, CountsSince } from '../../../../src/base/system/counters.ts';

test('counts go from one process to another once', () => {
  const reader = new Counters();
  const owner = new Counters();
  const since = new CountsSince(reader);
  reader.requests.value += 3;
  const get = reader.methods.get('GET');
  if (get !== undefined) get.value += 2;
  const taken = since.take();
  expect(taken).toEqual({ requests: 3, 'method GET': 2 });
  owner.requests.value = 10;
  addCounts(owner, taken ?? {});
  expect([owner.requests.value, owner.methods.get('GET')?.value]).toEqual([13, 2]);
  expect(since.take()).toBeUndefined();
});

test('unknown counts are ignored', () => {
  const counters = new Counters();
  addCounts(counters, { requests: Number.NaN, constructor: 1, nothing: 2 });
  expect(counters.requests.value).toBe(0);
});
