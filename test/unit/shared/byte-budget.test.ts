import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ByteBudget } from '../../../src/shared/byte-budget.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const soon = async () => {
  for (let hop = 0; hop < 5; hop += 1) await undefined;
};

describe('a budget of bytes', () => {
  test('grants at once what fits, and the rest in the order of coming', async () => {
    const budget = new ByteBudget(100, 1_000);
    const [a, b, c, d] = [budget.open(), budget.open(), budget.open(), budget.open()];
    expect(a.take(60)).toBe(true);
    expect(b.take(40)).toBe(true);
    const granted: string[] = [];
    void Promise.resolve(c.take(50)).then(() => granted.push('c'));
    void Promise.resolve(d.take(10)).then(() => granted.push('d'));
    b.release();
    await soon();
    // The small one that would fit does not overtake the large one before it.
    expect(granted).toEqual([]);
    a.release();
    await soon();
    expect(granted).toEqual(['c', 'd']);
    expect(budget.used).toBe(60);
  });

  test('serves those who wait when it is made larger, and takes nothing back when it is made smaller', async () => {
    const budget = new ByteBudget(100, 1_000);
    const [a, b, c] = [budget.open(), budget.open(), budget.open()];
    expect(a.take(80)).toBe(true);
    const waiting = Promise.resolve(b.take(80));
    budget.resize(200);
    expect(await waiting).toBe(true);
    budget.resize(10);
    expect(budget.used).toBe(160);
    const next = Promise.resolve(c.take(10));
    a.release();
    b.release();
    expect(await next).toBe(true);
  });

  test('lets one that is larger go alone', async () => {
    const budget = new ByteBudget(100, 1_000);
    const [large, small] = [budget.open(), budget.open()];
    expect(large.take(1_000)).toBe(true);
    const waiting = Promise.resolve(small.take(1));
    large.release();
    large.release();
    expect(await waiting).toBe(true);
    expect(budget.used).toBe(1);
  });

  test('lets the oldest of those that grow go on, so that they do not wait for each other', async () => {
    const budget = new ByteBudget(100, 1_000);
    const [a, b] = [budget.open(), budget.open()];
    expect(a.take(50)).toBe(true);
    expect(b.take(50)).toBe(true);
    const later = Promise.resolve(b.take(50));
    expect(a.take(50)).toBe(true);
    a.release();
    expect(await later).toBe(true);
  });

  test('counts streams without waiting, and never lets them hold up requests for good', async () => {
    const budget = new ByteBudget(100, 1_000);
    const [stream, request] = [budget.open(), budget.open()];
    stream.add(500);
    stream.settle();
    expect(request.take(50)).toBe(true);
    expect(budget.used).toBe(550);
  });

  test('refuses after the longest time to wait, and serves those behind', async () => {
    const budget = new ByteBudget(100, 1_000);
    const [a, b, c] = [budget.open(), budget.open(), budget.open()];
    expect(a.take(60)).toBe(true);
    const refused = Promise.resolve(b.take(90));
    vi.advanceTimersByTime(500);
    const served = Promise.resolve(c.take(30));
    vi.advanceTimersByTime(500);
    expect(await refused).toBe(false);
    expect(await served).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});
