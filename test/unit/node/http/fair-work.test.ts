import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FairWork } from '../../../../src/node/http/fair-work.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Begins works that end when they are told to; `begun` has their names in the order in which they began. */
function works(fair: FairWork) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    begin: (name: string, owner = '') => {
      const work = () =>
        new Promise<string>((resolve) => {
          begun.push(name);
          ends.set(name, () => resolve(name));
        });
      return fair.run(work, owner);
    },
    end: async (name: string) => {
      ends.get(name)?.();
      await vi.advanceTimersByTimeAsync(0);
    },
  };
}

test('a limited number of jobs run, and the others begin when one ends, even if it fails', async () => {
  const fair = new FairWork(2);
  const { begun, begin, end } = works(fair);
  const failed = fair.run(() => Promise.reject(new Error('no')), '');
  await expect(failed).rejects.toThrow('no');
  const all = ['a', 'b', 'c', 'd'].map((name) => begin(name));
  await vi.advanceTimersByTimeAsync(600);
  expect(begun).toEqual(['a', 'b']);
  await end('b');
  expect(begun).toEqual(['a', 'b', 'c']);
  for (const name of ['a', 'c', 'd']) await end(name);
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
});

test('owners alternate', async () => {
  const { begun, begin, end } = works(new FairWork(1));
  for (const name of ['a1', 'a2', 'a3']) void begin(name, 'a');
  for (const name of ['b1', 'b2']) void begin(name, 'b');
  void begin('c1', 'c');
  for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']) await end(name);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
});

test('a slow owner delays others for at most three quarters of a second', async () => {
  const { begun, begin, end } = works(new FairWork(2));
  for (const name of ['slow', 'slower', 'next', 'last']) void begin(name);
  await vi.advanceTimersByTimeAsync(500);
  expect(begun).toEqual(['slow', 'slower']);
  await vi.advanceTimersByTimeAsync(500);
  expect(begun).toEqual(['slow', 'slower', 'next', 'last']);
  for (const name of ['slow', 'slower', 'next', 'last']) await end(name);
  expect(vi.getTimerCount()).toBe(0);
});
